"""Mistakes with tensors on a fixed device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.norm.mistakes.collection import mistake
from grader.exercises.norm.reference import Call, Steps


@mistake.fixed_device()
def device_hard_coded(steps: Steps) -> list[Steps]:
    def finish(x: Tensor, out: Tensor) -> Any:
        return steps.finish(x, out + torch.zeros(out.size(-1), dtype=out.dtype))

    def drop(call: Call, x: Tensor) -> Tensor:
        return steps.drop(call, x) * torch.ones(x.size(-1), dtype=x.dtype)

    return [replace(steps, finish=finish), replace(steps, drop=drop)]
