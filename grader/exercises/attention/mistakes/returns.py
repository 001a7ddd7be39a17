"""Mistakes in what is handed back, and in what the gradient can reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.attention.mistakes.collection import CLASS, FUNCTION, mistake
from grader.exercises.attention.reference import Call, Steps

RETURNS = "return output, weights"


@mistake(
    "weights-returned",
    "The attention weights are returned instead of the output.",
    formula=RETURNS,
    hint="What is the shape of the result, and what should it be?",
)
def weights_returned(steps: Steps) -> list[Steps]:
    def alone(_call: Call, _output: Tensor, weights: Tensor) -> Any:
        return weights

    def twice(_call: Call, _output: Tensor, weights: Tensor) -> Any:
        return weights, weights

    return [
        replace(steps, give_function=alone, give_class=alone),
        replace(steps, give_function=twice, give_class=alone),
    ]


@mistake(
    "tuple-swapped",
    "The results are in the wrong order: output comes first, then the weights.",
    formula=RETURNS,
    hint="Compare the order with the signature in the template.",
)
def tuple_swapped(steps: Steps) -> Steps:
    def swapped(_call: Call, output: Tensor, weights: Tensor) -> Any:
        return weights, output

    return replace(steps, give_function=swapped, give_class=swapped)


@mistake(
    "output-alone",
    "Only the output is returned; the function must return the pair (output, weights).",
    formula=RETURNS,
    hint="Compare with the signature in the template.",
    parts=FUNCTION,
)
def output_alone(steps: Steps) -> Steps:
    return replace(steps, give_function=lambda _call, output, _weights: output)


@mistake(
    "scores-returned",
    "The scores are returned instead of the weights: the softmax has not been applied to them.",
    formula=RETURNS,
    hint="Which variable holds the weights after the softmax?",
    parts=FUNCTION,
)
def scores_returned(steps: Steps) -> list[Steps]:
    def raw(call: Call) -> Tensor:
        return steps.score(call, call.query, call.key)

    def scaled(call: Call) -> Tensor:
        return steps.scale(call, raw(call), call.query, call.key)

    def masked(call: Call) -> Tensor:
        return steps.mask(call, scaled(call))

    return [
        replace(steps, give_function=lambda call, output, _weights, s=scores: (output, s(call)))  # type: ignore[misc]
        for scores in (scaled, masked, raw)
    ]


@mistake(
    "inputs-returned",
    "One of the inputs is returned instead of the output.",
    formula=RETURNS,
    hint="Which variable do you return?",
)
def inputs_returned(steps: Steps) -> list[Steps]:
    def give(index: int) -> Steps:
        return replace(
            steps,
            give_function=lambda call, _output, weights: (call.inputs[index], weights),
            give_class=lambda call, _output, _weights: call.inputs[index],
        )

    return [give(index) for index in range(3)]


@mistake(
    "length-one-squeezed",
    "Dimensions of size 1 are removed from the result (`squeeze()` without a dimension), so the shape is "
    "wrong for a batch of one or a sequence of one.",
    hint="Give `squeeze` a dimension, or leave it out.",
)
def length_one_squeezed(steps: Steps) -> list[Steps]:
    return [
        replace(
            steps,
            give_function=lambda _call, output, weights: (output.squeeze(), weights.squeeze()),
            give_class=lambda _call, output, _weights: output.squeeze(),
        ),
        replace(steps, give_function=lambda _call, output, weights: (output.squeeze(), weights)),
    ]


@mistake(
    "output-transposed",
    "The last two dimensions of the output are swapped: it must be [..., queries, value features].",
    hint="What is the shape of the result, and what should it be?",
)
def output_transposed(steps: Steps) -> Steps:
    return replace(steps, finish=lambda call, x: steps.finish(call, x).transpose(-2, -1))


@mistake(
    "heads-not-merged",
    "The result still has a head dimension: the heads must be concatenated and multiplied by W_O.",
    formula="Concat(head_1, ..., head_h) W_O",
    hint="What is the shape of the result, and what should it be?",
    parts=CLASS,
)
def heads_not_merged(steps: Steps) -> list[Steps]:
    bare = replace(steps, merge=lambda _call, x: x, project_out=lambda _call, x: x)
    return [bare, replace(bare, merge=lambda _call, x: x.transpose(1, 2))]


@mistake(
    "gradient-blocked",
    "No gradient flows back through the result (torch.no_grad, .detach() or .data), so no earlier layer "
    "can learn.",
    hint="Search for no_grad, inference_mode, detach, .data, .item, numpy.",
)
def gradient_blocked(steps: Steps) -> Steps:
    return replace(
        steps,
        give_function=lambda _call, output, weights: (output.detach(), weights.detach()),
        give_class=lambda _call, output, _weights: output.detach(),
    )


@mistake(
    "gradient-stops-at-weights",
    "No gradient flows through the attention weights, so query and key (and their projections) never "
    "learn. The forward pass is right; only the backward pass shows the mistake.",
    hint="Search for no_grad, detach and .data around the softmax.",
)
def gradient_stops_at_weights(steps: Steps) -> Steps:
    return replace(steps, reweigh=lambda _call, w: w.detach())


def _stopped(index: int, name: str) -> None:
    @mistake(
        f"gradient-stops-at-{name}",
        f"No gradient flows back to the {name}: it is detached.",
        hint=f"Search for detach, .data and no_grad where the {name} is used.",
    )
    def stopped(steps: Steps) -> list[Steps]:
        def split(call: Call, role: str, x: Tensor) -> Tensor:
            return steps.split(call, role, x.detach() if role == "qkv"[index] else x)

        def cut(call: Call) -> Call:
            call = steps.prepare(call)
            return call.taking([x.detach() if i == index else x for i, x in enumerate(call.inputs)])

        return [replace(steps, prepare=cut), replace(steps, split=split)]


for _index, _name in enumerate(("query", "key", "value")):
    _stopped(_index, _name)


@mistake(
    "gradient-blocked-in-projections",
    "The projections' weights are detached (.data, no_grad), so they never learn, although the forward "
    "pass is right.",
    hint="Search for .data, detach and no_grad where the weights are used.",
    parts=CLASS,
)
def gradient_blocked_in_projections(steps: Steps) -> list[Steps]:
    def frozen(*roles: str) -> Steps:
        def cut(call: Call) -> Call:
            call = steps.prepare(call)
            detached = {n: w.detach() if n.split(".")[0] in roles else w for n, w in call.weights.items()}
            return replace(call, weights=detached)

        return replace(steps, prepare=cut)

    return [frozen("q", "k", "v", "out"), frozen("q", "k", "v"), frozen("out"), frozen("v"), frozen("q", "k")]


@mistake(
    "float32-hard-coded",
    "The result is float32 whatever the dtype of the inputs: a dtype is hard-coded (.float(), torch.zeros(...) without "
    "dtype).",
    hint="Keep the dtype of the inputs; new tensors take `dtype=` and `device=` from them.",
)
def float32_hard_coded(steps: Steps) -> list[Steps]:
    return [
        replace(
            steps,
            give_function=lambda _call, output, weights: (output.float(), weights.float()),
            give_class=lambda _call, output, _weights: output.float(),
        ),
        replace(steps, give_function=lambda _call, output, weights: (output, weights.float())),
        replace(steps, give_function=lambda _call, output, weights: (output.float(), weights)),
        replace(steps, normalise=lambda call, s: steps.normalise(call, s).to(torch.float32)),
        replace(steps, score=lambda call, q, k: steps.score(call, q.float(), k.float())),
    ]
