"""Mistakes with tensors on a fixed device."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.loss.mistakes.collection import mistake
from grader.exercises.loss.reference import Call, Steps


@mistake.fixed_device(parts=("sequence_loss",))
def device_hard_coded(steps: Steps) -> Steps:
    def logs(call: Call, logits: Tensor) -> Tensor:
        return steps.logs(call, logits + torch.zeros(logits.size(-1), dtype=logits.dtype))

    return replace(steps, logs=logs)
