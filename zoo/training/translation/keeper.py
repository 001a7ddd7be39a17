"""Saves a training as it goes, and takes it up again."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import Any

import torch

from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors
from zoo.models.checkpoint import load_checkpoint, save_checkpoint
from zoo.training.log import Log
from zoo.training.progress import Progress
from zoo.training.record import EPOCHS, read_about
from zoo.training.recorder import Recorder
from zoo.training.trainer import Trainer
from zoo.training.translation.run import BEST, LAST, TASK, Run
from zoo.training.translation.state import load_state, remove_states, save_state
from zoo.training.translation.work import TranslationWork
from zoo.training.update import Step

STEP_COLUMNS = ("epoch", "tokens")
EPOCH_COLUMNS = ("epoch", "step", "train_loss", "valid_loss", "valid_bleu", "seconds")
SAVE_EVERY = 200
"""Steps from one saved state to the next; the end of an epoch is saved too."""


class Keeper:
    """An observer (`zoo.training.trainer.Observer`) that writes logs and checkpoints of a trainer's run.

    In a `with` statement, the logs are closed at its end.
    """

    def __init__(
        self, run: Run, trainer: Trainer[TranslationWork], board: bool = False, command: str = ""
    ) -> None:
        """Takes up the run where it was last saved, if it was: the trainer then stands there, and the logs end there.

        torch's random generators are set then, too. With `board`, TensorBoard's event
        files are written too. `command` is noted, unless the run has one.

        Raises:
            ZooError: what was saved is damaged, or from another kind of device.
        """
        self.run, self.trainer = run, trainer
        if (run.folder / LAST).is_dir():
            trainer.progress = restored(run, trainer)
        progress = trainer.progress
        about: dict[str, Any] = {
            "task": TASK,
            "recipe": asdict(run.settings),
            "seed": run.settings.seed,
            "score_name": "BLEU",
        }
        if command := read_about(run.folder).get("command", command):
            about["command"] = command
        self.recorder = Recorder(
            run.folder,
            trainer.model,
            run.blueprint,
            about,
            STEP_COLUMNS,
            after=progress.step,
            board=board,
        )
        self.epochs = Log(run.folder / EPOCHS, EPOCH_COLUMNS, progress.epoch)

    def on_step(self, progress: Progress, step: Step) -> None:
        """Log the step, and save now and then."""
        self.recorder.step(progress.step, step.loss, step.lr, progress.epoch + 1, step.tokens)
        if progress.step % SAVE_EVERY == 0:
            self.save(progress)

    def on_epoch(self, progress: Progress, train_loss: float, valid_loss: float, score: float) -> None:
        """Log the epoch, and save; as the best too, if it is."""
        self.epochs.add(
            progress.epoch, progress.step, train_loss, valid_loss, score, round(progress.seconds, 1)
        )
        if progress.best_epoch == progress.epoch:
            notes = {"task": TASK, "epoch": progress.epoch, "step": progress.step, "valid_bleu": score}
            save_checkpoint(self.run.folder / BEST, self.trainer.model, self.run.blueprint, **notes)
        self.save(progress)

    def save(self, progress: Progress) -> None:
        """Save the step, so that the run can be taken up after it. Raises ZooError if it cannot be written."""
        folder = self.run.folder
        self.recorder.note(
            seconds=round(progress.seconds, 1),
            epochs=progress.epoch,
            best={"epoch": progress.best_epoch, "bleu": progress.best},
        )
        self.epochs.sync()
        with reporting_os_errors(f"The run cannot be saved in '{folder}'"):
            state = save_state(folder, self.trainer.updater.optimizer, self.trainer.device)
        notes = {"task": TASK, "state": state, "progress": progress.to_json()}
        save_checkpoint(folder / LAST, self.trainer.model, self.run.blueprint, **notes)
        with contextlib.suppress(OSError):  # what is left over does no harm
            remove_states(folder, state)

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.epochs.close()
        self.recorder.__exit__(*raised)


def restored(run: Run, trainer: Trainer[TranslationWork]) -> Progress:
    """Put the last saved step's weights, optimizer state and random numbers back; how far it was."""
    folder = run.folder / LAST
    model, _, extra = load_checkpoint(
        folder, allow_code=True
    )  # the same code is in the trainer's model already
    try:
        progress, state = Progress(**extra["progress"]), str(extra["state"])
    except (KeyError, TypeError) as error:
        raise ZooError(f"'{folder}' is damaged or not part of a run. Restore it, or train again.") from error
    with torch.no_grad():
        trainer.model.load_state_dict(model.state_dict())
    load_state(run.folder / state, trainer.updater.optimizer, trainer.device)
    return progress
