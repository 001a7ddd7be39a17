"""Mistakes in the factor 1/sqrt(d_k)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from grader.exercises.attention.mistakes.collection import CLASS, FUNCTION, PAPER, SOFTMAX, mistake
from grader.exercises.attention.reference import Call, Score, Steps

WHY = "With the wrong factor the softmax is too sharp or too flat, and training slows down or stalls."


def times(factor: Callable[[Call, Tensor, Tensor], float]) -> Score:
    """A scale step that multiplies the scores by a factor of its own."""

    def scaled(call: Call, scores: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return scores * factor(call, q, k)

    return scaled


@mistake(
    "missing-scale",
    "The scores are not divided by sqrt(d_k) before the softmax. For large d_k the weights saturate: one key "
    "gets all the weight, and the gradient vanishes.",
    formula=SOFTMAX,
    hint="Compare your scores with the formula: what is Q K^T divided by?",
    source=f"{PAPER}, footnote 4",
)
def missing_scale(steps: Steps) -> Steps:
    return replace(steps, scale=times(lambda _call, _q, _k: 1.0))


@mistake(
    "scale-by-d-model",
    "The scores are divided by sqrt(d_model), where d_model is the size of all heads together. Each head "
    "has d_k = d_model / num_heads features, so divide by sqrt(d_k).",
    formula=SOFTMAX,
    hint="How many features has one head's query?",
    source="aladdinpersson/Machine-Learning-Collection#30",
    parts=CLASS,
)
def scale_by_d_model(steps: Steps) -> Steps:
    return replace(steps, scale=times(lambda call, _q, _k: call.query.size(-1) ** -0.5))


@mistake(
    "scale-by-d-k",
    "The scores are divided by d_k, not by its square root: the root is missing, or the division by "
    "sqrt(d_k) happens twice. The weights become too uniform.",
    formula=SOFTMAX,
    hint="Count the divisions, and look for the square root.",
    source="thegregyang/NTK4A#3",
)
def scale_by_d_k(steps: Steps) -> Steps:
    return replace(steps, scale=times(lambda _call, _q, k: 1.0 / k.size(-1)))


@mistake(
    "scale-multiplied",
    f"The scores are multiplied by sqrt(d_k); they should be divided by it. {WHY}",
    formula=SOFTMAX,
    hint="Does the formula multiply or divide?",
)
def scale_multiplied(steps: Steps) -> Steps:
    return replace(steps, scale=times(lambda _call, _q, k: k.size(-1) ** 0.5))


@mistake(
    "scale-by-key-length",
    "The scores are divided by the square root of the number of keys, not of d_k (the size of a key): the "
    "wrong dimension is read. The result changes with the length of the sequence.",
    formula=SOFTMAX,
    hint="Which `size()` is d_k: that of the last dimension, or of the one before?",
)
def scale_by_key_length(steps: Steps) -> Steps:
    return replace(steps, scale=times(lambda _call, _q, k: k.size(-2) ** -0.5))


@mistake(
    "scale-by-query-length",
    "The scores are divided by the square root of the number of queries, not of d_k (the size of a key): "
    "the wrong dimension is read. The result changes with the length of the sequence.",
    formula=SOFTMAX,
    hint="Which `size()` is d_k: that of the last dimension, or of the one before?",
)
def scale_by_query_length(steps: Steps) -> Steps:
    return replace(steps, scale=times(lambda _call, q, _k: q.size(-2) ** -0.5))


@mistake(
    "scale-by-heads",
    "The scores are divided by the square root of the size of dimension 1, which in [batch, heads, length, "
    "d_k] is the number of heads; d_k is the size of the last dimension.",
    formula=SOFTMAX,
    hint="Which `size()` is d_k?",
)
def scale_by_heads(steps: Steps) -> Steps:
    return replace(steps, scale=times(lambda _call, q, _k: q.size(1) ** -0.5))


@mistake(
    "scale-by-batch",
    "The scores are divided by the square root of the size of dimension 0, the batch; d_k is the size of "
    "the last dimension. The result changes with the number of sentences in the batch.",
    formula=SOFTMAX,
    hint="Which `size()` is d_k?",
)
def scale_by_batch(steps: Steps) -> Steps:
    return replace(steps, scale=times(lambda _call, q, _k: q.size(0) ** -0.5))


@mistake(
    "scale-by-value-width",
    "The scores are divided by the square root of the value's last dimension; d_k is the last dimension of "
    "query and key, and the value's may differ.",
    formula=SOFTMAX,
    hint="Whose last dimension is d_k?",
    parts=FUNCTION,
)
def scale_by_value_width(steps: Steps) -> Steps:
    return replace(steps, scale=times(lambda call, _q, _k: call.value.size(-1) ** -0.5))


@mistake(
    "scale-after-softmax",
    "The division by sqrt(d_k) comes after the softmax. There it only scales the weights, so a row no "
    "longer sums to 1; the scores must be divided.",
    formula=SOFTMAX,
    hint="What is inside the parentheses of softmax( ... )?",
)
def scale_after_softmax(steps: Steps) -> list[Steps]:
    unscaled = replace(steps, scale=times(lambda _call, _q, _k: 1.0))

    def shrunk(call: Call, weights: Tensor) -> Tensor:
        depth = call.query.size(-1) // max(call.heads, 1)
        return weights / math.sqrt(depth)

    return [replace(unscaled, reweigh=shrunk), replace(unscaled, after_mix=shrunk)]
