"""`zoo predict`: answers of a saved model."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.zoo.cli.conftest import Zoo
from zoo.cli.root import make_cli
from zoo.core.blueprint import get_preset
from zoo.core.plugins import get_plugins
from zoo.models.builder import build
from zoo.models.checkpoint import save_checkpoint


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("saved")
    blueprint = get_preset("reverse").blueprint()
    save_checkpoint(folder, build(blueprint, seed=0), blueprint, task="reverse")
    return str(folder)


def test_each_word_has_a_line(zoo: Zoo, saved: str) -> None:
    done = zoo("predict", saved, "hello", "zebra")
    assert done.code == 0
    rows = [line.split() for line in done.out.splitlines()]
    assert [row[0] for row in rows] == ["hello", "zebra"]
    assert rows[0][-1] == "olleh"  # an untrained model: wrong, and what is right is said


def test_json_has_an_object_a_word(zoo: Zoo, saved: str) -> None:
    (found,) = zoo("predict", saved, "hello", "--json").json
    assert found["text"] == "hello"
    assert found["expected"] == "olleh"
    assert found["right"] is (found["got"] == "olleh")


def test_words_come_from_standard_input_if_none_are_named(saved: str) -> None:
    run = CliRunner().invoke(
        make_cli(get_plugins()), ["predict", saved, "--json"], input="hello\nzebra fox\n"
    )
    assert run.exit_code == 0
    assert [word in run.output for word in ("olleh", "arbez", "xof")] == [True] * 3


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (b"", "No text: "),
        (b" \n", "No text: "),
        (b"\xff\xfe\x00", "Standard input is not valid UTF-8"),
    ],
)
def test_standard_input_without_words_is_said(
    zoo: Zoo, saved: str, given: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8", errors="surrogateescape")
    monkeypatch.setattr("zoo.cli.predict.sys", type("Sys", (), {"stdin": stdin}))
    done = zoo("predict", saved)
    assert done.code == 2
    assert reason in done.err


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("naïve", "the character 'ï' is not one of a to z"),
        ("hi", "'hi' has 2 letters: expected 3 to 10"),
        ("backwardsness", "has 13 letters"),
        ("ab" * 1500, "Error: 'abababababab...babababababab' has 3000 letters"),
        ("Hello", "Write it in small letters"),
    ],
)
def test_a_word_it_cannot_spell_is_said(zoo: Zoo, saved: str, word: str, reason: str) -> None:
    done = zoo("predict", saved, "hello", word)
    assert (done.code, done.out) == (2, "")
    assert reason in " ".join(done.err.split())


def test_no_checkpoint_is_said(zoo: Zoo, tmp_path: Path) -> None:
    done = zoo("predict", str(tmp_path), "hello")
    assert done.code == 2
    assert "there is no zoo.json in it" in " ".join(done.err.split())


def test_a_model_that_was_trained_on_no_task_is_said(zoo: Zoo, tmp_path: Path) -> None:
    blueprint = get_preset("reverse").blueprint()
    save_checkpoint(tmp_path, build(blueprint, seed=0), blueprint)
    done = zoo("predict", str(tmp_path), "hello")
    assert done.code == 2
    assert "was trained on no task" in " ".join(done.err.split())


def test_a_model_too_small_for_its_task_is_said(zoo: Zoo, tmp_path: Path) -> None:
    blueprint = get_preset("reverse").blueprint().with_sizes(src_vocab=7)
    save_checkpoint(tmp_path, build(blueprint, seed=0), blueprint, task="reverse")
    done = zoo("predict", str(tmp_path), "hello")
    assert done.code == 2
    assert "src_vocab=7 is too small" in done.err


def test_a_file_of_code_needs_to_be_allowed(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("from zoo.parts.norm.pre import PreNorm as Mine\n")
    blueprint = get_preset("reverse").blueprint().with_choices(norm="mine.py:Mine")
    save_checkpoint("saved", build(blueprint, seed=0), blueprint, task="reverse")
    loaded = [name for name in sys.modules if name.startswith("zoo_file_mine")]
    assert loaded  # it was built here
    for name in loaded:
        del sys.modules[name]
    refused = zoo("predict", "saved", "hello")
    assert refused.code == 2
    assert "--allow-code" in refused.err
    assert not any(name.startswith("zoo_file_mine") for name in sys.modules)
    assert zoo("predict", "saved", "hello", "--allow-code").code == 0


def test_the_decoding_can_be_changed_and_draws_with_a_seed(zoo: Zoo, saved: str) -> None:
    def answers(*more: str) -> list[str]:
        return [one["got"] for one in zoo("predict", saved, "hello", "zebra", "--json", *more).json]

    assert answers("--decoding=beam:size=1") == answers("--decoding=greedy") == answers()
    drawn = [answers("--decoding=sample", f"--seed={seed}") for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    done = zoo("predict", saved, "hello", "--decoding=bream")
    assert done.code == 2
    assert "Did you mean beam" in done.err
