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
    "Dropout is never applied. In training mode the attention weights must be dropped with probability "
    "`dropout`.",
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
    "Dropout is applied to the scores, before the softmax. A dropped score becomes 0, which is a score "
    "like any other, so its key keeps some weight. Dropout must be applied to the weights.",
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
    "Dropout is applied to the output (or to the merged heads). It must be applied to the attention "
    "weights, so that in training a query does without some of its keys.",
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
    "Dropout is applied to the projected query, key or value; it must be applied to the attention weights.",
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
    "`dropout` is used as the probability to keep a weight; it is the probability to drop it.",
    formula=WHERE,
    hint="With dropout=0.1, how many of ten weights should be dropped?",
    parts=CLASS,
)
def dropout_probability_inverted(steps: Steps) -> Steps:
    def inverted(call: Call, w: Tensor) -> Tensor:
        return dropout(w, 1 - call.dropout, call.training)

    return replace(steps, drop=inverted)


@mistake(
    "dropout-unscaled",
    "The weights that dropout keeps are not scaled by 1/(1-p), so the output is smaller on average in "
    "training than in evaluation.",
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
    "After dropout the weights are normalized again (or keys are dropped before the softmax), so that a "
    "row sums to 1 in training. Dropout only scales the remaining weights by 1/(1-p).",
    formula=WHERE,
    hint="Nothing happens between dropout and the product with the values.",
    parts=CLASS,
)
def dropout_renormalised(steps: Steps) -> Steps:
    def again(call: Call, w: Tensor) -> Tensor:
        dropped = fall(call, w)
        return dropped / dropped.sum(-1, keepdim=True).clamp(min=1e-9)

    return replace(steps, drop=again)


@mistake(
    "dropout-whole-heads",
    "Dropout removes whole rows, keys or heads at once; each weight must be dropped independently.",
    formula=WHERE,
    hint="What shape does the dropout mask have?",
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
    "The function applies dropout to the weights. It has no dropout argument and must return the same "
    "result every time; dropout belongs in the class.",
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
