"""A training that was killed goes on, and ends with the weights that it would have had."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests import ROOT
from tests.zoo.training.translation.support import corpora, make_run, train, trainer_of
from zoo.core.errors import ZooError
from zoo.models.checkpoint import load_checkpoint
from zoo.training.log import Log
from zoo.training.progress import Progress
from zoo.training.translation import keeper
from zoo.training.translation.corpus import Corpora
from zoo.training.translation.keeper import Keeper
from zoo.training.translation.run import Run, check_new, open_run
from zoo.training.update import Step

PROCESS = """
import sys
from pathlib import Path
from tests.zoo.training.translation.support import train
from zoo.training.translation import keeper
from zoo.training.translation.run import open_run
keeper.SAVE_EVERY = 3
train(open_run(Path(sys.argv[1])))
"""


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_checkpoint(folder).model.state_dict()


def assert_same(run: Run, other: Run) -> None:
    """Bit for bit the same weights, last and best, and the same logs but for the time."""
    for name in ("last", "best"):
        ours, theirs = weights(run.folder / name), weights(other.folder / name)
        assert all(torch.equal(value, theirs[key]) for key, value in ours.items())
    assert (run.folder / "log.csv").read_text() == (other.folder / "log.csv").read_text()
    rows, others = (
        [line.rpartition(",")[0] for line in (one.folder / "epochs.csv").read_text().splitlines()]
        for one in (run, other)
    )
    assert rows == others


class Stop(Exception):
    """Stands for the end of the process."""


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A training that nothing interrupts."""
    run = make_run(tmp_path_factory.mktemp("straight") / "run")
    train(run)
    return run


@pytest.mark.parametrize("after", [1, 3, 4, 10, 11, 12])
@pytest.mark.sampled(3, always=True)  # nothing else finds some seeded faults
def test_it_goes_on_from_any_step(
    straight: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr(keeper, "SAVE_EVERY", 3)
    broken = make_run(tmp_path / "broken")

    class Mortal(Keeper):
        def on_step(self, progress: Progress, step: Step) -> None:
            super().on_step(progress, step)
            if progress.step == after:
                raise Stop

    trainer = trainer_of(broken)
    with Mortal(broken, trainer) as mortal, pytest.raises(Stop):
        trainer.run(mortal)
    assert len((broken.folder / "log.csv").read_text().splitlines()) == 1 + after
    train(open_run(broken.folder))
    assert_same(straight, broken)


@pytest.mark.parametrize("at", ["best", "last"])
def test_it_goes_on_if_it_died_while_an_epoch_was_saved(
    straight: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    broken = make_run(tmp_path / "broken")
    real = keeper.save_checkpoint

    def dying(folder: Path, *args: object, **notes: object) -> None:
        if folder.name == at:
            raise Stop
        real(folder, *args, **notes)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(keeper, "save_checkpoint", dying)
        with pytest.raises(Stop):
            train(broken)
    train(open_run(broken.folder))
    assert_same(straight, broken)


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_weights(tmp_path: Path) -> None:
    straight, broken = make_run(tmp_path / "straight", epochs=12), make_run(tmp_path / "broken", epochs=12)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROCESS]
    subprocess.run([*command, straight.folder], env=environment, check=True, timeout=600)
    draw, kills = random.Random(0), 0
    log = broken.folder / "log.csv"

    def steps() -> int:
        return len(log.read_text().splitlines()) if log.exists() else 0

    while True:
        enough = steps() + draw.randint(
            4, 20
        )  # of more than a hundred; counted, since machines are fast and slow
        process = subprocess.Popen([*command, broken.folder], env=environment)
        while process.poll() is None and steps() <= enough:
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 0.01))
        if kills == 4 or process.poll() is not None:
            assert process.wait(timeout=600) == 0
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    assert kills > 0
    assert_same(straight, broken)


def test_a_finished_run_stays_as_it_is(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    train(run)
    before = (run.folder / "log.csv").read_text()
    again = train(open_run(run.folder))
    assert again.progress.finished
    assert (run.folder / "log.csv").read_text() == before


def test_one_state_is_kept_and_nothing_half_written(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    train(run)
    names = sorted(path.name for path in run.folder.iterdir())
    assert [name for name in names if not name.startswith("state-")] == [
        ".log.csv.lock", "best", "epochs.csv", "last", "log.csv", "record.json", "run.json", "tokenizer.json",
    ]  # fmt: skip
    assert len(names) == 9


def test_two_vocabularies_are_two_files(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", joint=False)
    assert (run.folder / "src.tokenizer.json").is_file()
    opened = open_run(run.folder)
    assert opened.tokenizers == run.tokenizers
    assert opened.tokenizers.src != opened.tokenizers.tgt
    assert (opened.settings, opened.blueprint) == (run.settings, run.blueprint)


def test_a_state_that_is_damaged_or_gone_is_told(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    train(run)
    state = next(run.folder.glob("state-*"))
    state.write_bytes(state.read_bytes()[:-1])
    with pytest.raises(ZooError, match="is damaged"):
        Keeper(run, trainer_of(run))
    state.unlink()
    with pytest.raises(ZooError, match="is gone: this training cannot be resumed without it"):
        Keeper(run, trainer_of(run))


def test_text_that_changed_is_told(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    run.check(corpora())
    train_part, valid, test = corpora()
    for changed in (Corpora(valid, valid, test), Corpora(train_part, train_part, test)):
        with pytest.raises(ZooError, match="has changed"):
            run.check(changed)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 99}', "[" * 100_000])
def test_a_damaged_index_is_told(tmp_path: Path, text: str) -> None:
    run = make_run(tmp_path / "run")
    (run.folder / "run.json").write_text(text)
    with pytest.raises(ZooError, match=r"run\.json"):
        open_run(run.folder)


def test_a_part_from_a_file_is_not_run_unasked(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    part = tmp_path / "part.py"
    part.write_text("raise SystemExit('it was run')\nclass Mine: ...\n")
    index = json.loads((run.folder / "run.json").read_text())
    index["blueprint"]["choices"]["attention"] = {"name": f"{part}:Mine", "options": {}}
    (run.folder / "run.json").write_text(json.dumps(index))
    with pytest.raises(ZooError, match="--allow-code"):
        open_run(run.folder)
    assert open_run(run.folder, allow_code=True).blueprint["attention"].name == f"{part}:Mine"


def test_a_folder_that_is_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="no such folder"):
        open_run(tmp_path / "none")
    with pytest.raises(ZooError, match=r"no run\.json"):
        open_run(tmp_path)


def test_a_new_run_overwrites_nothing(tmp_path: Path) -> None:
    check_new(tmp_path)
    check_new(tmp_path / "new")
    run = make_run(tmp_path / "run")
    with pytest.raises(ZooError, match="already"):
        check_new(run.folder)
    (tmp_path / "other").write_text("mine")
    for folder in (tmp_path, tmp_path / "other"):
        with pytest.raises(ZooError, match="is not a run"):
            check_new(folder)


def test_a_log_is_cut_after_its_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    log = Log(path, ("step", "loss"))
    for step in range(1, 5):
        log.add(step, step / 4)
    assert path.read_text().splitlines()[-1] == "4,1.0"  # without being closed
    with path.open("a") as file:
        file.write("5,0.")  # half a row
    log.close()
    again = Log(path, ("step", "loss"), after=2)
    again.add(3, 9)
    again.close()
    assert path.read_text() == "step,loss\n1,0.25\n2,0.5\n3,9\n"
    Log(path, ("step", "loss")).close()
    assert path.read_text() == "step,loss\n"
