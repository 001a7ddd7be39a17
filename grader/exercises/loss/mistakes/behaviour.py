"""Mistakes in dtype, memory, gradients, and in what is given back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.loss.mistakes.collection import MEAN, mistake
from grader.exercises.loss.reference import Steps


def finished(steps: Steps, *ways: Callable[[Tensor, Tensor], Any]) -> list[Steps]:
    """Something else is done with the loss."""
    return [replace(steps, finish=way) for way in ways]


@mistake(
    "loss-without-gradient",
    "The loss has no gradient: it is a Python number, or detached from the logits. A model cannot learn "
    "from it.",
    formula=MEAN,
    hint="Look for item(), detach(), .data, torch.tensor(...) and torch.no_grad().",
)
def loss_without_gradient(steps: Steps) -> list[Steps]:
    return finished(steps, lambda _logits, loss: loss.item(), lambda _logits, loss: loss.detach())


@mistake(
    "loss-of-another-dtype",
    "The loss is float32 whatever the dtype of the logits.",
    formula="a scalar in the dtype of the logits",
    hint="What dtype does the result have for logits in float64, or in bfloat16?",
)
def loss_of_another_dtype(steps: Steps) -> list[Steps]:
    return finished(
        steps,
        lambda _logits, loss: loss.float(),
        lambda logits, loss: loss.to(torch.promote_types(logits.dtype, torch.float32)),
        lambda _logits, loss: loss.double(),
    )


@mistake(
    "needs-contiguous",
    "`view` fails on logits (or a target) that are not contiguous in memory, such as a transposed tensor. "
    "`reshape` and `flatten` copy where they must.",
    formula="logits may be non-contiguous in memory",
    hint="Try logits.transpose(0, 1), with the target transposed too.",
    source="PyTorch, torch.Tensor.view",
)
def needs_contiguous(steps: Steps) -> list[Steps]:
    def both(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return logits.view(-1, logits.size(-1)).view(logits.shape), target.view(-1).view(target.shape)

    def of_logits(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return logits.view(-1, logits.size(-1)).view(logits.shape), target

    def of_target(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return logits, target.view(-1).view(target.shape)

    return [replace(steps, align=way) for way in (both, of_logits, of_target)]


@mistake(
    "argument-changed-in-place",
    "The target (or the logits) is modified in place; the caller still uses it and gets wrong values.",
    hint="Assignments such as target[...] = -100 and methods that end in _ work in place. Make a copy first (clone).",
)
def argument_changed_in_place(steps: Steps) -> list[Steps]:
    def shift(target: Tensor, sos: int) -> Tensor:
        target.copy_(steps.shift(target.clone(), sos))
        return target

    def ids(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        before = target.clone()
        target.fill_(-100)
        return steps.align(logits, before)

    def numbers(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        before = logits.clone()
        logits.data.mul_(0.5)
        return steps.align(before, target)

    return [replace(steps, shift=shift), replace(steps, align=ids), replace(steps, align=numbers)]


@mistake(
    "nothing-returned",
    "The call returns None. Probably `return` is missing.",
    hint="Look at the last line.",
)
def nothing_returned(steps: Steps) -> list[Steps]:
    return [
        *finished(steps, lambda _logits, _loss: None),
        replace(steps, shift=lambda _target, _sos: None),
    ]
