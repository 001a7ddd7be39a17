"""Mistakes in the additive form."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.masks.mistakes.collection import ADDITIVE, in_additive, mistake
from grader.exercises.masks.reference import Steps


def with_additive(steps: Steps, make: Callable[[Tensor, torch.dtype], Tensor]) -> Steps:
    """An additive mask made in another way."""
    return replace(steps, additive=make)


def filled(where_true: float, where_false: float | None) -> Callable[[Tensor, torch.dtype], Tensor]:
    """These two numbers; None is the lowest number of the dtype."""

    def make(mask: Tensor, dtype: torch.dtype) -> Tensor:
        low = torch.finfo(dtype).min if where_false is None else where_false
        return torch.full(mask.shape, where_true, dtype=dtype).masked_fill(~mask, low)

    return make


@mistake(
    "additive-inverted",
    "The additive mask is inverted: it is -inf where the mask is True.",
    formula=ADDITIVE,
    hint="masked_fill fills where its mask is True. Where must -inf be?",
    source="pytorch/pytorch#120668",
)
def additive_inverted(steps: Steps) -> Steps:
    return replace(steps, additive=lambda mask, dtype: steps.additive(~mask, dtype))


@mistake(
    "additive-zeros-and-ones",
    "The mask is only converted to the numbers 0 and 1. Adding these to the scores masks nothing.",
    formula=ADDITIVE,
    hint="exp(score + 1) is not 0. What must be added so that the weight is 0?",
    source="pytorch/pytorch#29546",
)
def additive_zeros_and_ones(steps: Steps) -> list[Steps]:
    return [
        with_additive(steps, filled(1.0, 0.0)),
        with_additive(steps, filled(0.0, 1.0)),
        with_additive(steps, filled(0.0, -1.0)),
    ]


@mistake(
    "additive-large-negative",
    "A large negative number is used instead of -inf. A score may be even lower, and a small dtype may "
    "not represent the number; with -inf the weight is exactly 0.",
    formula=ADDITIVE,
    hint="float('-inf') is a valid number for masked_fill.",
    source="karpathy/minGPT#75, NVIDIA/apex#1052",
)
def additive_large_negative(steps: Steps) -> list[Steps]:
    lows: tuple[float | None, ...] = (-1e9, None, -1e4, -1e10, -1e20, -1e30, -1e5, -1e6, -1e3, -100.0)
    return [with_additive(steps, filled(0.0, low)) for low in lows]


@mistake(
    "additive-tiny-number",
    "A tiny number (1e-9) is used instead of -inf: the minus sign is in the wrong place. Adding it changes "
    "nothing.",
    formula=ADDITIVE,
    hint="Did you write -1e9 or 1e-9? Does the exercise ask for either?",
    source="karpathy/minGPT#10",
)
def additive_tiny_number(steps: Steps) -> list[Steps]:
    """All of them are 0 up to rounding, and so is a mask that is nothing but zeros."""
    return [with_additive(steps, filled(0.0, low)) for low in (1e-9, -1e-9, 0.0)]


@mistake(
    "additive-plus-infinity",
    "+inf is used instead of -inf, so masked keys would get all the weight.",
    formula=ADDITIVE,
    hint="Check the sign.",
)
def additive_plus_infinity(steps: Steps) -> Steps:
    return with_additive(steps, filled(0.0, math.inf))


@mistake(
    "additive-one-for-allowed",
    "1 is used instead of 0 for allowed keys. The mask is added to the scores, so it must not change them: "
    "0.",
    formula=ADDITIVE,
    hint="Which number, when added, changes nothing?",
)
def additive_one_for_allowed(steps: Steps) -> Steps:
    return with_additive(steps, filled(1.0, -math.inf))


@mistake(
    "additive-nan",
    "The mask is multiplied by -inf, which gives NaN: 0 times infinity is not a number.",
    formula=ADDITIVE,
    hint="Use masked_fill or torch.where; do not multiply.",
    source="IEEE 754: 0 * inf is NaN",
)
def additive_nan(steps: Steps) -> list[Steps]:
    return [
        with_additive(steps, lambda mask, dtype: (~mask).to(dtype) * -math.inf),
        with_additive(steps, lambda mask, dtype: mask.to(dtype) * -math.inf),
    ]


@mistake(
    "additive-dtype-ignored",
    "The argument `dtype` is not used: the result is always float32. A mask is added to scores, so it "
    "needs their dtype.",
    formula="to_additive(mask, dtype) has that dtype",
    hint="Is `dtype` used anywhere in the function?",
    source="NVIDIA/apex#1105",
)
def additive_dtype_ignored(steps: Steps) -> list[Steps]:
    return [
        replace(steps, additive=lambda mask, _dtype: steps.additive(mask, torch.float32)),
        replace(steps, additive=lambda mask, _dtype: steps.additive(mask, torch.float64)),
    ]


@mistake(
    "additive-sentences-mixed-up",
    "The mask of the first sentence (or head) is used for all.",
    formula="to_additive keeps the shape of the mask",
    hint="Compare input and output: the shape, and each sentence.",
)
def additive_sentences_mixed_up(steps: Steps) -> list[Steps]:
    return [in_additive(steps, lambda m: m[:1].expand_as(m)), in_additive(steps, lambda m: m[:1])]
