"""Writes the record of a training as it goes; `zoo.training.record` says what is in it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from zoo.core.blueprint import Blueprint
from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors, write_whole
from zoo.models.devices import machine
from zoo.models.transformer import Model
from zoo.training.gradients import GradientNorms
from zoo.training.log import Log
from zoo.training.record import FAILED, FINISHED, FORMAT, INTERRUPTED, LOCK, LOG, RECORD, RUNNING
from zoo.training.scoring import TokenScore
from zoo.training.tasks.base import TrainingData
from zoo.training.trainer import Score

COLUMNS = ("step", "loss", "lr")
BOARD = "tensorboard"
"""The folder of TensorBoard's event files, in that of the record."""
SHOWN = 10  # examples


class Recorder:
    """Writes the record of one training into a folder, from its first step on.

    What is recorded in the folder already is replaced then, and not before; no other training can write there until the
    end. In a `with` statement, whatever ends the
    training is noted and raised again.

    Attributes:
        about: what `record.json` says.
    """

    def __init__(
        self,
        folder: Path,
        model: Model,
        blueprint: Blueprint,
        about: Mapping[str, Any],
        own: Sequence[str] = (),
        *,
        after: int = 0,
        board: bool = False,
    ) -> None:
        """
        Args:
            folder: made if it is not there.
            model: whose gradients are measured, on its device.
            blueprint: what it was built from.
            about: what else the JSON says: task, recipe, seed.
            own: names of the training's own columns.
            after: the step that the record goes on after; 0 starts over.
            board: whether TensorBoard's event files are written too, to `folder`/tensorboard.

        Raises:
            ZooError: `board` is given and the package tensorboard is not installed.
        """
        if board:
            check_board()
        self.folder, self.own, self.after, self.norms = folder, tuple(own), after, GradientNorms(model)
        self.about: dict[str, Any] = {
            "format": FORMAT,
            "state": RUNNING,
            "began": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            **about,
            "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
            "blueprint": blueprint.to_json(),
            "machine": machine(next(model.parameters()).device),
            "steps": after,
        }
        self._with_board, self._since = board, time.perf_counter()
        self._log: Log | None = None
        self._board: Any = None
        self._lock = FileLock(folder / LOCK, timeout=0)

    def step(self, step: int, loss: float, lr: float, *own: float | int | None) -> None:
        """Append the row of a step, counted from 1, whose gradients the model still has.

        Raises:
            ZooError: it cannot be written, or another training writes to the same folder.
        """
        log = self._log or self._begin()
        norms = self.norms()
        log.add(step, *(_short(one) for one in (loss, lr, *own, *norms)))
        self.about["steps"] = step
        if self._board is not None:
            values = dict(
                zip((*COLUMNS[1:], *self.own, *self.norms.columns), (loss, lr, *own, *norms), strict=True)
            )
            for name, value in values.items():
                if value is not None:
                    self._board.add_scalar(name.replace("grad ", "grad/", 1), value, step)

    def note(self, **facts: Any) -> None:
        """Add to what `record.json` says, and see that it and the log are on the disk. Raises ZooError."""
        self.about |= facts
        if self._log is None:
            return
        if not self._log.closed:
            self._log.sync()
        text = json.dumps(self.about, indent=2, ensure_ascii=False) + "\n"
        with reporting_os_errors(f"The record of the training cannot be written to '{self.folder}'"):
            write_whole(self.folder / RECORD, text.encode())

    def _begin(self) -> Log:
        with reporting_os_errors(f"The record of the training cannot be written to '{self.folder}'"):
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire()
            except Timeout as error:
                raise ZooError(
                    f"Another training is writing to '{self.folder}'. Wait for it to end, or use another folder."
                ) from error
        self._log = Log(self.folder / LOG, (*COLUMNS, *self.own, *self.norms.columns), self.after)
        if self._with_board:
            self._board = open_board(self.folder / BOARD, self.after)
        self.note()
        return self._log

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        state = FINISHED if kind is None else INTERRUPTED if kind is KeyboardInterrupt else FAILED
        facts = {"problem": str(error)} if state == FAILED else {}
        self.about.setdefault("seconds", round(time.perf_counter() - self._since, 3))
        try:
            self.note(state=state, **facts)
        finally:
            if self._log is not None:
                self._log.close()
            if self._board is not None:
                self._board.close()
            self._lock.release()


def _short(value: float | int | None) -> float | int | str:
    """A cell: six digits, nothing for None."""
    return "" if value is None else value if isinstance(value, int) else f"{value:.6g}"


def score_name(data: TrainingData) -> str:
    """Return the name of a task's score, which is a percentage."""
    return f"{data.scored} right (%)"


def described(score: Score) -> dict[str, Any]:
    """Return what `record.json` says about the score at the end, with the first examples."""
    found: dict[str, Any] = {"share": score.share, "correct": score.correct, "total": score.total}
    if isinstance(score, TokenScore):
        found |= {"perplexity": score.perplexity, "bits_per_byte": score.bits_per_byte}
    return {
        "score": found,
        "examples": [{**asdict(one), "right": one.right} for one in score.examples[:SHOWN]],
    }


def check_board() -> None:
    """Raises ZooError if TensorBoard's event files cannot be written, since its package is not installed."""
    if find_spec("tensorboard") is None:
        raise ZooError(
            "--tensorboard needs the package tensorboard, which is not installed: "
            "`pip install 'transformer-zoo[tensorboard]'`."
        )


def open_board(folder: Path, after: int) -> Any:
    """A `torch.utils.tensorboard.SummaryWriter` of a folder that goes on after a step; 0 starts over.

    Raises ZooError if the folder cannot be written.
    """
    from torch.utils.tensorboard import SummaryWriter

    with reporting_os_errors(f"TensorBoard's event files cannot be written to '{folder}'"):
        if not after and folder.is_dir():
            for path in folder.glob("events.out.tfevents.*"):
                path.unlink()
        return SummaryWriter(str(folder), purge_step=after + 1)
