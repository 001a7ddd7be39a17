"""Mistakes in which sublayers there are, and in their order."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from grader.exercises.decoder.mistakes.collection import LAYER, ORDER, PAPER, mistake
from grader.exercises.encoder_and_decoder.reference import Call, Place, Steps


@mistake(
    "cross-attention-before-self",
    "Cross-attention comes before self-attention; self-attention must come first.",
    formula=ORDER,
    hint="In which order does figure 1 of the paper show the sublayers?",
    source=PAPER,
    parts=LAYER,
)
def cross_attention_before_self(steps: Steps) -> list[Steps]:
    order = replace(steps, order=("cross", "self", "feed"))
    exchanged = replace(order, norm=lambda call, i, x: steps.norm(call, (1, 0, 2)[i], x))
    return [order, exchanged]


@mistake(
    "feed-forward-before-cross",
    "The feed-forward network comes before cross-attention; it must be the last sublayer.",
    formula=ORDER,
    hint="In which order does figure 1 of the paper show the sublayers?",
    source=PAPER,
    parts=LAYER,
)
def feed_forward_before_cross(steps: Steps) -> list[Steps]:
    order = replace(steps, order=("self", "feed", "cross"))
    exchanged = replace(order, norm=lambda call, i, x: steps.norm(call, (0, 2, 1)[i], x))
    return [order, exchanged]


@mistake(
    "cross-attention-missing",
    "Cross-attention, with its residual sum and norm, is missing: the decoder gets no information about the "
    "source.",
    formula=ORDER,
    hint="How many sublayers does a decoder layer have?",
    source=PAPER,
    parts=LAYER,
)
def cross_attention_missing(steps: Steps) -> list[Steps]:
    def skipping(usual: Place, *, asking: bool) -> Place:
        def placed(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
            if name != "cross":
                return usual(s, call, i, name, x, given)
            if asking:
                usual(s, call, i, name, x, given)
            return x

        return placed

    return [
        replace(steps, pre=skipping(steps.pre, asking=asking), post=skipping(steps.post, asking=asking))
        for asking in (False, True)
    ]


@mistake(
    "attentions-parallel",
    "Self-attention and cross-attention share one residual sum. They are two sublayers, each with its own "
    "sum, and the query of cross-attention is the result of the first.",
    formula=ORDER,
    hint="How many residual sums does a decoder layer have?",
    source=PAPER,
    parts=LAYER,
)
def attentions_parallel(steps: Steps) -> Steps:
    def once(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
        if name == "self":
            return x + s.drop(call, name, s.run(call, name, given))
        if name == "cross":
            return s.norm(call, i, x + s.drop(call, name, s.run(call, name, given)))
        return steps.post(s, call, i, name, x, given)

    return replace(steps, post=once)
