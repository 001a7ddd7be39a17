"""Properties of a layer's parts beside attention: norm placements, norms, feed-forward networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from zoo.analysis.checks.base import DoesNotHold, Properties
from zoo.analysis.checks.common import (
    drops_in_train_mode_only,
    finite,
    gradients,
    in_dtypes,
    inputs_kept,
    keeps_dtype,
    same,
    shaped,
    steady,
    tensor,
    vectors_alone,
)
from zoo.analysis.checks.part import Part

NORM, NORM_TYPE, FEEDFORWARD = Properties(), Properties(), Properties()
Sublayer = Callable[[Tensor], Tensor]
BATCH, LENGTH = 3, 5


def hidden(part: Part, length: int = LENGTH) -> Tensor:
    """[B, T, D]."""
    return part.randn(BATCH, length, part.sizes.d_model)


def sublayers(part: Part, count: int = 2) -> list[Sublayer]:
    """Smooth functions of each position by itself, each another one."""

    def one(weight: Tensor) -> Sublayer:
        return lambda h: torch.tanh(h @ weight.to(h))

    return [one(part.randn(part.sizes.d_model, part.sizes.d_model)) for _ in range(count)]


# norm placements ------------------------------------------------------------------------------------


@NORM("keeps shape and dtype, with two sublayers and with three")
def norm_shapes(part: Part) -> None:
    """As in an encoder's layer and a decoder's; in float32, float64 and bfloat16."""

    def attempt(dtype: torch.dtype) -> None:
        for count in (2, 3):
            norm = part.make(num_sublayers=count).to(dtype)
            x = hidden(part).to(dtype)
            shaped(norm(x, *sublayers(part, count)), x.shape, dtype, part)

    in_dtypes(part, attempt)


@NORM("calls every sublayer once and uses its output")
def each_once(part: Part) -> None:
    """And what it is given depends on the input."""
    norm, calls = part.module(num_sublayers=3), [0, 0, 0]
    outputs: list[Tensor] = []

    def watched(number: int, sublayer: Sublayer) -> Sublayer:
        def call(h: Tensor) -> Tensor:
            calls[number] += 1
            outputs.append(sublayer(h))
            return outputs[-1]

        return call

    x = hidden(part).requires_grad_()
    out = tensor(norm(x, *(watched(i, one) for i, one in enumerate(sublayers(part, 3)))), part)
    if calls != [1, 1, 1]:
        raise DoesNotHold(f"Three sublayers were called {', '.join(map(str, calls))} times.")
    for number, gradient in enumerate(torch.autograd.grad((out**3).sum(), outputs, allow_unused=True), 1):
        if gradient is None or not gradient.abs().max() > 0:
            raise DoesNotHold(f"The output of the sublayer called as number {number} has no influence.")


@NORM("has a residual path around the sublayers")
def residual(part: Part) -> None:
    """Return where sublayers give 0, the input still reaches the output."""
    norm, x = part.module(), hidden(part).requires_grad_()
    out = tensor(norm(x, *[torch.zeros_like] * 2), part)
    (gradient,) = torch.autograd.grad((out**3).sum(), x, allow_unused=True) if out.requires_grad else (None,)
    if gradient is None or not gradient.abs().max() > 0:
        raise DoesNotHold("Where all sublayers give 0, the output does not depend on the input.")


@NORM("treats every position independently, if it declares cacheable")
def norm_alone(part: Part) -> None:
    """A position alone gives what it gives among others."""
    part.must("cacheable")
    norm, functions = part.module().eval(), sublayers(part)
    vectors_alone(part, _with(norm, functions), hidden(part))


def _with(norm: Any, functions: list[Sublayer]) -> Any:
    """The placement as a module of one argument."""

    class Applied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, x: Tensor) -> object:
            return self.norm(x, *functions)

    return Applied()


@NORM("rows of a batch are independent")
def norm_rows(part: Part) -> None:
    """Each item alone gives what it gives in the batch."""
    norm, functions, x = part.module().eval(), sublayers(part), hidden(part)
    _rows(part, _with(norm, functions), x)


@NORM("gradients are finite and reach the input and every parameter")
def norm_reach(part: Part) -> None:
    """A norm that is made and not used is a mistake."""
    norm, x = part.module(), hidden(part).requires_grad_()
    gradients(norm, tensor(norm(x, *sublayers(part)), part), [("the input", x)])


@NORM("dropout is active in train mode only")
def norm_dropout(part: Part) -> None:
    """And eval mode with dropout is what it would be without."""
    x, functions = hidden(part), sublayers(part)
    drops_in_train_mode_only(part, lambda norm: tensor(norm(x, *functions), part))


@NORM("does not modify its inputs")
def norm_untouched(part: Part) -> None:
    """Nothing is changed in place."""
    inputs_kept(_with(part.module().eval(), sublayers(part)), [hidden(part)])


@NORM("is deterministic in eval mode")
def norm_eval(part: Part) -> None:
    """Also after a call with another length."""
    x, functions = hidden(part), sublayers(part)
    steady(lambda n: tensor(n(x, *functions), part), part.module(), lambda n: n(hidden(part, 7), *functions))


# what holds for norms and feed-forward networks alike -----------------------------------------------


def shapes(part: Part) -> None:
    """Any number of leading dimensions, in float32, float64 and bfloat16."""
    width = part.sizes.d_model
    keeps_dtype(part, [(3, 5, width), (1, 1, width), (4, width), (2, 2, 3, width)])


def by_itself(part: Part) -> None:
    """Alone it gives what it gives among others."""
    vectors_alone(part, part.module(), hidden(part))


def _rows(part: Part, module: Any, x: Tensor) -> None:
    together = tensor(module(x), part)
    for row in range(BATCH):
        one = slice(row, row + 1)
        same(tensor(module(x[one]), part), together[one], "A row alone gives another result than in a batch")


def reach(part: Part) -> None:
    """A parameter that nothing depends on is a mistake; many vectors, so that each finds its expert."""
    module, x = part.module(), hidden(part, 40).requires_grad_()
    gradients(module, tensor(module(x), part), [("the input", x)])


def dropout(part: Part) -> None:
    """And eval mode with dropout is what it would be without."""
    x = hidden(part)
    drops_in_train_mode_only(part, lambda module: tensor(module(x), part))


def untouched(part: Part) -> None:
    """Nothing is changed in place."""
    inputs_kept(part.module().eval(), [hidden(part)])


def eval_mode(part: Part) -> None:
    """Also after a call with another length."""
    x = hidden(part)
    steady(lambda m: tensor(m(x), part), part.module(), lambda m: m(hidden(part, 7)))


for _properties in (NORM_TYPE, FEEDFORWARD):
    _properties("keeps shape and dtype, in float32, float64 and bfloat16")(shapes)
    _properties("treats every vector independently")(by_itself)
    _properties("gradients are finite and reach the input and every parameter")(reach)
    _properties("does not modify its inputs")(untouched)
    _properties("is deterministic in eval mode")(eval_mode)
FEEDFORWARD("dropout is active in train mode only")(dropout)


# norms ----------------------------------------------------------------------------------------------


@NORM_TYPE("small, constant and zero vectors give finite outputs and gradients")
def degenerate(part: Part) -> None:
    """Return where there is nothing to divide by."""
    norm = part.module()
    for what, x in (
        ("zeros", torch.zeros(1, 2, part.sizes.d_model)),
        ("a constant", torch.ones(1, 2, part.sizes.d_model)),
        ("1e-20", torch.full((1, 2, part.sizes.d_model), 1e-20)),
    ):
        x = x.to(part.dtype).requires_grad_()
        out = finite(tensor(norm(x), part), f"For {what}, the output")
        (gradient,) = torch.autograd.grad(out.sum(), x)
        finite(gradient, f"For {what}, the gradient")


@NORM_TYPE("train and eval mode give the same results")
def no_statistics(part: Part) -> None:
    """It keeps no statistics of what it has seen."""
    norm, x = part.module(), hidden(part)
    same(tensor(norm.train()(x), part), tensor(norm.eval()(x), part), "Train and eval mode differ")
