"""Known mistakes of `exercises/feedforward.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.api import Collection, Wanted
from grader.exercises.feedforward.reference import Call, Steps, drop, linear

mistake: Collection[Steps] = Collection()
MISTAKES = mistake.mistakes
FORMULA = "FFN(x) = max(0, x W1 + b1) W2 + b2"
PAPER = "Attention Is All You Need, section 3.3"


@mistake(
    "activation-missing",
    "There is no ReLU between the two layers. Two linear layers in sequence are equal to one, so the "
    "network cannot learn more than a single matrix.",
    formula=FORMULA,
    hint="What does max(0, ...) do, and where is it in the formula?",
    source=PAPER,
)
def activation_missing(steps: Steps) -> Steps:
    return replace(steps, activate=lambda _call, x: x)


@mistake(
    "activation-after-second-layer",
    "The ReLU comes after the second layer, so no output is ever negative; it belongs between the two "
    "layers.",
    formula=FORMULA,
    hint="After which layer are negative values set to 0?",
    source=PAPER,
)
def activation_after_second_layer(steps: Steps) -> Steps:
    return replace(
        steps, activate=lambda _call, x: x, finish=lambda call, x, out: steps.finish(call, x, out.relu())
    )


@mistake(
    "activation-twice",
    "A ReLU comes after each of the two layers; the second one sets all negative outputs to 0.",
    formula=FORMULA,
    hint="How many activations are in the formula?",
    source=PAPER,
)
def activation_twice(steps: Steps) -> Steps:
    return replace(steps, finish=lambda call, x, out: steps.finish(call, x, out.relu()))


@mistake(
    "activation-on-input",
    "The ReLU is applied to the input, before the first layer; it belongs after the first layer.",
    formula=FORMULA,
    hint="What is inside max(0, ...)?",
)
def activation_on_input(steps: Steps) -> Steps:
    return replace(steps, up=lambda call, x: steps.up(call, x.relu()), activate=lambda _call, x: x)


ACTIVATIONS: tuple[Callable[[Tensor], Tensor], ...] = (
    F.gelu,
    lambda x: F.gelu(x, approximate="tanh"),
    F.silu,
    torch.tanh,
    torch.sigmoid,
    F.elu,
    lambda x: x.relu().square(),
    torch.abs,
)


@mistake(
    "other-activation",
    "Another activation than ReLU is used (GELU, SiLU, tanh, ...). Some models do so; this exercise, like "
    "the paper, asks for max(0, x).",
    formula=FORMULA,
    hint="What is the activation of -1, and of 2?",
    source=PAPER,
)
def other_activation(steps: Steps) -> list[Steps]:
    return [replace(steps, activate=lambda _call, x, f=f: f(x)) for f in ACTIVATIONS]  # type: ignore[misc]


SLOPES = (0.01, 0.001, 0.1, 0.2, 0.3)  # torch's own first


def leaking(steps: Steps, slope: float) -> Steps:
    """With a ReLU that has this slope below 0."""
    return replace(steps, activate=lambda _call, x: F.leaky_relu(x, slope))


@mistake(
    "activation-leaky",
    "The activation is a leaky ReLU: below 0 it returns a small multiple of x. This exercise, like the "
    "paper, asks for max(0, x).",
    formula=FORMULA,
    hint="What is the activation of -100?",
    source=PAPER,
)
def activation_leaky(steps: Steps) -> list[Steps]:
    return [leaking(steps, slope) for slope in SLOPES]


BIASES = (("up", "down"), ("up",), ("down",))


@mistake(
    "bias-missing",
    "A layer has no bias among its parameters: it is missing, or a plain tensor, which no optimizer trains. Both "
    "layers need one: b1 of size d_ff and b2 of size d_model.",
    formula=FORMULA,
    hint="Count the parameters of each layer. A plain tensor is none: see nn.Parameter.",
    source=PAPER,
)
def bias_missing(steps: Steps) -> list[Steps]:
    def without(*roles: str) -> Steps:
        def shapes(d_model: int, d_ff: int) -> list[Wanted]:
            return [
                one for one in steps.shapes(d_model, d_ff) if one.name not in [f"{r}.bias" for r in roles]
            ]

        return replace(_without_biases(steps, *roles), shapes=shapes)

    return [without(*roles) for roles in BIASES]


@mistake(
    "bias-unused",
    "A layer's bias is created, and not added. Both layers add one: b1 to x W1, b2 to the product with W2.",
    formula=FORMULA,
    hint="Which of your parameters does forward never read?",
    source=PAPER,
)
def bias_unused(steps: Steps) -> list[Steps]:
    return [_without_biases(steps, *roles) for roles in BIASES]


def _without_biases(steps: Steps, *roles: str) -> Steps:
    def bare(role: str) -> Callable[..., Tensor]:
        if role not in roles:
            return lambda call, x: linear(call, role, x)
        return lambda call, x: x @ call.weights[f"{role}.weight"].T

    return replace(steps, up=bare("up"), down=bare("down"))


@mistake(
    "residual-inside",
    "The input is added to the output. The residual connection belongs in the layer around the "
    "feed-forward network, which would add the input again.",
    formula=FORMULA,
    hint="Is there a + x in the formula?",
    source="Attention Is All You Need, section 3.1",
)
def residual_inside(steps: Steps) -> Steps:
    return replace(steps, finish=lambda call, x, out: steps.finish(call, x, out + x))


@mistake(
    "norm-inside",
    "The output (or the input) is normalized. Layer normalization belongs in the layer around the "
    "feed-forward network.",
    formula=FORMULA,
    hint="Is there a norm in the formula?",
)
def norm_inside(steps: Steps) -> list[Steps]:
    def norm(x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:])

    return [
        replace(steps, finish=lambda call, x, out: steps.finish(call, x, norm(out))),
        replace(steps, up=lambda call, x: steps.up(call, norm(x))),
    ]


@mistake(
    "hidden-width-wrong",
    "The hidden layer does not have d_ff features: the arguments d_model and d_ff are not used as they "
    "should be.",
    formula="W1: d_model -> d_ff, W2: d_ff -> d_model",
    hint="Print the shapes of your parameters.",
    source=PAPER,
)
def hidden_width_wrong(steps: Steps) -> list[Steps]:
    widths: tuple[Callable[[int], int], ...] = (
        lambda d_model: d_model,
        lambda d_model: 4 * d_model,
        lambda _d_model: 2048,
    )
    return [
        replace(steps, shapes=lambda d_model, _d_ff, w=w: steps.shapes(d_model, w(d_model)))  # type: ignore[misc]
        for w in widths
    ]


@mistake(
    "dropout-in-eval",
    "Dropout is active in eval mode too: F.dropout is called without training=self.training (its default "
    "is True), or a dropout layer is created in forward, or is in a plain list or object, where eval() does not "
    "reach it.",
    formula=FORMULA,
    hint="Call the module twice in eval mode: the results must be equal.",
    source="karpathy/nanoGPT#240",
)
def dropout_in_eval(steps: Steps) -> list[Steps]:
    return [
        replace(steps, drop=lambda call, x: F.dropout(x, call.dropout, True)),
        replace(
            steps,
            drop=lambda _call, x: x,
            finish=lambda call, x, out: steps.finish(call, x, F.dropout(out, call.dropout, True)),
        ),
    ]


@mistake(
    "dropout-missing",
    "Dropout is not applied in train mode, although `dropout` is not 0.",
    formula="max(0, x W1 + b1), then dropout, then W2",
    hint="Is the dropout layer that __init__ creates used in forward?",
)
def dropout_missing(steps: Steps) -> Steps:
    return replace(steps, drop=lambda _call, x: x)


@mistake(
    "dropout-on-output",
    "Dropout is applied to the output; apply it to the hidden layer, after the ReLU.",
    formula="max(0, x W1 + b1), then dropout, then W2",
    hint="After which line is dropout applied?",
)
def dropout_on_output(steps: Steps) -> Steps:
    return replace(
        steps, drop=lambda _call, x: x, finish=lambda call, x, out: steps.finish(call, x, drop(call, out))
    )


@mistake(
    "dropout-on-input",
    "Dropout is applied to the input; apply it to the hidden layer, after the ReLU.",
    formula="max(0, x W1 + b1), then dropout, then W2",
    hint="After which line is dropout applied?",
)
def dropout_on_input(steps: Steps) -> Steps:
    return replace(steps, drop=lambda _call, x: x, up=lambda call, x: steps.up(call, drop(call, x)))


@mistake(
    "dropout-probability-inverted",
    "`dropout` is used as the probability to keep an element; it is the probability to drop it.",
    hint="With dropout=0.1, how many of ten elements are kept?",
)
def dropout_probability_inverted(steps: Steps) -> Steps:
    return replace(
        steps, drop=lambda call, x: F.dropout(x, 1 - call.dropout if call.dropout else 0.0, call.training)
    )


@mistake(
    "dropout-not-scaled",
    "The elements that dropout keeps are not scaled by 1 / (1 - dropout).",
    hint="How does the mean stay the same with and without dropout?",
    source="Srivastava et al. 2014",
)
def dropout_not_scaled(steps: Steps) -> Steps:
    def bare(call: Call, x: Tensor) -> Tensor:
        return x * (torch.rand_like(x) >= call.dropout) if call.training else x

    return replace(steps, drop=bare)


@mistake(
    "input-changed-in-place",
    "The input is modified in place: the caller's tensor, which the residual connection needs, changes.",
    hint="relu_ and F.relu(..., inplace=True) work in place, and so do operators such as *=.",
)
def input_changed_in_place(steps: Steps) -> list[Steps]:
    def spoilt(change: Callable[[Tensor], object]) -> Steps:
        def up(call: Call, x: Tensor) -> Tensor:
            out = steps.up(call, x.clone())
            change(x)
            return out

        return replace(steps, up=up)

    return [
        spoilt(lambda x: x.relu_()),
        spoilt(lambda x: x.mul_(0.5)),
        replace(steps, up=lambda call, x: steps.up(call, x.relu_()), activate=lambda _call, x: x),
    ]


@mistake(
    "output-detached",
    "The gradient is blocked: parameters (or the input) receive none, so they cannot learn.",
    hint="Look for detach(), .data, torch.no_grad() and torch.tensor(...) in forward.",
)
def output_detached(steps: Steps) -> list[Steps]:
    return [
        replace(steps, finish=lambda call, x, out: steps.finish(call, x, out.detach())),
        replace(steps, activate=lambda call, x: steps.activate(call, x).detach()),
        replace(steps, up=lambda call, x: steps.up(call, x.detach())),
    ]


@mistake(
    "one-layer-only",
    "Only one of the two layers is used, or the hidden layer is returned.",
    formula=FORMULA,
    hint="Print the shape after each line.",
    source=PAPER,
)
def one_layer_only(steps: Steps) -> Steps:
    return replace(steps, down=lambda _call, x: x)


@mistake.fixed_device()
def device_hard_coded(steps: Steps) -> Steps:
    def activate(call: Call, x: Tensor) -> Tensor:
        return torch.maximum(torch.zeros(x.size(-1), dtype=x.dtype), steps.activate(call, x))

    return replace(steps, activate=activate)
