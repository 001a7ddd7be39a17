"""The base class of learning rate schedules. Imports no torch."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Schedule(ABC):
    """The learning rate of every step, as a share of the highest: a linear warm-up, then what the variant does."""

    def __init__(self, steps: int, warmup: int) -> None:
        """`steps` of the whole training, of which `warmup` (cut to `steps`) are the warm-up."""
        self.steps, self.warmup = steps, min(warmup, steps)

    def __call__(self, step: int) -> float:
        """The share, from 0 to 1, at `step`, counted from 0; after the last step too, where it may be asked for."""
        return (step + 1) / self.warmup if step < self.warmup else self.after(step)

    @abstractmethod
    def after(self, step: int) -> float:
        """The share at a step after the warm-up."""

    def left(self, step: int) -> float:
        """Return how much of what follows the warm-up is left at a step: 1 at its end, 0 from `steps` on."""
        return max(self.steps - step, 0) / max(self.steps - self.warmup, 1)
