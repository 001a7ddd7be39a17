"""Mistakes in dropout: the layer's, and one that a stack should not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.exercises.encoder_and_decoder.mistakes.collection import BOTH, DROPOUT, LAYERS, STACKS, mistake
from grader.exercises.encoder_and_decoder.reference import Call, Steps


def _p(call: Call, x: Tensor) -> Tensor:
    return F.dropout(x, call.dropout, call.training)


@mistake(
    "dropout-missing",
    "Dropout is not applied to a sublayer's output in train mode, although `dropout` is not 0.",
    formula=BOTH,
    hint="How many sublayers have a drop( ) in the formula?",
    source=DROPOUT,
    parts=LAYERS,
)
def dropout_missing(steps: Steps) -> list[Steps]:
    def without(*names: str) -> Steps:
        return replace(steps, drop=lambda call, name, x: x if name in names else steps.drop(call, name, x))

    return [without(*steps.order), *(without(name) for name in steps.order)]


@mistake(
    "dropout-on-sum",
    "Dropout is applied to the sum, so that elements of x itself are lost; apply it to the sublayer's "
    "output, before x is added.",
    formula=BOTH,
    hint="What is dropped, f(x) or x + f(x)?",
    source=DROPOUT,
    parts=LAYERS,
)
def dropout_on_sum(steps: Steps) -> Steps:
    return replace(
        steps,
        pre=lambda s, call, i, name, x, _g: _p(call, x + s.run(call, name, s.norm(call, i, x))),
        post=lambda s, call, i, name, x, _g: s.norm(call, i, _p(call, x + s.run(call, name, x))),
    )


@mistake(
    "dropout-on-input",
    "Dropout is applied to a sublayer's input; apply it to its output.",
    formula=BOTH,
    hint="What is inside the parentheses of drop( )?",
    source=DROPOUT,
    parts=LAYERS,
)
def dropout_on_input(steps: Steps) -> Steps:
    return replace(
        steps,
        pre=lambda s, call, i, name, x, _g: x + s.run(call, name, _p(call, s.norm(call, i, x))),
        post=lambda s, call, i, name, x, _g: s.norm(call, i, x + s.run(call, name, _p(call, x))),
    )


@mistake(
    "dropout-on-result",
    "Dropout is applied to the result of a norm, or of the whole layer; apply it to each sublayer's "
    "output, before x is added.",
    formula=BOTH,
    hint="What is inside the parentheses of drop( )?",
    source=DROPOUT,
    parts=LAYERS,
)
def dropout_on_result(steps: Steps) -> list[Steps]:
    def each(s: Steps, call: Call, i: int, name: str, x: Tensor, _given: Tensor) -> Tensor:
        return _p(call, s.norm(call, i, x + s.run(call, name, x)))

    bare = replace(steps, drop=lambda _call, _name, x: x)
    return [
        replace(steps, post=each),
        replace(bare, finish=lambda call, x, out: _p(call, bare.finish(call, x, out))),
        replace(steps, finish=lambda call, x, out: _p(call, steps.finish(call, x, out))),
    ]


@mistake(
    "dropout-in-eval",
    "Dropout is active in eval mode too: F.dropout is called without training=self.training, or a dropout "
    "layer is created in forward, or is in a plain list or object, where eval() does not reach it.",
    hint="Call the module twice in eval mode: the results must be equal.",
    source="karpathy/nanoGPT#240",
    parts=LAYERS,
)
def dropout_in_eval(steps: Steps) -> Steps:
    return replace(steps, drop=lambda call, _name, x: F.dropout(x, call.dropout, True))


@mistake(
    "dropout-probability-inverted",
    "`dropout` is used as the probability to keep an element; it is the probability to drop it.",
    hint="With dropout=0.1, how many of ten elements are kept?",
    parts=LAYERS,
)
def dropout_probability_inverted(steps: Steps) -> Steps:
    def inverted(call: Call, _name: str, x: Tensor) -> Tensor:
        return F.dropout(x, 1 - call.dropout if call.dropout else 0.0, call.training)

    return replace(steps, drop=inverted)


@mistake(
    "dropout-not-scaled",
    "The elements that dropout keeps are not scaled by 1 / (1 - dropout).",
    hint="How does the mean stay the same with and without dropout?",
    source="Srivastava et al. 2014",
    parts=LAYERS,
)
def dropout_not_scaled(steps: Steps) -> Steps:
    def bare(call: Call, _name: str, x: Tensor) -> Tensor:
        return x * (torch.rand_like(x) >= call.dropout) if call.training else x

    return replace(steps, drop=bare)


@mistake(
    "dropout-hard-coded",
    "The layer uses a fixed dropout probability instead of the argument `dropout` (default 0).",
    hint="Is there a number in nn.Dropout( )?",
    parts=LAYERS,
)
def dropout_hard_coded(steps: Steps) -> list[Steps]:
    def fixed(p: float) -> Steps:
        return replace(steps, drop=lambda call, _name, x: F.dropout(x, p, call.training))

    return [fixed(0.1), fixed(0.5)]


@mistake(
    "dropout-twice",
    "Dropout is applied twice to a sublayer's output.",
    formula=BOTH,
    hint="How many dropouts are applied to f(x)?",
    parts=LAYERS,
)
def dropout_twice(steps: Steps) -> list[Steps]:
    def twice(*names: str) -> Steps:
        def drop(call: Call, name: str, x: Tensor) -> Tensor:
            once = steps.drop(call, name, x)
            return steps.drop(call, name, once) if name in names else once

        return replace(steps, drop=drop)

    return [twice(*steps.order), *(twice(name) for name in steps.order)]


@mistake(
    "dropout-of-whole-vectors",
    "Whole positions (or whole columns) are dropped together; each element must be dropped independently.",
    hint="nn.Dropout1d and nn.Dropout2d drop whole rows.",
    parts=LAYERS,
)
def dropout_of_whole_vectors(steps: Steps) -> Steps:
    return replace(steps, drop=lambda call, _name, x: F.dropout1d(x, call.dropout, call.training))


@mistake(
    "stack-drops",
    "The stack applies dropout itself in train mode. Dropout belongs in the layers only.",
    hint="Is there a dropout in the stack's __init__ or forward?",
    source=DROPOUT,
    parts=STACKS,
)
def stack_drops(steps: Steps) -> list[Steps]:
    class Drop(nn.Dropout):
        """Stands among the layers, and is called as they are."""

        def forward(self, x: Tensor, *_rest: Any) -> Tensor:
            return super().forward(x)

    def dropping(first: bool) -> Steps:
        def gather(module: nn.Module, make_layer: Callable[[], nn.Module], count: int) -> list[nn.Module]:
            layers = steps.gather(module, make_layer, count)
            module.drop = drop = Drop(0.1)
            return [drop, *layers] if first else [*layers, drop]

        return replace(steps, gather=gather)

    return [dropping(first=True), dropping(first=False)]
