"""Mistakes with tensors on a fixed device."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.attention.reference import Call
from grader.exercises.kv_cache.mistakes.collection import mistake
from grader.exercises.kv_cache.reference import Steps


@mistake.fixed_device()
def device_hard_coded(steps: Steps) -> list[Steps]:
    def join(call: Call, old: Tensor, new: Tensor) -> Tensor:
        right = steps.join(call, old, new)
        buffer = torch.zeros(right.shape, dtype=right.dtype)
        buffer[:] = right
        return buffer

    def mask(call: Call, scores: Tensor) -> Tensor:
        return steps.mask(call, scores) + torch.zeros(scores.size(-1), dtype=scores.dtype)

    return [replace(steps, join=join), replace(steps, mask=mask)]
