"""Norms with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.analysis.checks.support import wrong

SHAPES = "keeps shape and dtype, in float32, float64 and bfloat16"
INPUTS = "does not modify its inputs"
EVAL = "is deterministic in eval mode"
VECTOR = "treats every vector independently"
REACH = "gradients are finite and reach the input and every parameter"


class OwnNorm(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


@wrong("norm-type", SHAPES, "In float64: Expected float64")
class NormInFloat(OwnNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).float()


@wrong("norm-type", VECTOR, "A vector alone gives another result")
class NormOverTime(OwnNorm):
    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x - x.mean(-2, keepdim=True))


@wrong("norm-type", REACH, "No gradient reaches weight")
class NormWithoutItsGain(OwnNorm):
    def forward(self, x: Tensor) -> Tensor:
        return x / (x.norm(dim=-1, keepdim=True) + 1)


@wrong("norm-type", INPUTS, "changed in place")
class NormInPlace(OwnNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) if torch.is_grad_enabled() else x.div_(2) * self.weight


@wrong("norm-type", EVAL, "two calls with the same input differ")
class NormAtRandom(OwnNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * torch.rand(1).to(x)


@wrong("norm-type", "small, constant and zero vectors give finite outputs and gradients", "contains NaN")
class NormWithoutEps(OwnNorm):
    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x / x.norm(dim=-1, keepdim=True)


@wrong("norm-type", "train and eval mode give the same results", "Train and eval mode differ")
class NormWithStatistics(OwnNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) if self.training else x * self.weight
