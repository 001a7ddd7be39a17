"""Saves a training as it goes, and takes it up again."""

from __future__ import annotations

import contextlib

import torch

from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors
from zoo.models.checkpoint import load_checkpoint, save_checkpoint
from zoo.training.gradients import GradientNorms
from zoo.training.progress import Progress
from zoo.training.trainer import Trainer
from zoo.training.translation.log import Log
from zoo.training.translation.run import BEST, LAST, TASK, Run
from zoo.training.translation.state import load_state, remove_states, save_state
from zoo.training.translation.work import TranslationWork
from zoo.training.update import Step

STEP_COLUMNS = ("step", "epoch", "loss", "lr", "tokens")
EPOCH_COLUMNS = ("epoch", "step", "train_loss", "valid_loss", "valid_bleu", "seconds")
SAVE_EVERY = 200
"""Steps from one saved state to the next; the end of an epoch is saved too."""


class Keeper:
    """An observer (`zoo.training.trainer.Observer`) that writes logs and checkpoints of a trainer's run.

    In a `with` statement, the logs are closed at its end.
    """

    def __init__(self, run: Run, trainer: Trainer[TranslationWork]) -> None:
        """Takes up the run where it was last saved, if it was: the trainer then stands there, and the logs end there.

        torch's random generators are set then, too.

        Raises:
            ZooError: what was saved is damaged, or from another kind of device.
        """
        self.run, self.trainer = run, trainer
        if (run.folder / LAST).is_dir():
            trainer.progress = restored(run, trainer)
        progress = trainer.progress
        self.norms = GradientNorms(trainer.model)
        self.steps = Log(run.folder / "log.csv", (*STEP_COLUMNS, *self.norms.columns), progress.step)
        self.epochs = Log(run.folder / "epochs.csv", EPOCH_COLUMNS, progress.epoch)

    def on_step(self, progress: Progress, step: Step) -> None:
        """Log the step, and save now and then."""
        norms = (float(f"{norm:.6g}") for norm in self.norms())
        self.steps.add(progress.step, progress.epoch + 1, step.loss, step.lr, step.tokens, *norms)
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
        self.steps.sync()
        self.epochs.sync()
        with reporting_os_errors(f"The run cannot be saved in '{folder}'"):
            state = save_state(folder, self.trainer.updater.optimizer, self.trainer.device)
        notes = {"task": TASK, "state": state, "progress": progress.to_json()}
        save_checkpoint(folder / LAST, self.trainer.model, self.run.blueprint, **notes)
        with contextlib.suppress(OSError):  # what is left over does no harm
            remove_states(folder, state)

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_: object) -> None:
        self.steps.close()
        self.epochs.close()


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
