"""Mistakes with tensors on a fixed device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.positions.mistakes.collection import mistake
from grader.exercises.positions.reference import Steps


@mistake.fixed_device(parts=("SinusoidalPositions",))
def device_hard_coded(steps: Steps) -> Steps:
    def add(x: Tensor, rows: Tensor, training: bool) -> Any:
        return steps.add(x, rows + torch.zeros(x.size(-1), dtype=x.dtype), training)

    return replace(steps, add=add)
