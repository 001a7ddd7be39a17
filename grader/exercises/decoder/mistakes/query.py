"""Mistakes in the query of cross-attention, and in the sum around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.decoder.mistakes.collection import LAYER, mistake
from grader.exercises.encoder_and_decoder.mistakes.collection import BOTH, POST
from grader.exercises.encoder_and_decoder.reference import Call, Place, Steps

FROM_MLX = "ml-explore/mlx#3382"


def _ask(s: Steps, call: Call, query: Tensor) -> Tensor:
    return s.drop(call, "cross", s.run(call, "cross", query))


def _crossing(steps: Steps, *, pre: Place | None = None, post: Place | None = None) -> Steps:
    """With another way around cross-attention alone."""

    def only(place: Place, usual: Place) -> Place:
        return lambda s, call, i, name, x, given: (place if name == "cross" else usual)(
            s, call, i, name, x, given
        )

    changed = replace(steps, pre=only(pre, steps.pre)) if pre is not None else steps
    return replace(changed, post=only(post, steps.post)) if post is not None else changed


@mistake(
    "query-from-layer-input",
    "The query of cross-attention is the layer's input; it must be the result of the self-attention "
    "sublayer, after its residual sum and norm.",
    formula=BOTH,
    hint="Which x is the first argument of cross_attention?",
    source=FROM_MLX,
    parts=LAYER,
)
def query_from_layer_input(steps: Steps) -> list[Steps]:
    def pre(s: Steps, call: Call, i: int, _name: str, x: Tensor, given: Tensor) -> Tensor:
        return x + _ask(s, call, s.norm(call, i, given))

    def before(s: Steps, call: Call, _i: int, _name: str, x: Tensor, given: Tensor) -> Tensor:
        return x + _ask(s, call, s.norm(call, 0, given))

    def bare(s: Steps, call: Call, _i: int, _name: str, x: Tensor, given: Tensor) -> Tensor:
        return x + _ask(s, call, given)

    def post(s: Steps, call: Call, i: int, _name: str, x: Tensor, given: Tensor) -> Tensor:
        return s.norm(call, i, x + _ask(s, call, given))

    pairs: list[tuple[Place | None, Place | None]] = [
        (pre, post), (before, post), (bare, post), (pre, None), (before, None), (bare, None), (None, post),
    ]  # fmt: skip
    return [_crossing(steps, pre=one, post=other) for one, other in pairs]


def _two(steps: Steps, query: Callable[[Tensor, Tensor], Tensor], *, pre: bool, post: bool) -> Steps:
    """Cross-attention asks with `query` of self-attention's output and the sum with it, before any norm.

    The two go from sublayer to sublayer side by side.
    """

    def first(s: Steps, call: Call, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        out = s.drop(call, "self", s.run(call, "self", h))
        return out, x + out

    def pre_place(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
        if name == "self":
            out, total = first(s, call, x, s.norm(call, i, x))
            return torch.stack([query(out, total), total])
        if name == "cross":
            asking, x = x
            return x + _ask(s, call, asking)
        return steps.pre(s, call, i, name, x, given)

    def post_place(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
        if name == "self":
            out, total = first(s, call, x, x)
            return torch.stack([query(out, total), s.norm(call, i, total)])
        if name == "cross":
            asking, x = x
            return s.norm(call, i, x + _ask(s, call, asking))
        return steps.post(s, call, i, name, x, given)

    changed = replace(steps, pre=pre_place) if pre else steps
    return replace(changed, post=post_place) if post else changed


@mistake(
    "query-before-add-and-norm",
    "The query of cross-attention is the output of self-attention before the residual sum, or before the "
    "norm.",
    formula=f"{POST}: one line after the other",
    hint="What is between self-attention and cross-attention in figure 1 of the paper?",
    source=FROM_MLX,
    parts=LAYER,
)
def query_before_add_and_norm(steps: Steps) -> list[Steps]:
    return [
        _two(steps, lambda out, _total: out, pre=True, post=True),
        _two(steps, lambda out, _total: out, pre=False, post=True),
        _two(steps, lambda out, _total: out, pre=True, post=False),
        _two(steps, lambda _out, total: total, pre=False, post=True),
    ]


@mistake(
    "query-not-normed",
    "In pre-norm, the query of cross-attention is x itself; it must be norm(x).",
    formula="pre: x = x + drop(cross_attention(norm(x), memory, memory, src_mask))",
    hint="Every sublayer of a pre-norm layer normalizes its input. Which one does not?",
    parts=LAYER,
)
def query_not_normed(steps: Steps) -> Steps:
    return _crossing(steps, pre=lambda s, call, _i, _name, x, _given: x + _ask(s, call, x))


@mistake(
    "residual-from-memory",
    "memory is added to the output of cross-attention; the residual sum must add the decoder's x.",
    formula=BOTH,
    hint="What does the formula add to the output of cross-attention? How long is memory, and how long is x?",
    parts=LAYER,
)
def residual_from_memory(steps: Steps) -> Steps:
    def memory(call: Call) -> Tensor:
        assert call.memory is not None
        return call.memory

    return _crossing(
        steps,
        pre=lambda s, call, i, _name, x, _g: memory(call) + _ask(s, call, s.norm(call, i, x)),
        post=lambda s, call, i, _name, x, _g: s.norm(call, i, memory(call) + _ask(s, call, x)),
    )


@mistake(
    "residual-from-before-cross",
    "The residual sum of the feed-forward network adds x from before cross-attention, so the result of "
    "cross-attention is lost after it.",
    formula=BOTH,
    hint="Store each sum in one variable, x, and use no older one.",
    source="strutive07/transformer-tensorflow2.0#14; OpenNMT/OpenNMT-py#1689",
    parts=LAYER,
)
def residual_from_before_cross(steps: Steps) -> Steps:
    def place(usual: Place, normed_last: bool) -> Place:
        def placed(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
            if name == "cross":
                return torch.stack([x, usual(s, call, i, name, x, given)])
            if name != "feed":
                return usual(s, call, i, name, x, given)
            older, x = x
            if normed_last:
                return s.norm(call, i, older + s.drop(call, name, s.run(call, name, x)))
            branch: Tensor = s.drop(call, name, s.run(call, name, s.norm(call, i, x)))
            total: Tensor = older + branch
            return total

        return placed

    return replace(steps, pre=place(steps.pre, False), post=place(steps.post, True))
