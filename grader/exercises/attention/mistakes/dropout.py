"""Mistakes with dropout: where it falls, when, and how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import dropout

from grader.exercises.attention.mistakes.collection import CLASS, FUNCTION, mistake
from grader.exercises.attention.reference import Call, Steps, unchanged

WHERE = "dropout(softmax(Q K^T / sqrt(d_k))) V"


def fall(call: Call, x: Tensor) -> Tensor:
    return dropout(x, call.dropout, call.training)


@mistake(
    "dropout-never",
    "Dropout is never applied: in training mode the attention weights must be dropped with probability `dropout`.",
    formula=WHERE,
    hint="Is the `dropout` argument used in forward?",
    parts=CLASS,
)
def dropout_never(steps: Steps) -> Steps:
    return replace(steps, drop=unchanged)


@mistake(
    "dropout-in-eval",
    "Dropout is active in evaluation mode too: the same input gives a different result every time. A "
    "Dropout layer made "
    "in __init__ follows train() and eval(); F.dropout needs training=self.training.",
    formula=WHERE,
    hint="How does your dropout know that the model is in eval mode?",
    source="karpathy/nanoGPT#240; pytorch/pytorch#124464",
    parts=CLASS,
)
def dropout_in_eval(steps: Steps) -> list[Steps]:
    def ever(call: Call, x: Tensor) -> Tensor:
        return dropout(x, call.dropout, True)

    return [
        replace(steps, drop=ever),
        replace(steps, drop=unchanged, finish=ever),
        replace(steps, drop=unchanged, scale=lambda c, s, q, k: ever(c, steps.scale(c, s, q, k))),
    ]


@mistake(
    "dropout-before-softmax",
    "Dropout falls on the scores, before the softmax: a dropped score becomes 0, which is a score like any other, and "
    "no key is ever dropped. It has to fall on the weights.",
    formula=WHERE,
    hint="After the softmax, before the values.",
    parts=CLASS,
)
def dropout_before_softmax(steps: Steps) -> list[Steps]:
    return [
        replace(steps, drop=unchanged, scale=lambda c, s, q, k: fall(c, steps.scale(c, s, q, k))),
        replace(steps, drop=unchanged, mask=lambda c, s: fall(c, steps.mask(c, s))),
    ]


@mistake(
    "dropout-on-output",
    "Dropout falls on the output (or on the merged heads), not on the attention weights: single numbers vanish, where "
    "whole keys should.",
    formula=WHERE,
    hint="After the softmax, before the values.",
    parts=CLASS,
)
def dropout_on_output(steps: Steps) -> list[Steps]:
    nowhere = replace(steps, drop=unchanged)
    return [
        replace(nowhere, finish=fall),
        replace(nowhere, after_mix=fall),
        replace(nowhere, merge=lambda call, x: fall(call, steps.merge(call, x))),
        replace(steps, finish=fall),
    ]


@mistake(
    "dropout-on-inputs",
    "Dropout falls on the projected query, key or value, not on the attention weights.",
    formula=WHERE,
    hint="After the softmax, before the values.",
    parts=CLASS,
)
def dropout_on_inputs(steps: Steps) -> list[Steps]:
    nowhere = replace(steps, drop=unchanged)
    return [
        replace(nowhere, project=lambda call, role: fall(call, steps.project(call, role))),
        replace(nowhere, split=_drop_value(steps)),
    ]


def _drop_value(steps: Steps) -> Callable[[Call, str, Tensor], Tensor]:
    def split(call: Call, role: str, x: Tensor) -> Tensor:
        return steps.split(call, role, fall(call, x) if role == "v" else x)

    return split


@mistake(
    "dropout-probability-inverted",
    "`dropout` is taken as the probability to KEEP a weight: it is the probability to drop it.",
    formula=WHERE,
    hint="What should dropout=0.1 drop: a tenth, or nine tenths?",
    parts=CLASS,
)
def dropout_probability_inverted(steps: Steps) -> Steps:
    def inverted(call: Call, w: Tensor) -> Tensor:
        return dropout(w, 1 - call.dropout, call.training)

    return replace(steps, drop=inverted)


@mistake(
    "dropout-unscaled",
    "The weights that survive dropout are not scaled by 1/(1-p): in training the output is smaller on average than in "
    "evaluation.",
    formula="kept weights / (1 - p)",
    hint="nn.Dropout does it for you.",
    parts=CLASS,
)
def dropout_unscaled(steps: Steps) -> Steps:
    def bare(call: Call, w: Tensor) -> Tensor:
        if not call.training:
            return w
        return w * (torch.rand_like(w) >= call.dropout)

    return replace(steps, drop=bare)


@mistake(
    "dropout-renormalised",
    "After dropout the weights are normalised again (or the dropped keys are hidden before the softmax), so "
    "a row sums to 1 in training: the remaining weights are only scaled by 1/(1-p).",
    formula=WHERE,
    hint="There is no step between dropout and the product with the values.",
    parts=CLASS,
)
def dropout_renormalised(steps: Steps) -> Steps:
    def again(call: Call, w: Tensor) -> Tensor:
        dropped = fall(call, w)
        return dropped / dropped.sum(-1, keepdim=True).clamp(min=1e-9)

    return replace(steps, drop=again)


@mistake(
    "dropout-whole-heads",
    "Dropout removes whole rows, keys or heads at once: it has to decide for every single weight.",
    formula=WHERE,
    hint="Which shape does the dropout mask have?",
    parts=CLASS,
)
def dropout_whole_heads(steps: Steps) -> list[Steps]:
    def shared(dims: tuple[int, ...]) -> Steps:
        def together(call: Call, w: Tensor) -> Tensor:
            shape = [1 if dim - w.dim() in dims else size for dim, size in enumerate(w.shape)]
            return w * fall(call, w.new_ones(shape))

        return replace(steps, drop=together)

    return [shared((-1,)), shared((-1, -2)), shared((-2,)), shared((-3,))]


@mistake(
    "function-drops",
    "The plain function drops weights at random: it has no dropout argument and must give the same result every time. "
    "Dropout belongs to the class.",
    formula="softmax(Q K^T / sqrt(d_k)) V",
    hint="F.dropout is active by default; a plain function does not know about eval mode.",
    source="karpathy/nanoGPT#240",
    parts=FUNCTION,
)
def function_drops(steps: Steps) -> list[Steps]:
    return [
        replace(steps, drop=lambda _call, w: dropout(w, 0.5, True)),
        replace(steps, drop=lambda _call, w: dropout(w, 0.1, True)),
    ]
