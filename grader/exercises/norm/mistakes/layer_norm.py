"""Mistakes in the computation of the layer norm: axes, mean, variance, eps, root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.norm.mistakes.collection import BA, FORMULA, NORM, mistake
from grader.exercises.norm.reference import Steps


def _over(steps: Steps, axes: Callable[[Tensor], tuple[int, ...]]) -> Steps:
    """Mean and variance over other dimensions."""
    return replace(
        steps,
        mean=lambda x: x.mean(axes(x), keepdim=True),
        variance=lambda x, mean: (x - mean).square().mean(axes(x), keepdim=True),
    )


@mistake(
    "norm-over-positions",
    "Mean and variance are taken over the positions of a sentence (dimension 1). Each position's own "
    "d_model features (the last dimension) must be normalized.",
    formula="mean and var over dim=-1",
    hint="Change one position of x: which positions of the result may change?",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def norm_over_positions(steps: Steps) -> list[Steps]:
    return [_over(steps, lambda _x: (1,)), _over(steps, lambda _x: (-2,))]


@mistake(
    "norm-over-batch",
    "Mean and variance are taken over the sentences of the batch, so a sentence's result depends on the "
    "others. Each position's own d_model features (the last dimension) must be normalized.",
    formula="mean and var over dim=-1",
    hint="Is the result for one sentence alone the same as within a batch?",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def norm_over_batch(steps: Steps) -> list[Steps]:
    return [_over(steps, lambda _x: (0,)), _over(steps, lambda x: tuple(range(x.dim() - 1)))]


@mistake(
    "norm-over-everything",
    "One mean and one variance are taken over a whole sentence, or the whole batch. Each position needs "
    "its own, over its d_model features (the last dimension).",
    formula="mean and var over dim=-1",
    hint="x.mean() without a dimension is the mean of all elements.",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def norm_over_everything(steps: Steps) -> list[Steps]:
    return [
        _over(steps, lambda x: tuple(range(x.dim()))),
        _over(steps, lambda _x: (-2, -1)),
        _over(steps, lambda x: tuple(range(1, x.dim()))),
    ]


@mistake(
    "axis-counted-from-the-front",
    "The last dimension is addressed as dim=2, which is the last one only for three dimensions. Use dim=-1.",
    formula="mean and var over dim=-1",
    hint="What if x has two dimensions, or four?",
    parts=NORM,
)
def axis_counted_from_the_front(steps: Steps) -> Steps:
    return _over(steps, lambda _x: (2,))


@mistake(
    "keepdim-missing",
    "The mean (or the variance) loses its last dimension, so it broadcasts against other dimensions of x: "
    "that fails, or uses the mean of other positions.",
    formula="mean [..., 1], var [..., 1]",
    hint="Print the shape of the mean. How does [B, T] broadcast against [B, T, D]?",
    parts=NORM,
)
def keepdim_missing(steps: Steps) -> list[Steps]:
    def mean(x: Tensor) -> Tensor:
        return x.mean(-1)

    def variance(x: Tensor, mean: Tensor) -> Tensor:
        return steps.variance(x, mean).squeeze(-1)

    return [
        replace(steps, mean=mean, variance=lambda x, _mean: x.var(-1, unbiased=False)),
        replace(steps, mean=mean, variance=lambda x, _mean: steps.variance(x, x.mean(-1, keepdim=True))),
        replace(steps, variance=variance),
    ]


@mistake(
    "variance-unbiased",
    "The variance is divided by D - 1, which is the default of torch.var and torch.std; it must be divided "
    "by D.",
    formula="var = mean((x - mean)^2)",
    hint="What is the default of `unbiased` (or `correction`) of torch.var and torch.std?",
    source="harvardnlp/annotated-transformer#119, #122; allenai/allennlp#953",
    parts=NORM,
)
def variance_unbiased(steps: Steps) -> Steps:
    def unbiased(x: Tensor, mean: Tensor) -> Tensor:
        return steps.variance(x, mean) * x.size(-1) / (x.size(-1) - 1)

    return replace(steps, variance=unbiased)


@mistake(
    "variance-summed",
    "The squared deviations are summed; the variance is their mean.",
    formula="var = mean((x - mean)^2)",
    hint="Does your variance grow with d_model?",
    parts=NORM,
)
def variance_summed(steps: Steps) -> Steps:
    return replace(steps, variance=lambda x, mean: steps.variance(x, mean) * x.size(-1))


@mistake(
    "variance-by-difference",
    "The variance is computed as mean(x^2) - mean(x)^2. For large values that are close together both "
    "terms are almost equal, and their difference is mostly rounding error, or negative.",
    formula="var = mean((x - mean)^2)",
    hint="Try x near 10000.",
    parts=NORM,
)
def variance_by_difference(steps: Steps) -> Steps:
    return replace(steps, variance=lambda x, mean: x.square().mean(-1, keepdim=True) - mean.square())


@mistake(
    "absolute-deviation",
    "The mean absolute deviation is used; the norm must divide by the standard deviation, the root of the "
    "mean square.",
    formula="sqrt(mean((x - mean)^2) + eps)",
    hint="Where is the square, and where the root?",
    parts=NORM,
)
def absolute_deviation(steps: Steps) -> Steps:
    return replace(steps, variance=lambda x, mean: (x - mean).abs().mean(-1, keepdim=True).square())


@mistake(
    "mean-not-subtracted",
    "The mean is not subtracted from x before the division.",
    formula=FORMULA,
    hint="What is the mean of your x_hat?",
    source=BA,
    parts=NORM,
)
def mean_not_subtracted(steps: Steps) -> Steps:
    return replace(steps, centre=lambda x, _mean: x)


@mistake(
    "rms-norm",
    "x is divided by its root mean square, and the mean is never subtracted. That is RMSNorm (Zhang and "
    "Sennrich 2019), which some models use instead of layer normalization.",
    formula=FORMULA,
    hint="What is the variance of a row in which all elements are 5?",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def rms_norm(steps: Steps) -> Steps:
    return replace(steps, centre=lambda x, _mean: x, variance=_mean_square)


@mistake(
    "variance-around-zero",
    "The variance is computed as the mean of x squared: the mean of x must be subtracted before squaring.",
    formula=FORMULA,
    hint="What is the variance of a row in which all elements are 5?",
    source=BA,
    parts=NORM,
)
def variance_around_zero(steps: Steps) -> Steps:
    return replace(steps, variance=_mean_square)


def _mean_square(x: Tensor, _mean: Tensor) -> Tensor:
    return x.square().mean(-1, keepdim=True)


@mistake(
    "eps-outside-root",
    "eps is added to the standard deviation, outside the square root. Rows with little variance get other "
    "results, and the gradient of the root at 0 is not finite.",
    formula="sqrt(var + eps), not sqrt(var) + eps",
    hint="What does your formula give for eps=0.5?",
    source="hyunwoongko/transformer#7; hkproj/pytorch-transformer#31",
    parts=NORM,
)
def eps_outside_root(steps: Steps) -> Steps:
    return replace(steps, divide=lambda x, variance, eps: x / (variance.sqrt() + eps))


@mistake(
    "eps-missing",
    "eps is not used: a row of equal elements has variance 0, and is divided by 0.",
    formula=FORMULA,
    hint="Try x = torch.ones(1, 4).",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def eps_missing(steps: Steps) -> Steps:
    return replace(steps, eps=lambda _given: 0.0)


@mistake(
    "eps-ignored",
    "The argument `eps` is ignored: a fixed number is used.",
    formula=FORMULA,
    hint="Where is the eps that is passed to __init__ used?",
    parts=NORM,
)
def eps_ignored(steps: Steps) -> list[Steps]:
    return [replace(steps, eps=lambda _given, e=e: e) for e in (1e-5, 1e-6, 1e-8, 1e-12)]  # type: ignore[misc]


@mistake(
    "eps-default",
    "The default of `eps` is not 1e-5, so rows with little variance get other results.",
    formula="LayerNorm(d_model, eps=1e-5)",
    hint="Compare the signature with the template's.",
    parts=NORM,
)
def eps_default(steps: Steps) -> list[Steps]:
    return [
        replace(steps, eps=lambda given, e=e: e if given is None else given)  # type: ignore[misc]
        for e in (1e-6, 1e-8, 1e-12, 1e-3)
    ]


@mistake(
    "root-missing",
    "x is divided by the variance (or its square); it must be divided by its square root.",
    formula=FORMULA,
    hint="If x is doubled, x_hat must not change.",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def root_missing(steps: Steps) -> list[Steps]:
    return [
        replace(steps, divide=lambda x, variance, eps: x / (variance + eps)),
        replace(steps, divide=lambda x, variance, eps: x / (variance + eps) ** 2),
    ]


@mistake(
    "multiplied-by-deviation",
    "x is multiplied by the square root of the variance; it must be divided by it.",
    formula=FORMULA,
    hint="torch.rsqrt is 1 / sqrt: multiply by rsqrt, or divide by sqrt.",
    parts=NORM,
)
def multiplied_by_deviation(steps: Steps) -> Steps:
    return replace(steps, divide=lambda x, variance, eps: x * (variance + eps).sqrt())


@mistake(
    "not-divided",
    "The mean is subtracted, but there is no division by the root of the variance.",
    formula=FORMULA,
    hint="What is the variance of your x_hat?",
    parts=NORM,
)
def not_divided(steps: Steps) -> Steps:
    return replace(steps, divide=lambda x, _variance, _eps: x)


@mistake(
    "residual-in-norm",
    "The input is added to the result. The residual sum belongs around the sublayer, not in the norm.",
    formula=FORMULA,
    hint="Is there a + x in the formula?",
    parts=NORM,
)
def residual_in_norm(steps: Steps) -> Steps:
    return replace(steps, finish=lambda x, out: steps.finish(x, out + x))


@mistake(
    "norm-gradient-cut",
    "The gradient is blocked: mean and variance are treated as constants (detach, .data, no_grad), or the "
    "whole result is detached. The forward pass is right, and training goes wrong.",
    hint="Look for detach(), .data, .item() and torch.no_grad() in forward.",
    parts=NORM,
)
def norm_gradient_cut(steps: Steps) -> list[Steps]:
    return [
        replace(steps, finish=lambda x, out: steps.finish(x, out.detach())),
        replace(steps, mean=lambda x: steps.mean(x).detach(),
                variance=lambda x, mean: steps.variance(x, mean).detach()),
        replace(steps, variance=lambda x, mean: steps.variance(x, mean).detach()),
        replace(steps, enter=lambda x: steps.enter(x).detach()),
    ]  # fmt: skip


@mistake(
    "norm-input-changed",
    "The input is modified in place; the residual sum needs the caller's x unchanged.",
    hint="x -= ..., x /= ... and methods that end in _ work in place.",
    parts=NORM,
)
def norm_input_changed(steps: Steps) -> list[Steps]:
    def spoilt(x: Tensor) -> Tensor:
        copy = x.clone()
        x.sub_(x.mean(-1, keepdim=True))
        return copy

    return [replace(steps, enter=spoilt)]


@mistake(
    "norm-in-float32",
    "The result is float32 whatever the dtype of the input: it was converted for the computation, and not "
    "converted back.",
    hint="After x.float(), which dtype has what you return?",
    parts=NORM,
)
def norm_in_float32(steps: Steps) -> Steps:
    return replace(
        steps,
        enter=lambda x: steps.enter(x).float(),
        finish=lambda x, out: steps.finish(x, out.to(torch.float32)),
    )
