"""`zoo compare`: the tables, JSON, CSV, presets, seeds and jobs, and what is refused."""

from __future__ import annotations

import csv
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.zoo.analysis.test_workers import is_alive, until
from tests.zoo.cli.conftest import ROOT, Zoo
from zoo.analysis.compare import Candidate, Conditions, Row, Training
from zoo.cli.compare_tables import comparison
from zoo.core.blueprint import get_preset, make_blueprint

SMALL = (
    "--d-model=8", "--num-heads=2", "--d-ff=8", "--num-encoder-layers=1", "--num-decoder-layers=1",
    "--src-vocab=29", "--tgt-vocab=29", "--batch=2", "--length=4", "--device=cpu",
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("timed_once")


def test_one_line_a_combination(zoo: Zoo) -> None:
    done = zoo("compare", *SMALL, "--attention=eager:bias=false,fused", "--norm=pre,post", "--mask=additive")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split() == [
        "attention", "norm", "params", "GFLOP", "forward", "step", "memory", "vs", "eager",
    ]  # fmt: skip
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["eager:bias=false", "pre"], ["eager:bias=false", "post"], ["fused", "pre"], ["fused", "post"],
    ]  # fmt: skip
    assert lines[1].split()[-1] == "equal"
    assert lines[6].startswith("Batch of 2 x 4 tokens on cpu; d_model 8, 2 heads, d_ff 8, 1+1 layers,")
    assert max(map(len, lines)) <= 80


def test_presets_are_rows_crossed_with_axes_and_sizes_hold_for_all(zoo: Zoo) -> None:
    args = ("--preset=reverse,write-your-own", *SMALL[:5], *SMALL[7:], "--norm=pre,post", "--max-len=9")
    out = zoo("compare", *args).out
    lines = out.splitlines()
    assert lines[0].split()[:2] == ["preset", "norm"]
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["reverse", "pre"], ["reverse", "post"], ["write-your-own", "pre"], ["write-your-own", "post"],
    ]  # fmt: skip
    assert max(map(len, lines)) <= 80
    found = zoo("compare", *args, "--json").json
    assert [(one["preset"], one["norm"]) for one in found] == [tuple(line.split()[:2]) for line in lines[1:5]]
    assert {(one["d_model"], one["max_len"]) for one in found} == {(8, 9)}
    mine = get_preset("write-your-own").blueprint()
    assert [one["mask"] for one in found] == ["bool", "bool", mine["mask"].name, mine["mask"].name]
    assert [one["embedding"] for one in found[2:]] == [str(mine["embedding"])] * 2


def test_sizes_that_differ_are_told_below(zoo: Zoo) -> None:
    out = zoo(
        "compare", "--preset=reverse,assembled", "--d-model=8", "--num-heads=2", "--batch=2", "--length=4"
    ).out
    assert "\nBatch of 2 x 4 tokens on cpu.\n" in out
    words = " ".join(out.split())
    assert " reverse: d_model 8, 2 heads, d_ff 256, 1+1 layers, dropout 0, vocabularies 29+29. " in words
    assert (
        " assembled: d_model 8, 2 heads, d_ff 512, 2+2 layers, dropout 0, vocabularies 1,000+1,000." in words
    )


def test_a_refused_combination_is_a_line_with_the_reason_below(zoo: Zoo) -> None:
    done = zoo("compare", *SMALL, "--embedding=scaled,shared", "--src-vocab=30")
    assert done.code == 0
    shared = next(line for line in done.out.splitlines() if line.startswith("shared"))
    assert shared.split() == ["shared", "(1)"]
    assert "(1) Refused. embedding=shared keeps one table" in done.out
    assert "(rule one-vocabulary)" in " ".join(done.out.split())


def test_where_nothing_can_be_measured_it_ends_with_1(zoo: Zoo) -> None:
    done = zoo("compare", *SMALL, "--embedding=shared", "--src-vocab=30")
    assert done.code == 1
    assert "(1) Refused." in done.out


def test_a_batch_that_is_too_long_for_some_is_refused_for_those(zoo: Zoo) -> None:
    found = zoo(
        "compare", "--preset=reverse,assembled", "--d-model=8", "--batch=2", "--length=40", "--json"
    ).json
    assert [one["outcome"] for one in found] == ["refused", "measured"]
    assert found[0]["note"].endswith("(rule batch-length)")


def test_json_and_csv_hold_the_same(zoo: Zoo, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    found = zoo("compare", *SMALL, "--norm=pre,post", "--json", "--csv", str(path)).json
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["norm"] for row in rows] == [one["norm"] for one in found] == ["pre", "post"]
    for row, one in zip(rows, found, strict=True):
        flat = {
            key: " ".join(map(str, value)) if isinstance(value, list) else value for key, value in one.items()
        }
        assert row == {key: "" if value is None else str(value) for key, value in flat.items()}


def test_csv_on_standard_output(zoo: Zoo) -> None:
    rows = list(csv.DictReader(io.StringIO(zoo("compare", *SMALL, "--norm=pre,post", "--csv=-").out)))
    assert [row["norm"] for row in rows] == ["pre", "post"]
    assert rows[0]["torch"] == torch.__version__


def test_training_takes_the_sizes_of_the_tasks_preset_and_gives_a_score(zoo: Zoo) -> None:
    args = ("--batch=2", "--d-model=8", "--d-ff=8", "--device=cpu", "--train", "--steps=2", "--seed=1")
    (one,) = zoo("compare", *args, "--json").json
    assert (one["task"], one["train_steps"], one["seeds"]) == ("reverse", 2, [1])
    assert (one["src_vocab"], one["num_heads"], one["length"], one["preset"]) == (29, 4, 16, None)
    assert one["embedding"] == str(get_preset("reverse").blueprint()["embedding"])
    assert 0 <= one["score_median"] <= 1
    assert one["scores"] == [one["score_least"]]


@pytest.mark.parametrize("args", [("--seed=4", "--seeds=3"), ("--seed=4,5,6",)])
@pytest.mark.sampled(2)
def test_several_seeds_give_median_least_and_most(args: tuple[str, ...], zoo: Zoo) -> None:
    command = ("compare", *SMALL, "--max-len=16", "--task=reverse", "--steps=2", *args)
    (one,) = zoo(*command, "--json").json
    assert one["seeds"] == [4, 5, 6]
    assert (one["loss_least"], one["loss_median"], one["loss_most"]) == tuple(sorted(one["last_losses"]))
    out = zoo(*command).out
    assert re.search(r"^attention +score +least +most +loss +least +most +90% at$", out, re.MULTILINE)
    assert f"{one['loss_least']:.4f}" in out
    assert "Median, minimum and maximum of 3 seeds: 4, 5, 6." in " ".join(out.split())


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--attention=eager,fuse",), "There is no attention 'fuse'. Did you mean fused"),
        (("--norm=,",), "--norm=,: expected one or more variants, separated by commas."),
        (("--steps=5",), "add --train or --task"),
        (("--seed=1,2",), "add --train or --task"),
        (("--train", "--seed=1,2", "--seeds=2"), "--seeds counts up from a single --seed"),
        (("--seed=1,x",), "expected whole numbers from 0 to 2^63 - 1, separated by commas"),
        (("--seed=-1",), "expected whole numbers"),
        (("--seeds=0",), "0 is not in the range x>=1"),
        (("--jobs=0",), "0 is not in the range x>=1"),
        (("--preset=reverse,revers",), "There is no preset 'revers'. Did you mean reverse?"),
        (("--preset=,",), "--preset=,: expected one or more presets"),
        (("--json", "--csv=-"), "both want standard output"),
        (("--train", "--task=revers"), "There is no task 'revers'. Did you mean reverse?"),
        (("--train", "--src-vocab=9"), "src_vocab=9 is too small for the task: expected at least 29."),
        (("--length=600",), "The batch is 600 tokens long, which is over max_len=512."),
        (("--csv", "."), "is not a regular file"),
        (("--csv", "no/such/dir.csv"), "there is no directory 'no/such'"),
    ],
)
def test_wrong_usage_is_a_sentence_before_anything_is_measured(
    args: tuple[str, ...], said: str, zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.analysis.benchmarking.build_on", None)
    done = zoo("compare", "--device=cpu", *args)
    assert (done.code, done.out) == (2, "")
    assert said in " ".join(done.err.split())


@pytest.mark.slow
class TestJobs:
    def test_the_numbers_are_those_of_one_process(self, zoo: Zoo, shell: Zoo) -> None:
        args = (
            "compare",
            *SMALL,
            "--max-len=16",
            "--norm=pre,post",
            "--task=reverse",
            "--steps=3",
            "--seeds=2",
            "--json",
        )
        alone, spread = zoo(*args, "--jobs=1").json, shell(*args, "--jobs=2").json
        timed = ("forward_s", "step_s", "jobs")
        for one, other in zip(alone, spread, strict=True):
            assert all(one[name] and other[name] for name in timed)
            assert {k: v for k, v in one.items() if k not in timed} == {
                k: v for k, v in other.items() if k not in timed
            }
        assert spread[0]["jobs"] == 2

    def test_a_part_that_kills_its_process_is_a_row_and_the_rest_goes_on(
        self, shell: Zoo, tmp_path: Path
    ) -> None:
        (tmp_path / "mine.py").write_text(
            "import os\nfrom zoo.parts.feedforward.relu import ReluFeedForward\nclass Mine(ReluFeedForward):\n"
            "    def forward(self, x):\n        os.kill(os.getpid(), 9)\n"
        )
        done = shell("compare", *SMALL, f"--feedforward={tmp_path / 'mine.py'}:Mine,relu", "--jobs=2")
        assert (done.code, done.err) == (0, "")
        assert "(1) Failed. The process in which it ran was killed, perhaps for want of memory." in done.out
        relu = next(line for line in done.out.splitlines() if line.startswith("relu"))
        assert relu.split()[-1] == "equal"
        assert "Times were measured in one process, after the other 2 had finished." in done.out

    def test_ctrl_c_ends_all_processes_and_exits_with_130(self) -> None:
        # Where tests run in the background, SIGINT may come ignored, and Python then leaves it so.
        code = (
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from zoo.cli import main; main()"
        )
        args = (
            "compare",
            *SMALL,
            "--max-len=16",
            "--norm=pre,post",
            "--train",
            "--steps=1000000",
            "--jobs=2",
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, *args],
            cwd=ROOT, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as run:  # fmt: skip
            try:
                until(lambda: len(workers_of(run.pid)) == 2)
                workers = workers_of(run.pid)
                os.killpg(run.pid, signal.SIGINT)
                out, err = run.communicate(timeout=600)
                assert (run.returncode, out, err.strip()) == (130, "", "Interrupted.")
                until(lambda: not any(map(is_alive, workers)))
            finally:
                run.kill()


def workers_of(process: int) -> list[int]:
    """Its child processes that serve calls."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    lines = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return [int(pid) for pid, parent, args in lines if int(parent) == process and "spawn_main" in args]


class TestTable:
    CONDITIONS = Conditions(8, 32, (0,), torch.device("cpu"), "reverse", 300)
    FULL = Row(
        Candidate(make_blueprint()), "measured", 44_140_544, 123_456_789, 0.0123, 1.5, 810_000_000, 1.24e-6,
        trainings=(Training(0, 0.998, 0.01234, reached=120),),
    )  # fmt: skip

    def lines(
        self, *rows: Row, columns: tuple[str, ...] = ("attention",), conditions: Conditions = CONDITIONS
    ) -> list[str]:
        found = comparison(rows, columns, conditions).splitlines()
        assert max(map(len, found)) <= 80
        return found

    @pytest.fixture(autouse=True)
    def _narrow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")

    def test_numbers_are_short_and_right(self) -> None:
        lines = self.lines(self.FULL)
        assert lines[1].split() == [
            "eager", "44,140,544", "0.123", "12.3", "ms", "1.5", "s", "810", "MB", "1.2e-06",
        ]  # fmt: skip
        at = next(
            i for i, line in enumerate(lines) if line.split() == ["attention", "score", "loss", "90%", "at"]
        )
        assert lines[at + 1].split() == ["eager", "99.8%", "0.0123", "step", "120"]

    def test_a_training_that_failed_is_marked_beside_the_others(self) -> None:
        trainings = (Training(0, 0.5, 1.0), Training(1, problem="nan"), Training(2, 0.75, 3.0))
        row = Row(self.FULL.candidate, "measured", 7, 7, 1, 1, 7, 0, trainings=trainings, note="Seed 1: nan")
        none = Row(
            self.FULL.candidate, "measured", 7, 7, 1, 1, 7, 0, trainings=(Training(0, problem="x"),), note="x"
        )
        conditions = Conditions(8, 32, (0, 1, 2), torch.device("cpu"), "reverse", 300)
        lines = self.lines(row, none, conditions=conditions)
        at = next(i for i, line in enumerate(lines) if line.split()[1:3] == ["score", "least"])
        assert lines[at + 1].split() == [
            "eager",
            "(1)",
            "62.5%",
            "50.0%",
            "75.0%",
            "2.0000",
            "1.0000",
            "3.0000",
            "never",
        ]
        assert lines[at + 2].split() == ["eager", "(2)", "(2)"]
        assert lines[-2:] == ["(1) Seed 1: nan", "(2) x"]

    def test_timing_in_groups_and_after_jobs_is_told(self) -> None:
        first, second = (Row(self.FULL.candidate, "measured", 7, 7, 1, 1, 7, 0, group) for group in (0, 1))
        jobs = Conditions(8, 32, (0,), torch.device("cpu"), jobs=3)
        text = " ".join(self.lines(first, second, conditions=jobs))
        assert "Times were measured in one process, after the other 3 had finished." in text
        assert "they were timed in 2 groups" in text
        alone = " ".join(self.lines(first, first, conditions=Conditions(8, 32, (0,), torch.device("cpu"))))
        assert "Times" not in alone
        assert "groups" not in alone

    def test_long_names_are_wrapped_and_notes_told_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        file = "some/where/exercises/attention.py:MultiHeadAttention"
        blueprint = make_blueprint()
        choices = {**blueprint.choices, "attention": type(blueprint["attention"])(file)}
        candidate = Candidate(type(blueprint)(choices, blueprint.sizes), "deep-learning-from-scratch")
        long = Row(candidate, "failed", note="It is not written yet.")
        monkeypatch.setattr("zoo.core.registry.os.path.isfile", lambda _: True)
        lines = self.lines(self.FULL, long, long, columns=("preset", "attention", "norm"))
        assert lines.count("(1) Failed. It is not written yet.") == 1
        assert "some/where" not in "\n".join(lines)
