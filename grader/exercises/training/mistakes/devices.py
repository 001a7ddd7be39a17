"""Mistakes with tensors on a fixed device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.api import Collection
from grader.exercises.training.reference import SOS, Steps

mistake: Collection[Steps] = Collection(("train_step",))
MISTAKES = mistake.mistakes


@mistake.fixed_device()
def device_hard_coded(steps: Steps) -> list[Steps]:
    def first(tgt: Tensor) -> Tensor:
        return torch.cat([torch.full((len(tgt), 1), SOS), tgt[:, :-1]], 1)  # [B, L]

    def whole(tgt: Tensor) -> Tensor:
        shifted = torch.zeros(tgt.shape, dtype=tgt.dtype)
        shifted[:, 1:] = tgt[:, :-1]
        shifted[:, 0] = SOS
        return shifted

    ways: tuple[Callable[[Tensor], Tensor], ...] = (first, whole)
    return [replace(steps, shift=way) for way in ways]
