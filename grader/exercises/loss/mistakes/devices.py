"""Tensors on a fixed device."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.api import FIXED_DEVICE
from grader.exercises.loss.mistakes.collection import mistake
from grader.exercises.loss.reference import Call, Steps


@mistake(
    FIXED_DEVICE.id,
    FIXED_DEVICE.text,
    hint=FIXED_DEVICE.hint,
    source=FIXED_DEVICE.source,
    parts=("sequence_loss",),
)
def device_hard_coded(steps: Steps) -> Steps:
    def logs(call: Call, logits: Tensor) -> Tensor:
        return steps.logs(call, logits + torch.zeros(logits.size(-1), dtype=logits.dtype))

    return replace(steps, logs=logs)
