"""The settings of a training. Numbers only, no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from zoo.core.errors import ZooError


@dataclass(frozen=True)
class Recipe:
    """Training settings; the optimizer and the schedule are axes of their own.

    The defaults are those for word reversal: with the preset `reverse`, 13 seeds spelled .994 / .997 / 1.000
    (least, median, most) of the unseen words. 250 steps with a warm-up of 20 fall to .978 at worst.

    Attributes:
        steps: batches to train on.
        batch_size: texts a batch.
        lr: the highest learning rate, reached at the end of the warm-up.
        betas, eps, weight_decay: of AdamW, and what other optimizers have of them.
        warmup: steps of the schedule's warm-up; cut to `steps` where there are fewer.
        seed: of the batches and of dropout. Initial weights have their own, see `zoo.models.builder.build`.
    """

    steps: int = 300
    batch_size: int = 64
    lr: float = 5e-3
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    weight_decay: float = 0.01
    warmup: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "warmup"):
            if getattr(self, name) < 1:
                raise ZooError(f"{name}={getattr(self, name)}: expected at least 1.")
        if not (0 < self.lr < math.inf):
            raise ZooError(f"lr={self.lr}: expected a number above 0.")
        if not 0 <= self.seed < 2**63:
            raise ZooError(f"seed={self.seed}: expected 0 or more, below 2^63.")
