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
    "Hidden scores are set to 0, or to a tiny number such as 1e-9 where -1e9 was meant (filled, or multiplied by the "
    "mask), before the softmax. exp(0) is 1, so the hidden keys keep weight; only -inf takes it all away.",
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
    "Hidden scores get +inf or a huge positive number: the hidden keys take all the weight. The minus sign is missing.",
    formula=FILL,
    hint="Mind the sign.",
)
def masked_score_huge(steps: Steps) -> list[Steps]:
    return [*bool_and_both(steps, filled(1e9)), *bool_and_both(steps, filled(math.inf))]


@mistake(
    "mask-added-as-number",
    "The bool mask is added to the scores as the numbers 0 and 1: that raises the visible scores by 1 and hides "
    "nothing.",
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
    "The number used for hidden scores is not negative enough: where the visible scores are low, the hidden "
    "keys still get weight. A model can learn to drive its scores below it, and then sees what it must not "
    "see.",
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
    "The mask is applied after the softmax: the hidden weights are set to 0, but the others are not scaled "
    "up again, so "
    "a row sums to less than 1.",
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
    "The mask is applied to the values (a hidden key's value is set to 0), not to the scores: the hidden keys still "
    "take their share of the weight.",
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
    "The scores are multiplied by the additive mask: 0 * -inf and score * 0 are not what hides a key; it "
    "has to be added.",
    formula="scores + mask",
    hint="Which operation joins scores and an additive mask?",
)
def mask_multiplied_with_infinity(steps: Steps) -> Steps:
    return only("additive", steps, lambda call, s: s * _mask(call))


@mistake(
    "infinity-times-mask",
    "-inf is multiplied by the mask: 0 * -inf is NaN, so every key that should be left alone spoils its row.",
    formula=FILL,
    hint="Use masked_fill or torch.where; no product with -inf.",
)
def infinity_times_mask(steps: Steps) -> list[Steps]:
    return [
        only("bool", steps, lambda call, s: s + (~_mask(call)).to(s.dtype) * -math.inf),
        only("bool", steps, lambda call, s: s + _mask(call).to(s.dtype) * -math.inf),
    ]


@mistake(
    "fully-masked-row-nan",
    "A query that may attend to nothing gives NaN: the softmax of a row of only -inf is 0/0. One such row (a padded "
    "sentence) makes the loss, and then every weight of the model, NaN.",
    formula=FINITE,
    hint="What should the output be for a row without keys to attend to? Zeros will do.",
    source="pytorch/pytorch#103963",
)
def fully_masked_row_nan(steps: Steps) -> list[Steps]:
    """Whichever kind of mask makes the empty row; some code guards against one kind only."""

    def bare(_call: Call, scores: Tensor) -> Tensor:
        return scores.softmax(-1)

    def bare_for_additive(call: Call, scores: Tensor) -> Tensor:
        additive = call.mask is not None and call.mask.dtype != torch.bool
        return bare(call, scores) if additive else steps.normalise(call, scores)

    return [replace(steps, normalise=bare), replace(steps, normalise=bare_for_additive)]


@mistake(
    "fully-masked-gradient-nan",
    "A query that may attend to nothing gives finite output but a NaN gradient: cleaning up after the softmax "
    "(nan_to_num, torch.where) comes too late, because the backward pass still goes through 0/0.",
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
