"""Mistakes with tensors on a fixed device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.encoder_and_decoder.mistakes.collection import EVERYWHERE, mistake
from grader.exercises.encoder_and_decoder.reference import Call, Steps


@mistake.fixed_device(parts=EVERYWHERE)
def device_hard_coded(steps: Steps) -> list[Steps]:
    def by_hand(call: Call, name: str, x: Tensor) -> Tensor:
        if not call.training or not call.dropout:
            return steps.drop(call, name, x)
        return x * (torch.rand(x.shape) >= call.dropout) / (1 - call.dropout)

    def finish(call: Call, x: Tensor, out: Tensor) -> Any:
        return steps.finish(call, x, out + torch.zeros(out.size(-1), dtype=out.dtype))

    def ending(norm: Callable[[Tensor], Tensor] | None, x: Tensor, out: Tensor) -> Any:
        return steps.ending(norm, x, out * torch.ones(out.size(-1), dtype=out.dtype))

    return [replace(steps, drop=by_hand), replace(steps, finish=finish), replace(steps, ending=ending)]
