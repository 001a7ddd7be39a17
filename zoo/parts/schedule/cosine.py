"""Cosine decay."""

from __future__ import annotations

import math

from zoo.parts.schedule.base import Schedule


class CosineSchedule(Schedule):
    """A linear warm-up, then half a cosine down to `floor`, which it reaches one step after the last, and keeps.

    One cycle of SGDR, without restarts: Loshchilov and Hutter 2017, section 3, arXiv:1608.03983.
    """

    def __init__(self, steps: int, warmup: int, floor: float = 0.0) -> None:
        """
        Args:
            steps: of the whole training.
            warmup: steps of the warm-up; cut to `steps`.
            floor: share of the highest rate at the end.

        Raises:
            ValueError: floor is not a share, from 0 to 1.
        """
        super().__init__(steps, warmup)
        if not 0 <= floor <= 1:
            raise ValueError(f"floor={floor}: expected a share of the highest rate, from 0 to 1.")
        self.floor = floor

    def after(self, step: int) -> float:
        """floor + (1 - floor) (1 + cos(pi t)) / 2, where t = (step - warmup) / (steps - warmup)."""
        done = 1 - self.left(step)
        return self.floor + (1 - self.floor) * (1 + math.cos(math.pi * done)) / 2
