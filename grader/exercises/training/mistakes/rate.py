"""Mistakes of the learning rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from grader.api import Collection
from grader.exercises.training.reference import Steps

mistake: Collection[Steps] = Collection(("noam",))
MISTAKES = mistake.mistakes
FORMULA = "rate = d_model^-0.5 min(step^-0.5, step warmup^-1.5)"
PAPER = "Attention Is All You Need, section 5.3"
Rate = Callable[[float, float, float], float]


def rates(steps: Steps, *formulas: Rate) -> list[Steps]:
    """A variant for each formula of (step, d_model, warmup)."""
    return [replace(steps, rate=formula) for formula in formulas]


@mistake(
    "step-off-by-one",
    "The step is off by one: steps start at 1. Step 0 gives a rate of 0 or a division by zero.",
    formula=FORMULA,
    hint="What is the rate of the very first step?",
    source="tugstugi/pytorch-saltnet#7; EleutherAI/gpt-neox#1379",
)
def step_off_by_one(steps: Steps) -> list[Steps]:
    return rates(
        steps,
        lambda step, d, w: steps.rate(step - 1, d, w),
        lambda step, d, w: steps.rate(step + 1, d, w),
        lambda step, d, w: steps.rate(max(step - 1, 1), d, w),
        lambda step, d, w: steps.rate(step - 1, d, w) if step > 1 else 0.0,
    )


@mistake(
    "max-in-place-of-min",
    "max is used instead of min: the rate starts high, falls, and then rises without bound.",
    formula=FORMULA,
    hint="Print the rate of steps 1, warmup and 10 * warmup.",
    source="huggingface/transformers#34754 (warmup inverted)",
)
def max_in_place_of_min(steps: Steps) -> list[Steps]:
    return rates(steps, lambda step, d, w: d**-0.5 * max(step**-0.5, step * w**-1.5))


@mistake(
    "width-factor-wrong",
    "The factor for d_model is wrong: it must be 1 / sqrt(d_model), so that wider models get a lower rate.",
    formula=FORMULA,
    hint="What is the rate for d_model=1, and for d_model=4?",
    source=PAPER,
)
def width_factor_wrong(steps: Steps) -> list[Steps]:
    return rates(
        steps,
        lambda step, _d, w: steps.rate(step, 1, w),
        lambda step, d, w: steps.rate(step, 1 / d, w),
        lambda step, d, w: steps.rate(step, d * d, w),
        lambda step, d, w: steps.rate(step, d**4, w),
    )


@mistake(
    "warm-up-missing",
    "There is no warm-up: the rate falls from the first step on. It must grow linearly up to step `warmup`.",
    formula=FORMULA,
    hint="Is the rate of step 2 higher or lower than that of step 1?",
    source=PAPER,
)
def warm_up_missing(steps: Steps) -> list[Steps]:
    return rates(steps, lambda step, d, _w: d**-0.5 * step**-0.5)


@mistake(
    "warm-up-slope-wrong",
    "The warm-up has the wrong slope: with warmup^-1.5, warm-up and decay are equal at step `warmup`.",
    formula=FORMULA,
    hint="At step = warmup both arguments of min are equal. Are yours?",
    source=PAPER,
)
def warm_up_slope_wrong(steps: Steps) -> list[Steps]:
    def slope(power: float) -> Rate:
        return lambda step, d, w: d**-0.5 * min(step**-0.5, step * w**power)

    return rates(steps, *(slope(power) for power in (-1.0, -0.5, -2.0)))


@mistake(
    "decay-wrong",
    "After the warm-up the rate must fall with the inverse square root of the step; it does not.",
    formula=FORMULA,
    hint="The rate at step 4 * warmup should be half of that at step warmup. What is yours?",
    source=PAPER,
)
def decay_wrong(steps: Steps) -> list[Steps]:
    return rates(
        steps,
        lambda step, d, w: d**-0.5 * min(w**-0.5, step * w**-1.5),
        lambda step, d, w: d**-0.5 * min(step**-1.0, step * w**-1.5),
        lambda step, d, w: d**-0.5 * min(step**0.5, step * w**-1.5),
        lambda step, d, w: d**-0.5 * step * w**-1.5,
        lambda step, d, w: d**-0.5 * min(w / step * w**-0.5, step * w**-1.5),
    )


@mistake(
    "sizes-swapped",
    "d_model and warmup are swapped.",
    formula=FORMULA,
    hint="In which order are the arguments?",
)
def sizes_swapped(steps: Steps) -> list[Steps]:
    return rates(steps, lambda step, d, w: steps.rate(step, w, d))


@mistake(
    "rate-not-a-float",
    "The rate is returned as a tensor with a dimension, in a list or as text; return one number.",
    hint="Use math.sqrt or **; no torch is needed.",
)
def rate_not_a_float(steps: Steps) -> list[Steps]:
    forms: tuple[Callable[[float], Any], ...] = (
        lambda rate: torch.tensor([rate]),
        lambda rate: torch.tensor([rate], dtype=torch.float64),
        lambda rate: [rate],
        str,
    )

    def returning(form: Callable[[float], Any]) -> Steps:
        return replace(steps, rate=lambda step, d, w: form(steps.rate(step, d, w)))

    return [returning(form) for form in forms]
