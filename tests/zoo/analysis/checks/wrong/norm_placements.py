"""Norm placements with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.norm.base import NormPlacement, Sublayer
from zoo.parts.norm.pre import PreNorm

ROWS = "rows of a batch are independent"
INPUTS = "does not modify its inputs"
EVAL = "is deterministic in eval mode"
DROPOUT = "dropout is active in train mode only"
REACH = "gradients are finite and reach the input and every parameter"
CAUSAL = "in a model: no later target token changes earlier logits"
SOURCE = "in a model: every source token reaches every logit"
PADDING = "in a model: padding does not affect other positions"
BATCH = "in a model: rows of a batch are independent"
CACHED = "in a model: cached decoding matches recomputing everything"


class Placement(NormPlacement):
    """The placement `pre`, one step at a time."""

    def step(self, x: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        return x + self.dropout(sublayer(norm(x)))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        for norm, sublayer in zip(self.norms, sublayers, strict=True):
            x = self.step(x, norm, sublayer)
        return x


@wrong("norm", "keeps shape and dtype, with two sublayers and with three", "ValueError")
class TwoSublayersOnly(Placement):
    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        first, second = sublayers
        return super().forward(x, first, second)


@wrong("norm", "calls every sublayer once and uses its output", "1, 1, 0 times")
class SkipsTheLast(Placement):
    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        for norm, sublayer in zip(self.norms, sublayers[:-1], strict=False):
            x = self.step(x, norm, sublayer)
        return x


@wrong("norm", "calls every sublayer once and uses its output", "has no influence")
class DropsABranch(Placement):
    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        sublayers[0](self.norms[0](x))
        for norm, sublayer in list(zip(self.norms, sublayers, strict=True))[1:]:
            x = self.step(x, norm, sublayer)
        return x


@wrong("norm", "has a residual path around the sublayers", "does not depend on the input")
class NoResidual(Placement):
    def step(self, x: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        return self.dropout(sublayer(norm(x)))


class MeanOfAll(Placement):
    def step(self, x: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        return super().step(x, norm, sublayer) + x.mean(1, keepdim=True)


@wrong(
    "norm", "treats every position independently, if it declares cacheable", "among others", cacheable=True
)
class DeclaresPositionByPosition(MeanOfAll):
    pass


@wrong("norm", ROWS, "A row alone gives another result")
class PlacementOfTheBatch(Placement):
    def step(self, x: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        return super().step(x, norm, sublayer) - x.mean(0)


@wrong("norm", REACH, "No gradient reaches norms.1.weight")
class OneNormForAll(Placement):
    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        for sublayer in sublayers:
            x = self.step(x, self.norms[0], sublayer)
        return x


@wrong("norm", DROPOUT, "does nothing")
class PlacementWithoutDropout(Placement):
    def step(self, x: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        return x + sublayer(norm(x))


@wrong("norm", INPUTS, "Argument 1 of 1 was changed in place")
class PlacementInPlace(Placement):
    def step(self, x: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        branch = self.dropout(sublayer(norm(x)))
        return x + branch if torch.is_grad_enabled() else x.add_(branch)


@wrong("norm", EVAL, "after a call with another input")
class PlacementThatCounts(Placement):
    calls = 0

    def step(self, x: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        self.calls += x.size(1) == 7
        return super().step(x, norm, sublayer) * (1 + self.calls)


@wrong("norm", CAUSAL, "changed earlier logits")
class PlacementThatSeesTheFuture(MeanOfAll):
    pass


@wrong("norm", PADDING, "Padding changes the logits at other positions")
class PlacementThatSeesPadding(MeanOfAll):
    pass


@wrong("norm", CACHED, "With a cache, step 2 gives other logits", cacheable=True)
class PlacementThatLooksBack(Placement):
    def step(self, x: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        return super().step(x, norm, sublayer) + x.cumsum(1)


@wrong("norm", BATCH, "A row alone gives other logits")
class PlacementThatSeesTheBatch(PlacementOfTheBatch):
    pass


@wrong("norm", SOURCE, "Source token")
class PlacementThatForgets(PreNorm):
    """The first position is lost."""

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        keep = torch.ones(x.size(1), 1).to(x)
        keep[0] = 0
        return super().forward(x * keep if len(sublayers) == 2 else x, *sublayers)
