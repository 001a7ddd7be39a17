"""Mistakes in how a mask acts on the scores: what it fills in, when, and what an empty row gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.attention.mistakes.collection import mistake
from grader.exercises.attention.mistakes.masks import _mask, as_bool, only
from grader.exercises.attention.reference import Call, Steps

FILL = "scores.masked_fill(~mask, -inf)"
FINITE = "softmax(max(scores, the lowest finite number))"  # of a row of only -inf, too


def filled(value: float) -> Callable[[Call, Tensor], Tensor]:
    """Hidden scores get this value."""
    return lambda call, s: s.masked_fill(~as_bool(_mask(call)), value)


def always(steps: Steps, way: Callable[[Call, Tensor], Tensor]) -> Steps:
    """`way` replaces the mask step whenever there is a mask."""
    return replace(steps, mask=lambda call, s: s if call.mask is None else way(call, s))


def bool_and_both(steps: Steps, way: Callable[[Call, Tensor], Tensor]) -> list[Steps]:
    """The two ways such a line is met: for bool masks alone, and for both kinds."""
    return [only("bool", steps, way), always(steps, way)]


@mistake(
    "masked-score-zero",
    "Masked scores are set to 0 before the softmax, or to a tiny number such as 1e-9 where -1e9 was meant. "
    "exp(0) is 1, so masked keys keep weight; with -inf they get none.",
    formula=FILL,
    hint="What is exp(0)? What is exp(-inf)?",
    source="ai.stackexchange 41367; karpathy/minGPT#10",
)
def masked_score_zero(steps: Steps) -> list[Steps]:
    return [
        *bool_and_both(steps, filled(0.0)),
        always(steps, lambda call, s: s * _mask(call)),
    ]


@mistake(
    "masked-score-huge",
    "Masked scores are set to +inf or a large positive number, so the masked keys get all the weight. The "
    "minus sign is missing.",
    formula=FILL,
    hint="Check the sign.",
)
def masked_score_huge(steps: Steps) -> list[Steps]:
    return [*bool_and_both(steps, filled(1e9)), *bool_and_both(steps, filled(math.inf))]


@mistake(
    "mask-added-as-number",
    "The bool mask is added to the scores as the numbers 0 and 1: that raises the allowed scores by 1 and "
    "masks nothing.",
    formula=FILL,
    hint="Only a mask of 0 and -inf can be added.",
    source="pytorch/pytorch#29546",
)
def mask_added_as_number(steps: Steps) -> list[Steps]:
    return [
        only("bool", steps, lambda call, s: s + _mask(call).to(s.dtype)),
        only("bool", steps, lambda call, s: s + (~_mask(call)).to(s.dtype)),
    ]


@mistake(
    "mask-fill-too-weak",
    "The number used for masked scores is not low enough: where the other scores are low, masked keys "
    "still get weight. A model can learn such scores, and then uses what it must not see.",
    formula=FILL,
    hint="Use -inf, or the smallest number of the dtype.",
    source="karpathy/minGPT#75; huggingface/transformers#17121",
)
def mask_fill_too_weak(steps: Steps) -> list[Steps]:
    def added(value: float) -> Callable[[Call, Tensor], Tensor]:
        return lambda call, s: s + (~as_bool(_mask(call))).to(s.dtype) * value

    weak = (-1e4, -1e5, -1e6, -1e3, -100.0, -50.0, -20.0, -10.0)
    # To add -1 to what is hidden is to add 1 to the rest, which has a name of its own.
    ways = [filled(-1.0), *(way for value in weak for way in (filled(value), added(value)))]
    return [variant for way in ways for variant in bool_and_both(steps, way)]


@mistake(
    "mask-after-softmax",
    "The mask is applied after the softmax: masked weights are set to 0, but the others are not normalized "
    "again, so a row sums to less than 1.",
    formula="softmax(scores + mask)",
    hint="Apply the mask to the scores, before the softmax.",
    source="ai.stackexchange 41367",
)
def mask_after_softmax(steps: Steps) -> list[Steps]:
    def zeroed(call: Call, weights: Tensor) -> Tensor:
        return weights if call.mask is None else weights * as_bool(call.mask)

    def zeroed_bool(call: Call, weights: Tensor) -> Tensor:
        return zeroed(call, weights) if call.mask is not None and call.mask.dtype == torch.bool else weights

    everything = replace(steps, mask=lambda _call, s: s, reweigh=zeroed)
    bool_only = replace(only("bool", steps, lambda _call, s: s), reweigh=zeroed_bool)
    return [everything, bool_only]


@mistake(
    "mask-hides-values-only",
    "The mask is applied to the values (a masked key's value is set to 0), not to the scores, so masked "
    "keys still take their share of the weight.",
    formula="softmax(scores + mask) V",
    hint="Where in the formula is the mask applied?",
)
def mask_hides_values_only(steps: Steps) -> Steps:
    def zeroed(call: Call, weights: Tensor) -> Tensor:
        return weights if call.mask is None else weights * as_bool(call.mask)

    return replace(
        steps,
        mask=lambda _call, scores: scores,
        mix=lambda call, w, v: steps.mix(call, zeroed(call, w), v),
    )


@mistake(
    "mask-added-after-softmax",
    "The mask is added, or filled in as -inf, after the softmax: the weights become -inf or NaN.",
    formula="softmax(scores + mask)",
    hint="Apply the mask to the scores, before the softmax.",
)
def mask_added_after_softmax(steps: Steps) -> list[Steps]:
    def late(call: Call, weights: Tensor) -> Tensor:
        return steps.mask(call, weights)

    return [replace(steps, mask=lambda _call, s: s, reweigh=late)]


@mistake(
    "mask-multiplied-with-infinity",
    "The scores are multiplied by the additive mask; it must be added. A product gives 0 for allowed keys, "
    "and NaN where 0 meets -inf.",
    formula="scores + mask",
    hint="How are scores and an additive mask combined?",
)
def mask_multiplied_with_infinity(steps: Steps) -> Steps:
    return only("additive", steps, lambda call, s: s * _mask(call))


@mistake(
    "infinity-times-mask",
    "-inf is multiplied by the mask: 0 * -inf is NaN, so every allowed key gives NaN.",
    formula=FILL,
    hint="Use masked_fill or torch.where instead of a product with -inf.",
)
def infinity_times_mask(steps: Steps) -> list[Steps]:
    return [
        only("bool", steps, lambda call, s: s + (~_mask(call)).to(s.dtype) * -math.inf),
        only("bool", steps, lambda call, s: s + _mask(call).to(s.dtype) * -math.inf),
    ]


@mistake(
    "fully-masked-row-nan",
    "A query without any allowed key gives NaN: the softmax of a row of -inf is 0/0. One such row (a "
    "padded sentence) makes the loss NaN, and after one step every weight of the model.",
    formula=FINITE,
    hint="What should the output be for a row without allowed keys? Zeros are fine.",
    source="pytorch/pytorch#103963",
)
def fully_masked_row_nan(steps: Steps) -> list[Steps]:
    """Whichever kind of mask makes the empty row; some code guards against one kind only."""

    def bare(_call: Call, scores: Tensor) -> Tensor:
        return scores.softmax(-1)

    def bare_for_additive(call: Call, scores: Tensor) -> Tensor:
        additive = call.mask is not None and call.mask.dtype != torch.bool
        return bare(call, scores) if additive else steps.normalise(call, scores)

    return [
        replace(steps, normalise=bare),
        replace(steps, normalise=bare_for_additive),
        replace(always(steps, filled(-math.inf)), normalise=bare),  # where a gradient of NaN stops
    ]


@mistake(
    "fully-masked-gradient-nan",
    "A query without any allowed key gives finite output but a NaN gradient. Replacing NaN after the "
    "softmax (nan_to_num, torch.where) is too late, because the backward pass still goes through 0/0.",
    formula=FINITE,
    hint="Make sure that the softmax never gets a row of only -inf.",
    source="pytorch/pytorch#103963",
)
def fully_masked_gradient_nan(steps: Steps) -> list[Steps]:
    def cleaned(_call: Call, scores: Tensor) -> Tensor:
        return scores.softmax(-1).nan_to_num(0.0)

    def chosen(_call: Call, scores: Tensor) -> Tensor:
        nowhere = (scores == -math.inf).all(-1, keepdim=True)
        return torch.where(nowhere, torch.zeros_like(scores), scores.softmax(-1))

    def softmax(_call: Call, scores: Tensor) -> Tensor:
        return scores.softmax(-1)

    def both(_call: Call, output: Tensor, weights: Tensor) -> Any:
        return output, weights.nan_to_num(0.0)

    def late(_call: Call, x: Tensor) -> Tensor:
        return x.nan_to_num(0.0)

    return [
        replace(steps, normalise=cleaned),
        replace(steps, normalise=chosen),
        replace(steps, normalise=softmax, after_mix=late, give_function=both),
    ]
