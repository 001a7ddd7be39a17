"""Mistakes in the parameters of the layer norm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from grader.exercises.norm.mistakes.collection import BA, FORMULA, NORM, mistake
from grader.exercises.norm.reference import Steps


def _without(steps: Steps, *names: str) -> Steps:
    return replace(
        steps, parameters=lambda d: {n: p for n, p in steps.parameters(d).items() if n not in names}
    )


@mistake(
    "affine-missing",
    "Gain and bias are not trainable parameters: they are missing, or plain tensors or buffers, which no "
    "optimizer updates.",
    formula=FORMULA,
    hint="What does list(LayerNorm(4).parameters()) show?",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def affine_missing(steps: Steps) -> Steps:
    return _without(steps, "gain", "shift")


@mistake(
    "gain-missing",
    "There is no trainable gain, or it is not used: after the division, each feature must be multiplied by "
    "its gain.",
    formula=FORMULA,
    hint="Which terms of the formula are trainable, and how many elements does each have?",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def gain_missing(steps: Steps) -> Steps:
    return _without(steps, "gain")


@mistake(
    "bias-missing",
    "There is no trainable bias, or it is not used: at the end, each feature's bias must be added.",
    formula=FORMULA,
    hint="Which terms of the formula are trainable, and how many elements does each have?",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def bias_missing(steps: Steps) -> Steps:
    return _without(steps, "shift")


@mistake(
    "affine-scalar",
    "Gain or bias is a single number; each must be a vector with one element for each of the d_model "
    "features.",
    formula="gain [D], bias [D]",
    hint="How many elements do your parameters have?",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def affine_scalar(steps: Steps) -> list[Steps]:
    def narrow(*names: str) -> Steps:
        def make(d_model: int) -> Mapping[str, nn.Parameter]:
            return {
                n: nn.Parameter(p.detach()[:1].clone()) if n in names else p
                for n, p in steps.parameters(d_model).items()
            }

        return replace(steps, parameters=make)

    return [narrow("gain", "shift"), narrow("gain"), narrow("shift")]


@mistake(
    "affine-frozen",
    "Gain and bias are not trained (requires_grad is False).",
    formula=FORMULA,
    hint="nn.Parameter is trainable by default.",
    parts=NORM,
)
def affine_frozen(steps: Steps) -> Steps:
    def make(d_model: int) -> Mapping[str, nn.Parameter]:
        return {
            n: nn.Parameter(p.detach(), requires_grad=False) for n, p in steps.parameters(d_model).items()
        }

    return replace(steps, parameters=make)


def _starting(steps: Steps, gain: float | None, shift: float | None) -> Steps:
    def make(d_model: int) -> Mapping[str, nn.Parameter]:
        start = {"gain": gain, "shift": shift}
        generator = torch.Generator().manual_seed(d_model)
        for name, p in (found := dict(steps.parameters(d_model))).items():
            value = start[name]
            drawn = torch.randn(p.shape, generator=generator) if value is None else torch.full(p.shape, value)
            found[name] = nn.Parameter(drawn)
        return found

    return replace(steps, parameters=make)


@mistake(
    "gain-and-bias-swapped",
    "Gain and bias are swapped: the gain is initialized to 0 and the bias to 1, or one is used as the "
    "other. A new norm then returns 1 everywhere, whatever the input.",
    formula=FORMULA,
    hint="Which of the two must be 1 at the start, so that a new norm only normalizes?",
    source="Layer Normalization (Ba et al. 2016), section 3",
    parts=NORM,
)
def gain_and_bias_swapped(steps: Steps) -> list[Steps]:
    def swapped(x_hat: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
        return x_hat * weights["shift"] + weights["gain"]

    return [_starting(steps, 0.0, 1.0), replace(steps, affine=swapped)]


@mistake(
    "affine-starts-wrong",
    "Gain or bias is initialized wrongly: every element of the gain must be 1, and of the bias 0.",
    formula="gain = 1, 1, 1, ...; bias = 0, 0, 0, ...",
    hint="torch.ones, torch.zeros, torch.randn, torch.empty: which initializes which?",
    source=BA,
    parts=NORM,
)
def affine_starts_wrong(steps: Steps) -> list[Steps]:
    return [_starting(steps, 0.0, 0.0), _starting(steps, 1.0, 1.0)]


@mistake(
    "bias-scaled-too",
    "The bias is added before the multiplication by the gain, so the gain scales it too.",
    formula=FORMULA,
    hint="Which comes last, gain or bias?",
    parts=NORM,
)
def bias_scaled_too(steps: Steps) -> Steps:
    return replace(steps, affine=lambda x_hat, weights: (x_hat + weights["shift"]) * weights["gain"])


@mistake(
    "gain-added",
    "The gain is added to 1 or to the result; x_hat must be multiplied by it.",
    formula=FORMULA,
    hint="With a gain of 2, by which factor should the result grow?",
    parts=NORM,
)
def gain_added(steps: Steps) -> list[Steps]:
    return [
        replace(steps, affine=lambda x_hat, weights: x_hat * (1 + weights["gain"]) + weights["shift"]),
        replace(steps, affine=lambda x_hat, weights: x_hat + weights["gain"] + weights["shift"]),
    ]
