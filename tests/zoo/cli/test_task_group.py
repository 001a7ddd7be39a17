"""`zoo train TASK` and `zoo compare TASK`: subcommands, and `--task=TASK` for the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.zoo.cli.conftest import Zoo
from zoo.core.tasks import get_tasks
from zoo.parts.loss.cross_entropy import CrossEntropyLoss

SMALL = [
    "--d-model=8",
    "--num-heads=2",
    "--d-ff=8",
    "--num-encoder-layers=1",
    "--num-decoder-layers=1",
    "--device=cpu",
]
REVERSE = [*SMALL, "--steps=2", "--batch-size=4", "--seed=3", "--json"]
TRANSLATE = [*SMALL, "--vocab-size=270", "--tokens=64", "--epochs=1", "--max-len=32", "--json"]


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    """The options that name a small text to translate."""
    path = tmp_path / "text.tsv"
    path.write_text("eins zwei\tone two\ndrei\tthree\nzwei\ttwo\n" * 4)
    return [f"--train-tsv={path}", f"--valid-tsv={path}"]


def without_time(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in ("seconds", "run")}


def test_a_task_can_be_a_subcommand_an_option_or_left_out(zoo: Zoo) -> None:
    first, *others = (
        without_time(zoo(*line).json)
        for line in (
            ("train", "reverse", *REVERSE),
            ("train", *REVERSE),
            ("train", "--task=reverse", *REVERSE),
            ("train", *REVERSE, "--task", "reverse"),
        )
    )
    assert first["task"] == "reverse"
    assert all(one == first for one in others)


def test_a_task_with_its_own_command_is_a_subcommand_or_an_option_anywhere(
    zoo: Zoo, tmp_path: Path, texts: list[str]
) -> None:
    lines = [
        ["translate", "{}", *texts, *TRANSLATE],
        ["--task=translate", "{}", *texts, *TRANSLATE],
        [*texts, *TRANSLATE, "--task", "translate", "{}"],
        ["translate", *texts, *TRANSLATE, "{}", "--task=translate"],
    ]
    found = [
        without_time(zoo("train", *(one.format(tmp_path / f"run{number}") for one in line)).json)
        for number, line in enumerate(lines)
    ]
    assert found[0]["best_epoch"] == 1
    assert all(one == found[0] for one in found)


def test_the_help_of_each_task_has_its_options(zoo: Zoo) -> None:
    page = zoo("train", "--help").out
    for task in get_tasks().values():
        assert f"  {task.name} " in page
        assert task.summary[:30] in page
    assert "--batch-size" in page
    for line in (("reverse", "--help"), ("--task=reverse", "--help")):
        assert "--train-src" not in zoo("train", *line).out
        assert "--batch-size" in zoo("train", *line).out
    for command in ("train", "compare"):
        for line in (("translate", "--help"), ("--task", "translate", "--help")):
            page = zoo(command, *line).out
            assert page.startswith(f"Usage: zoo {command} translate ")
            assert "--train-src" in page


@pytest.mark.usefixtures("timed_once")
def test_a_comparison_on_a_task_can_be_a_subcommand_too(zoo: Zoo) -> None:
    small = (*SMALL, "--max-len=16", "--steps=2", "--json")
    first, second = (zoo("compare", *line, *small).json[0] for line in (("reverse",), ("--task=reverse",)))
    trained = [name for name in first if "loss" in name or "score" in name or "share" in name]
    assert trained
    assert all(first[name] == second[name] for name in trained)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            ("train", "revers"),
            "There is no task 'revers'. Did you mean reverse? `zoo train --help` lists them all.",
        ),
        (("train", "--task=revers"), "There is no task 'revers'. Did you mean reverse?"),
        (
            ("train", "--steps=2", "reverse"),
            "--steps is in front of the task: write `zoo train reverse --steps ...`.",
        ),
        (("train", "reverse", "--stepps=2"), "There is no option '--stepps'. Did you mean --steps?"),
        (("train", "translate"), "Missing argument 'RUN'. See `zoo train translate --help`."),
        (("train", "--task=translate"), "Missing argument 'RUN'."),
        (("train", "reverse", "--threads=0"), "0 is not in the range x>=1"),
    ],
)
def test_what_is_wrong_is_a_sentence(zoo: Zoo, line: tuple[str, ...], sentence: str) -> None:
    done = zoo(*line)
    assert done.code == 2
    assert sentence in " ".join(done.err.split())


def completed(shell: Zoo, words: str) -> list[str]:
    done = shell(_ZOO_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1))
    return done.out.splitlines()


def test_tasks_and_the_options_of_both_are_completed(shell: Zoo) -> None:
    assert completed(shell, "zoo train rev") == ["plain,reverse"]
    assert completed(shell, "zoo train --batch") == ["plain,--batch-size"]
    assert completed(shell, "zoo train reverse --batch") == ["plain,--batch-size"]
    assert completed(shell, "zoo train translate --train-s") == ["plain,--train-src"]
    assert completed(shell, "zoo train --task=translate --train-s") == ["plain,--train-src"]


@pytest.mark.slow
def test_threads_are_as_many_as_asked_for(
    zoo: Zoo, tmp_path: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    seen: set[int] = set()
    forward = CrossEntropyLoss.forward

    def watched(*args: Any) -> torch.Tensor:
        seen.add(torch.get_num_threads())
        return forward(*args)

    monkeypatch.setattr(CrossEntropyLoss, "forward", watched)
    monkeypatch.setattr("zoo.training.trainer.SCORED", 4)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        for more, threads in (((), 1), (("--threads=2",), 2)):
            seen.clear()
            assert zoo("train", "reverse", *REVERSE, *more).code == 0
            assert (seen, torch.get_num_threads()) == ({threads}, 3)
        for number, (more, threads) in enumerate((((), 3), (("--threads=2",), 2))):
            seen.clear()
            run = str(tmp_path / str(number))
            done = zoo("train", "translate", run, *texts, *TRANSLATE, "--loss=cross-entropy", *more)
            assert json.loads(done.out)["finished"]
            assert (seen, torch.get_num_threads()) == ({threads}, 3)
    finally:
        torch.set_num_threads(before)
