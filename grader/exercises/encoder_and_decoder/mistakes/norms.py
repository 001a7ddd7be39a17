"""Mistakes in the layer's own norms: shared, mixed up, or of another kind."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor
from torch.nn import functional as F

from grader.exercises.encoder_and_decoder.mistakes.collection import (
    BA,
    BOTH,
    EVERYWHERE,
    LAYERS,
    PAPER,
    XIONG,
    mistake,
)
from grader.exercises.encoder_and_decoder.reference import Steps

FORMULA = "LayerNorm(x) = gain * (x - mean) / sqrt(var + 1e-5) + bias"


@mistake(
    "norm-shared",
    "One norm is used for several sublayers; each sublayer needs its own.",
    formula=BOTH,
    hint="How many norms does __init__ create?",
    source="ml-explore/mlx#1636",
    parts=LAYERS,
)
def norm_shared(steps: Steps) -> list[Steps]:
    def shared(*places: int) -> Steps:
        return replace(
            steps,
            count=lambda _n, _p: len(set(places)),
            norm=lambda call, i, x: steps.norm(call, places[i], x),
        )

    of_three = [(0, 0, 1), (0, 1, 1), (0, 1, 0)] if len(steps.order) == 3 else []
    return [shared(*(0 for _ in steps.order)), *(shared(*places) for places in of_three)]


@mistake(
    "wrong-norm-used",
    "There is a norm for each sublayer, but one of them is used in several places, and another one never.",
    formula=BOTH,
    hint="Which norm is used in which line of forward?",
    source="ml-explore/mlx#1636",
    parts=LAYERS,
)
def wrong_norm_used(steps: Steps) -> list[Steps]:
    pairs = [(i, j) for i in range(len(steps.order)) for j in range(len(steps.order)) if i != j]
    return [
        replace(steps, norm=lambda call, i, x, a=a, b=b: steps.norm(call, b if i == a else i, x))  # type: ignore[misc]
        for a, b in pairs
    ]


@mistake(
    "norm-too-many",
    "The layer has one norm more than it has sublayers. A final norm belongs in the stack, not in each "
    "layer.",
    formula=BOTH,
    hint="Count sublayers and norms.",
    source=XIONG,
    parts=LAYERS,
)
def norm_too_many(steps: Steps) -> list[Steps]:
    extra = len(steps.order)
    return [
        replace(steps, count=lambda n, p: n + (p == "pre"),
                finish=lambda call, _x, out: call.norms[extra](out) if call.placement == "pre" else out),
        replace(steps, count=lambda n, _p: n + 1),
    ]  # fmt: skip


@mistake(
    "norm-without-affine",
    "The norms have no trainable gain and bias.",
    formula=FORMULA,
    hint="How many parameters does the layer have besides those of its sublayers?",
    source=BA,
    parts=EVERYWHERE,
)
def norm_without_affine(steps: Steps) -> list[Steps]:
    bare = replace(steps, affine=False)
    return [bare, replace(steps, final_norm=lambda _steps: steps.final_norm(bare))]


@mistake(
    "norm-starts-wrong",
    "A norm's gain is not initialized to 1, or its bias not to 0.",
    formula=FORMULA,
    hint="What must gain and bias be so that a new norm only normalizes?",
    source=BA,
    parts=EVERYWHERE,
)
def norm_starts_wrong(steps: Steps) -> list[Steps]:
    found = [replace(steps, starts=(0.0, 0.0)), replace(steps, starts=(1.0, 1.0))]
    return [*found, replace(steps, final_norm=lambda _steps: steps.final_norm(found[0]))]


@mistake(
    "norm-eps",
    "The norms' eps is not 1e-5, or is not inside the square root, so rows with almost equal elements get "
    "other results.",
    formula=FORMULA,
    hint="Where is eps in the formula, and how large is it?",
    source="hyunwoongko/transformer#7",
    parts=EVERYWHERE,
)
def norm_eps(steps: Steps) -> list[Steps]:
    def other(eps: float) -> Steps:
        return replace(steps, normed=lambda x, gain, shift: F.layer_norm(x, x.shape[-1:], gain, shift, eps))

    def outside(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return gain * centred / (centred.square().mean(-1, keepdim=True).sqrt() + 1e-5) + shift

    final = replace(steps, final_norm=lambda _steps: steps.final_norm(other(1e-6)))
    return [other(1e-6), other(1e-8), other(1e-12), other(1e-3), replace(steps, normed=outside), final]


@mistake(
    "norm-unbiased",
    "The norms divide the variance by D - 1, which is the default of torch.var and torch.std; it must be "
    "divided by D.",
    formula=FORMULA,
    hint="What is the default of `unbiased` (or `correction`) of torch.var and torch.std?",
    source="harvardnlp/annotated-transformer#119",
    parts=EVERYWHERE,
)
def norm_unbiased(steps: Steps) -> Steps:
    def unbiased(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
        root = (x.var(-1, keepdim=True) + 1e-5).sqrt()
        return gain * (x - x.mean(-1, keepdim=True)) / root + shift

    return replace(steps, normed=unbiased)


@mistake(
    "norm-is-rms",
    "The norms do not subtract the mean (RMSNorm); this exercise, like the paper, uses layer normalization.",
    formula=FORMULA,
    hint="What is the mean of a normalized row?",
    source=f"{PAPER}",
    parts=EVERYWHERE,
)
def norm_is_rms(steps: Steps) -> Steps:
    def rms(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
        return gain * x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() + shift

    return replace(steps, normed=rms)


@mistake(
    "norm-wrong-dimension",
    "The norms take mean and variance over the sequence, or over all elements; each position must be "
    "normalized over its own features, the last dimension.",
    formula=FORMULA,
    hint="Over which dim are mean and variance taken?",
    source=BA,
    parts=EVERYWHERE,
)
def norm_wrong_dimension(steps: Steps) -> list[Steps]:
    def over(*dims: int) -> Steps:
        def normed(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
            centred = x - x.mean(dims, keepdim=True)
            return gain * centred / (centred.square().mean(dims, keepdim=True) + 1e-5).sqrt() + shift

        return replace(steps, normed=normed)

    return [over(-2), over(-2, -1)]
