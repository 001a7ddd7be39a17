"""Mistakes that leave the numbers right: names, calls too many, gradients, and what is returned or modified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from grader.exercises.encoder_and_decoder.mistakes.collection import BOTH, EVERYWHERE, LAYERS, mistake
from grader.exercises.encoder_and_decoder.reference import Call, Steps


@mistake(
    "argument-names",
    "An argument is named differently than in the template, so a call with keyword arguments fails.",
    hint="Compare the signatures of __init__ and forward with the template.",
    source="MarkFzp/act-plus-plus#3; Snowad14/Raw-Novel-Translation#1",
    parts=EVERYWHERE,
)
def argument_names(steps: Steps) -> list[Steps]:
    names = [
        {"self_attention": "self_attn"},
        {"feed_forward": "ffn"},
        {"make_layer": "layer"},
        {"num_layers": "n"},
        {"d_model": "size"},
        {"x": "hidden"},
        {"src_mask": "mask"},
    ]
    if "cross" in steps.order:
        names += [{"cross_attention": "cross_attn"}, {"memory": "encoder_output"}, {"tgt_mask": "mask"}]
    return [replace(steps, renamed={**steps.renamed, **one}) for one in names]


@mistake(
    "called-twice",
    "A sublayer, or a layer of the stack, is called more than once in a forward pass, and only one result "
    "is used. That costs time, and with dropout each call gives another result.",
    formula=BOTH,
    hint="How often is each module called in the branch of forward that runs?",
    parts=EVERYWHERE,
)
def called_twice(steps: Steps) -> list[Steps]:
    def attend(call: Call, h: Tensor) -> Tensor:
        steps.attend(call, h)
        return steps.attend(call, h)

    def cross(call: Call, h: Tensor) -> Tensor:
        steps.cross(call, h)
        return steps.cross(call, h)

    def feed(call: Call, h: Tensor) -> Tensor:
        steps.feed(call, h)
        return steps.feed(call, h)

    def through(layers: Sequence[nn.Module], x: Tensor, rest: Sequence[Any]) -> Any:
        steps.through(layers, x, rest)
        return steps.through(layers, x, rest)

    found = [replace(steps, attend=attend), replace(steps, feed=feed), replace(steps, through=through)]
    return [*found, replace(steps, cross=cross)] if "cross" in steps.order else found


@mistake(
    "result-in-float32",
    "The result is float32 whatever the dtype of the input: it was converted for a computation, and not "
    "converted back.",
    formula="x [..., D] -> [..., D], of the same dtype",
    hint="After x.float(), which dtype has what you return?",
    source="mlfoundations/open_clip#850",
    parts=EVERYWHERE,
)
def result_in_float32(steps: Steps) -> list[Steps]:
    def ending(norm: Callable[[Tensor], Tensor] | None, x: Tensor, out: Tensor) -> Any:
        return steps.ending(norm, x, out).float()

    return [
        replace(steps, finish=lambda call, x, out: steps.finish(call, x, out).float()),
        replace(steps, ending=ending),
    ]


@mistake(
    "layer-gradient-cut",
    "The layer blocks the gradient, so earlier layers cannot learn.",
    hint="Look for detach(), .data and torch.no_grad() in forward.",
    parts=LAYERS,
)
def layer_gradient_cut(steps: Steps) -> list[Steps]:
    return [
        replace(steps, finish=lambda call, x, out: steps.finish(call, x, out.detach())),
        replace(steps, drop=lambda call, name, x: steps.drop(call, name, x).detach()),
        replace(steps, attend=lambda call, h: steps.attend(call, h).detach()),
    ]


@mistake(
    "returns-more-than-x",
    "forward returns a tuple. The next layer and the model expect the tensor x alone.",
    hint="What does your return statement return?",
    parts=EVERYWHERE,
)
def returns_more_than_x(steps: Steps) -> list[Steps]:
    return [
        replace(steps, finish=lambda call, x, out: (steps.finish(call, x, out), None)),
        replace(steps, ending=lambda norm, x, out: (steps.ending(norm, x, out), None)),
    ]


@mistake(
    "layer-input-changed",
    "x is modified in place (x += ...), which changes the caller's tensor.",
    hint="x += y modifies x itself; x = x + y creates a new tensor.",
    parts=LAYERS,
)
def layer_input_changed(steps: Steps) -> list[Steps]:
    def pre(s: Steps, call: Call, i: int, name: str, x: Tensor, _given: Tensor) -> Tensor:
        x += s.drop(call, name, s.run(call, name, s.norm(call, i, x)))
        return x

    both = replace(steps, pre=pre, post=_in_place_post)
    return [replace(steps, pre=pre), replace(steps, post=_in_place_post), both]


def _in_place_post(s: Steps, call: Call, i: int, name: str, x: Tensor, _given: Tensor) -> Tensor:
    x += s.drop(call, name, s.run(call, name, x))
    return s.norm(call, i, x)
