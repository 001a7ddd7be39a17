"""The record of a training: written step by step, read after any end; of `zoo train`, `zoo compare`, translation."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from tests.zoo.cli.conftest import Zoo
from tests.zoo.cli.conftest import shell as shell  # fixtures
from tests.zoo.cli.conftest import zoo as zoo
from tests.zoo.cli.test_train import QUICK, interrupt_at
from tests.zoo.training.translation.support import make_run
from tests.zoo.training.translation.support import train as train_run
from zoo.core.blueprint import Blueprint
from zoo.core.errors import ZooError
from zoo.pages.runs import run_page
from zoo.parts.loss.cross_entropy import CrossEntropyLoss
from zoo.training.record import LOCK, LOG, read_about, read_record

SMALL = ["--d-model=8", "--d-ff=8", "--num-heads=2", "--batch=2", "--length=4", "--device=cpu"]
TRAINED = ["compare", *SMALL, "--task=reverse", "--steps=3"]

pytestmark = pytest.mark.usefixtures("timed_once")


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_training_says_all_about_itself(zoo: Zoo, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    found = zoo(*QUICK, "--seed=3", "--save", str(folder), "--score-every=1", "--json").json
    record = read_record(folder)
    assert record.steps == [1, 2, 3]
    assert record.losses == pytest.approx(found["losses"], rel=1e-5)
    assert [step for step, _ in record.scores] == [1, 2, 3]
    assert record.scores[-1][1] == 100 * found["share"]
    assert record.score_name == "unseen texts right (%)"
    assert all(value > 0 for values in record.norms.values() for value in values)
    about = record.about
    assert (about["state"], about["task"], about["seed"], about["saved"]) == ("finished", "reverse", 3, 3)
    assert Blueprint.from_json(about["blueprint"]) == Blueprint.from_json(found["blueprint"])
    assert about["recipe"] == found["recipe"]
    assert about["machine"]["torch"] == torch.__version__
    assert about["machine"]["processor"]
    assert about["examples"] == found["examples"]


def test_scores_on_the_way_leave_the_training_as_it_is(zoo: Zoo, tmp_path: Path) -> None:
    dropout = "--dropout=0.2"  # draws from the generator that decoding might draw from
    runs = [
        zoo(
            *QUICK,
            dropout,
            "--decoding=top-k",
            "--json",
            "--save",
            str(tmp_path / name),
            f"--score-every={every}",
        )
        for name, every in (("often", 1), ("never", 0))
    ]
    assert runs[0].json["losses"] == runs[1].json["losses"]
    assert [len(read_record(tmp_path / name).scores) for name in ("often", "never")] == [3, 1]


def test_ctrl_c_and_a_divergence_are_noted(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert zoo(*QUICK, "--lr=1e30", "--save", str(tmp_path / "run")).code == 1
    assert read_about(tmp_path / "run")["state"] == "failed"
    assert "The loss became nan at step 2" in read_about(tmp_path / "run")["problem"]
    monkeypatch.setattr(CrossEntropyLoss, "forward", interrupt_at(3))
    done = zoo(*QUICK, "--save", str(tmp_path / "run"), "--html", str(tmp_path / "page.html"))
    assert ">interrupted<" in (tmp_path / "page.html").read_text()
    assert "(reverse, 1 step, failed). The first step of this one replaces it" in one_line(done.err)
    about = read_about(tmp_path / "run")
    assert (about["state"], about["steps"], about["saved"]) == ("interrupted", 2, 2)
    assert "problem" not in about
    assert read_record(tmp_path / "run").steps == [1, 2]


def test_each_row_is_there_when_the_process_is_killed_and_half_a_row_is_left_out(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def killed(*_: object) -> None:
        seen.append(len((tmp_path / "log.csv").read_text().splitlines()))

    monkeypatch.setattr("zoo.training.update.Updater.check_weights", killed)  # after the last step
    zoo(*QUICK, "--save", str(tmp_path))
    assert seen == [4]
    text = (tmp_path / "log.csv").read_text()
    for cut in (2, 20, 60):
        (tmp_path / "log.csv").write_text(text[:-cut])
        assert read_record(tmp_path).steps in ([1, 2], [1])


def test_a_folder_with_a_record_alone_can_be_trained_into(zoo: Zoo, tmp_path: Path) -> None:
    zoo(*QUICK, "--save", str(tmp_path))
    for path in (*tmp_path.glob("weights-*"), tmp_path / "zoo.json"):
        path.unlink()  # as after a kill before the first save
    assert zoo(*QUICK, "--save", str(tmp_path)).code == 0


def test_two_trainings_cannot_write_to_one_folder(zoo: Zoo, tmp_path: Path) -> None:
    zoo(*QUICK, "--save", str(tmp_path))
    before = (tmp_path / LOG).read_bytes()
    with FileLock(tmp_path / LOCK):  # as the other training has it
        second = zoo(*QUICK, "--save", str(tmp_path))
    assert second.code == 2
    assert "Another training is writing to" in one_line(second.err)
    assert (tmp_path / LOG).read_bytes() == before
    assert zoo(*QUICK, "--save", str(tmp_path)).code == 0


@pytest.mark.parametrize(
    ("log", "record", "reason"),
    [
        ("step,loss\n", {"score": {"share": 0.5}}, "has no step yet"),
        ("step,loss\n1,2.5\n", {}, "is damaged or not written by `zoo train`: 'lr'"),
        ("\0\ufffd,\n\n,,,\n", {}, "is damaged or not written by `zoo train`: 'step'"),
        ("step,loss,lr\n1,2.5,0.1\n", {"score": 5}, "is damaged or not written by `zoo train`"),
    ],
)
def test_a_damaged_log_is_a_sentence(
    log: str, record: dict[str, object], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "log.csv").write_text(log)
    (tmp_path / "record.json").write_text(json.dumps({"format": 1, **record}))
    with pytest.raises(ZooError, match=reason):
        read_record(tmp_path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "is damaged"), ("[]", "is damaged"), ('{"format": 2}', "has format 2; this zoo reads format 1")],
)
def test_a_damaged_record_is_a_sentence(text: str, reason: str, zoo: Zoo, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,loss,lr\n1,2.5,0.1\n")
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(ZooError, match=reason):
        read_record(tmp_path)
    assert "(a damaged one)" in one_line(zoo(*QUICK, "--steps=1", "--save", str(tmp_path)).err)


class TestCompare:
    @pytest.mark.slow
    def test_every_row_and_seed_has_a_record_of_its_own(self, zoo: Zoo, tmp_path: Path) -> None:
        args = [
            *TRAINED,
            "--norm=pre,post",
            "--attention=eager:bias=false",
            "--seeds=2",
            "--runs",
            str(tmp_path),
        ]
        rows = zoo(*args, "--json").json
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names == ["post-seed-0", "post-seed-1", "pre-seed-0", "pre-seed-1"]
        for row in rows:
            for seed, loss in zip(row["seeds"], row["last_losses"], strict=True):
                record = read_record(tmp_path / f"{row['norm']}-seed-{seed}")
                assert record.losses[-1] == pytest.approx(loss, rel=1e-5)
                assert (record.about["seed"], record.about["state"]) == (seed, "finished")
                assert len(record.steps) == 3
        assert "has records of trainings (pre-seed-0" in one_line(zoo(*args).err)

    @pytest.mark.slow
    def test_recording_changes_no_number(self, zoo: Zoo, tmp_path: Path) -> None:
        with_runs, without = (zoo(*TRAINED, "--json", *more).json for more in (["--runs", str(tmp_path)], []))
        assert [row["last_losses"] for row in with_runs] == [row["last_losses"] for row in without]
        assert [path.name for path in tmp_path.iterdir()] == ["reverse"]

    @pytest.mark.slow
    def test_long_and_odd_choices_are_names_of_folders(self, zoo: Zoo, tmp_path: Path) -> None:
        path = tmp_path / "in a folder" / "mine.py"
        path.parent.mkdir()
        path.write_text("from zoo.parts.attention.eager import EagerAttention as Mine\n")
        runs = tmp_path / "runs"
        done = zoo(*TRAINED, f"--attention=eager,{path}:Mine", "--runs", str(runs))
        assert done.code == 0
        assert len(list(runs.iterdir())) == 2
        assert not any(set(one.name) & set("/: ") for one in runs.iterdir())

    @pytest.mark.slow
    def test_a_training_that_fails_at_once_is_not_taken_for_an_older_one(
        self, zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        args = [*TRAINED, "--norm=pre,post", "--runs", str(tmp_path)]
        assert zoo(*args).code == 0
        monkeypatch.setattr("zoo.analysis.benchmarking.train", lambda *_, **__: 1 / 0)
        found = zoo(*args, "--html", str(tmp_path / "page.html"))
        assert "ZeroDivisionError" in found.out
        assert not list(tmp_path.glob("*/log.csv"))
        assert "<polyline" not in (tmp_path / "page.html").read_text()

    @pytest.mark.parametrize(
        ("args", "reason"),
        [
            (["compare", "--runs=there"], "--runs records trainings: add --train or --task."),
            ([*TRAINED, "--tensorboard"], "--tensorboard writes to the folders of --runs DIR"),
            (
                ["train", "--tensorboard"],
                "--tensorboard writes to the folder of the training: give --save DIR too.",
            ),
            (
                ["train", "--score-every=3"],
                "--score-every is for the record of the training: give --save DIR or --html FILE too.",
            ),
        ],
    )
    def test_what_does_not_go_together_is_a_sentence(self, args: list[str], reason: str, zoo: Zoo) -> None:
        done = zoo(*args)
        assert done.code == 2
        assert reason in one_line(done.err)

    def test_a_folder_with_other_things_is_not_written_to(self, zoo: Zoo, tmp_path: Path) -> None:
        (tmp_path / "reverse").mkdir()
        (tmp_path / "reverse" / "thesis.txt").write_text("mine")
        done = zoo(*TRAINED, "--runs", str(tmp_path))
        assert done.code == 2
        assert "it contains thesis.txt" in one_line(done.err)


def test_a_translation_has_the_same_record(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    train_run(run)
    record = read_record(run.folder)
    assert (record.about["task"], record.about["state"]) == ("translate", "finished")
    assert record.about["epochs"] == len(record.scores) == 2
    assert record.about["steps"] == record.steps[-1]
    with (run.folder / "log.csv").open() as file:
        assert next(csv.reader(file))[:5] == ["step", "loss", "lr", "epoch", "tokens"]
    assert json.loads((run.folder / "record.json").read_text())["machine"]["torch"] == torch.__version__
    page = run_page(record)
    assert "Training on translate: run" in page
    assert "BLEU" in page


def test_without_tensorboard_the_option_is_a_sentence(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.training.recorder.find_spec", lambda _name: None)
    for args in (
        [*QUICK, "--save", str(tmp_path / "run")],
        [*TRAINED, "--runs", str(tmp_path / "run")],
        ["train", "translate", str(tmp_path / "run")],
    ):
        done = zoo(*args, "--tensorboard")
        assert done.code == 2
        assert "pip install 'transformer-zoo[tensorboard]'" in done.err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_tensorboard_reads_what_was_written(shell: Zoo, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the package tensorboard")
    folder = tmp_path / "run"
    for _ in range(2):  # the second training replaces the first
        assert shell(*QUICK, "--save", str(folder), "--tensorboard").code == 0
    code = (
        "import sys, json, warnings; warnings.simplefilter('ignore')\n"
        "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
        "found = EventAccumulator(sys.argv[1]); found.Reload()\n"
        "print(json.dumps({tag: [[e.step, e.value] for e in found.Scalars(tag)] for tag in found.Tags()['scalars']}))"
    )
    tags = shell(str(folder / "tensorboard"), start=code).json
    record = read_record(folder)
    assert [step for step, _ in tags["loss"]] == record.steps
    assert [loss for _, loss in tags["loss"]] == pytest.approx(record.losses, rel=1e-5)
    assert {"lr", "grad/embeddings", "grad/head"} <= set(tags)


def test_reading_a_record_needs_no_torch(shell: Zoo) -> None:
    done = shell(start="import sys, zoo.training.record; print('torch' in sys.modules)")
    assert done.out == "False\n"
