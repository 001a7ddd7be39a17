"""Mistakes in how a placement keeps and calls what it was handed, and in its dropout."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.exercises.norm.mistakes.collection import BOTH_FORMULAS, PLACES, mistake
from grader.exercises.norm.reference import Call, Steps


@mistake(
    "arguments-not-passed",
    "The other arguments of forward are not passed to the sublayer, so an attention would never get its "
    "mask.",
    formula="sublayer(input, *args, **kwargs)",
    hint="Follow the mask of `layer(x, mask)`, and of `layer(x, mask=mask)`.",
    parts=PLACES,
)
def arguments_not_passed(steps: Steps) -> list[Steps]:
    return [
        replace(steps, call=lambda call: replace(steps.call(call), rest=(), named={})),
        replace(steps, call=lambda call: replace(steps.call(call), named={})),
        replace(steps, call=lambda call: replace(steps.call(call), rest=())),
        replace(steps, call=lambda call: replace(steps.call(call), rest=call.rest[:1])),
    ]


@mistake(
    "part-copied",
    "A copy of the norm or of the sublayer is used. Use the modules that are passed in: the caller may "
    "share, load or train them.",
    hint="Is there a deepcopy in __init__?",
    source="harvardnlp/annotated-transformer#9",
    parts=PLACES,
)
def part_copied(steps: Steps) -> list[Steps]:
    def copied(*names: str) -> Steps:
        def keep(module: nn.Module, name: str, part: nn.Module) -> None:
            steps.keep(module, name, copy.deepcopy(part) if name in names else part)

        return replace(steps, keep=keep)

    return [copied("norm", "sublayer"), copied("norm"), copied("sublayer")]


@mistake(
    "part-not-registered",
    "The norm or the sublayer is stored in a plain list, tuple or dict, where PyTorch does not register "
    "it: its parameters are not among the module's, so no optimizer trains them.",
    hint="Does list(layer.parameters()) contain those of the norm and the sublayer?",
    source="acids-ircam/ddsp_pytorch#37",
    parts=PLACES,
)
def part_not_registered(steps: Steps) -> list[Steps]:
    def hidden(*names: str) -> Steps:
        def keep(module: nn.Module, name: str, part: nn.Module) -> None:
            if name in names:
                object.__setattr__(module, name, part)
            else:
                steps.keep(module, name, part)

        return replace(steps, keep=keep)

    return [hidden("norm", "sublayer"), hidden("norm"), hidden("sublayer")]


def _dropping(steps: Steps, drop: Callable[[Call, Tensor], Tensor]) -> Steps:
    return replace(steps, drop=drop)


@mistake(
    "dropout-missing",
    "Dropout is not applied in train mode, although `dropout` is not 0.",
    formula=BOTH_FORMULAS,
    hint="Is the dropout that is passed to __init__ used in forward?",
    source="Attention Is All You Need, section 5.4",
    parts=PLACES,
)
def dropout_missing(steps: Steps) -> Steps:
    return _dropping(steps, lambda _call, x: x)


@mistake(
    "dropout-on-sum",
    "Dropout is applied to the sum, so that elements of x itself are lost; apply it to the sublayer's "
    "output, before x is added.",
    formula=BOTH_FORMULAS,
    hint="What is dropped, f(x) or x + f(x)?",
    source="Attention Is All You Need, section 5.4",
    parts=PLACES,
)
def dropout_on_sum(steps: Steps) -> Steps:
    def pre(_s: Steps, call: Call, x: Tensor) -> Tensor:
        return F.dropout(x + call.f(call.norm(x)), call.dropout, call.training)

    def post(_s: Steps, call: Call, x: Tensor) -> Tensor:
        return call.norm(F.dropout(x + call.f(x), call.dropout, call.training))

    return replace(steps, pre=pre, post=post)


@mistake(
    "dropout-on-input",
    "Dropout is applied to the sublayer's input; apply it to its output.",
    formula=BOTH_FORMULAS,
    hint="What is inside the parentheses of drop( )?",
    source="Attention Is All You Need, section 5.4",
    parts=PLACES,
)
def dropout_on_input(steps: Steps) -> list[Steps]:
    def dropped(call: Call, x: Tensor) -> Tensor:
        return F.dropout(x, call.dropout, call.training)

    def pre(_s: Steps, call: Call, x: Tensor) -> Tensor:
        return x + call.f(dropped(call, call.norm(x)))

    def post(_s: Steps, call: Call, x: Tensor) -> Tensor:
        return call.norm(x + call.f(dropped(call, x)))

    return [replace(steps, pre=pre, post=post)]


@mistake(
    "dropout-on-result",
    "Dropout is applied to the result of the norm, after the sum; apply it to the sublayer's output.",
    formula="norm(x + drop(f(x)))",
    hint="What is inside the parentheses of drop( )?",
    source="Attention Is All You Need, section 5.4",
    parts=("PostNorm",),
)
def dropout_on_result(steps: Steps) -> Steps:
    return replace(
        steps,
        post=lambda _s, call, x: F.dropout(call.norm(x + call.f(x)), call.dropout, call.training),
    )


@mistake(
    "dropout-in-eval",
    "Dropout is active in eval mode too: F.dropout is called without training=self.training, or a dropout "
    "layer is created in forward, or is in a plain list or object, where eval() does not reach it.",
    hint="Call the module twice in eval mode: the results must be equal.",
    source="karpathy/nanoGPT#240",
    parts=PLACES,
)
def dropout_in_eval(steps: Steps) -> Steps:
    return _dropping(steps, lambda call, x: F.dropout(x, call.dropout, True))


@mistake(
    "dropout-probability-inverted",
    "`dropout` is used as the probability to keep an element; it is the probability to drop it.",
    hint="With dropout=0.1, how many of ten elements are kept?",
    parts=PLACES,
)
def dropout_probability_inverted(steps: Steps) -> Steps:
    return _dropping(
        steps, lambda call, x: F.dropout(x, 1 - call.dropout if call.dropout else 0.0, call.training)
    )


@mistake(
    "dropout-not-scaled",
    "The elements that dropout keeps are not scaled by 1 / (1 - dropout), so the output is smaller in "
    "train mode than in eval mode.",
    hint="How does the mean stay the same with and without dropout?",
    source="Srivastava et al. 2014",
    parts=PLACES,
)
def dropout_not_scaled(steps: Steps) -> Steps:
    def bare(call: Call, x: Tensor) -> Tensor:
        return x * (torch.rand_like(x) >= call.dropout) if call.training else x

    return _dropping(steps, bare)


@mistake(
    "dropout-of-whole-vectors",
    "Whole positions (or whole columns) are dropped together; each element must be dropped independently.",
    hint="nn.Dropout1d and nn.Dropout2d drop whole rows.",
    parts=PLACES,
)
def dropout_of_whole_vectors(steps: Steps) -> Steps:
    return _dropping(steps, lambda call, x: F.dropout1d(x, call.dropout, call.training))


@mistake(
    "place-gradient-cut",
    "The residual block blocks the gradient, so the sublayer (or earlier layers) cannot learn.",
    hint="Look for detach(), .data and torch.no_grad() in forward.",
    parts=PLACES,
)
def place_gradient_cut(steps: Steps) -> list[Steps]:
    def cut(result: Any) -> Any:
        return result.detach()

    return [
        _dropping(steps, lambda call, x: steps.drop(call, x).detach()),
        replace(
            steps,
            pre=lambda s, call, x: cut(steps.pre(s, call, x)),
            post=lambda s, call, x: cut(steps.post(s, call, x)),
        ),
    ]


@mistake(
    "place-input-changed",
    "x is modified in place (x += ...), which changes the caller's tensor.",
    hint="x += y modifies x itself; x = x + y creates a new tensor.",
    parts=PLACES,
)
def place_input_changed(steps: Steps) -> list[Steps]:
    def pre(s: Steps, call: Call, x: Tensor) -> Tensor:
        x += s.drop(call, call.f(call.norm(x)))
        return x

    def post(s: Steps, call: Call, x: Tensor) -> Tensor:
        x += s.drop(call, call.f(x))
        return call.norm(x)

    return [replace(steps, pre=pre, post=post)]
