"""Encodings, norm placements, norms and feed-forward networks with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.checks.support import wrong
from zoo.encodings.base import Encoding, Positions
from zoo.encodings.learned import LearnedPositions
from zoo.encodings.sinusoidal import SinusoidalPositions
from zoo.feedforward.relu import ReluFeedForward
from zoo.norms.base import NormPlacement, Sublayer
from zoo.norms.pre import PreNorm

SHAPES = "keeps shape and dtype, in float32, float64 and bfloat16"
ROWS = "rows of a batch do not see each other"
INPUTS = "inputs are left as they were"
EVAL = "eval mode gives the same each time"
DROPOUT = "dropout acts in train mode, and only there"
VECTOR = "treats every vector by itself"
REACH = "gradients are finite and reach the input and every parameter"
TRAINS = "in a model: trains, with finite gradients that reach every parameter"
CAUSAL = "in a model: no later target token changes earlier logits"
SOURCE = "in a model: every source token reaches every logit"
PADDING = "in a model: padding changes nothing at words"
BATCH = "in a model: rows of a batch do not see each other"
CACHED = "in a model: decoding with a cache equals computing all anew"
SAVED = "in a model: its weights are in the state dict"
STEADY = "in a model: eval mode gives the same each time"


# encodings ------------------------------------------------------------------------------------------


@wrong("encoding", SHAPES, "Expected shape")
class EncodingAddsAPosition(SinusoidalPositions):
    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return torch.cat((x, x[:, :1]), dim=1)


@wrong("encoding", SHAPES, "In bfloat16: Expected bfloat16, as its input has, got float32.")
class EncodingInFloat(SinusoidalPositions):
    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return super().forward(x, start) + torch.zeros(1, dtype=torch.float32)


@wrong("encoding", "refuses more than max_len positions", "raises no ValueError")
class EncodingOfAnyLength(Encoding):
    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__(10**9)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return x + torch.arange(start, start + x.size(1)).to(x)[:, None]


@wrong("encoding", "refuses more than max_len positions", "raises IndexError, not ValueError")
class EncodingWithABareTable(LearnedPositions):
    def check_length(self, length: int) -> int:
        if length > self.max_len:
            raise IndexError("index out of range")
        return length


@wrong("encoding", "tells positions apart, if it declares so", "The positions 0 and 1 get the same.")
class EncodingThatTellsNothing(Encoding):
    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__(max_len)


@wrong(
    "encoding", "tells positions apart, if it declares so", "positions change the output", positional=False
)
class EncodingThatTellsAfterAll(SinusoidalPositions):
    pass


class _Uniform(Positions):
    def bias(self, q: Tensor) -> Tensor:
        return torch.ones(1, 1, q.size(-2), q.size(-2)).to(q)


@wrong("encoding", "tells positions apart, if it declares so", "get the same scores", acts_on="scores")
class EncodingWithOneBias(EncodingThatTellsNothing):
    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        return _Uniform()


@wrong("encoding", "acts where it declares", "bias() gives None", acts_on="scores")
class EncodingThatActsNowhere(EncodingThatTellsNothing):
    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        return Positions()


@wrong("encoding", "acts where it declares", "but positions() gives NoneType", acts_on="queries-keys")
class EncodingWithoutPositions(EncodingThatTellsNothing):
    pass


@wrong("encoding", "acts where it declares", "declares acts_on=embedding, but positions() gives something")
class EncodingThatActsInside(SinusoidalPositions):
    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        return _Uniform()


class _InFloat(Positions):
    def bias(self, q: Tensor) -> Tensor:
        return torch.arange(q.size(-2), dtype=torch.float32)


@wrong(
    "encoding",
    "acts in float32, float64 and bfloat16",
    "In float64: Expected torch.float64",
    acts_on="scores",
)
class EncodingWithAFloatBias(EncodingThatTellsNothing):
    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        return _InFloat()


@wrong("encoding", "one more position is placed as among all", "With start=1", cacheable=True)
class EncodingWithoutStart(SinusoidalPositions):
    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return super().forward(x)


class _FromTheStart(Positions):
    def __init__(self, num_keys: int) -> None:
        self.num_keys = num_keys

    def bias(self, q: Tensor) -> Tensor:
        rows, columns = torch.arange(q.size(-2))[:, None], torch.arange(self.num_keys)
        return (columns - rows).to(q)  # the queries are the last, not the first


@wrong(
    "encoding",
    "one more position is placed as among all",
    "The last query alone gets another bias",
    acts_on="scores",
    cacheable=True,
)
class EncodingThatCountsFromTheStart(EncodingThatTellsNothing):
    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        return _FromTheStart(num_keys)


@wrong("encoding", ROWS, "A row alone gives something else")
class EncodingOfTheBatch(SinusoidalPositions):
    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return super().forward(x, start) + x.mean(0)


@wrong("encoding", "gradients are finite and reach the embedding and every parameter", "No gradient reaches")
class EncodingWithoutTheEmbedding(LearnedPositions):
    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return super().forward(x.detach(), start)


@wrong("encoding", INPUTS, "changed in place")
class EncodingInPlace(SinusoidalPositions):
    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return x.add_(super().forward(torch.zeros_like(x), start)) if not x.requires_grad else x


@wrong("encoding", EVAL, "two calls with the same input differ")
class EncodingAtRandom(SinusoidalPositions):
    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return super().forward(x, start) + torch.rand(1).to(x)


# norm placements ------------------------------------------------------------------------------------


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


@wrong("norm", "every sublayer is called once, and its output counts", "1, 1, 0 times")
class SkipsTheLast(Placement):
    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        for norm, sublayer in zip(self.norms, sublayers[:-1], strict=False):
            x = self.step(x, norm, sublayer)
        return x


@wrong("norm", "every sublayer is called once, and its output counts", "has no influence")
class DropsABranch(Placement):
    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        sublayers[0](self.norms[0](x))
        for norm, sublayer in list(zip(self.norms, sublayers, strict=True))[1:]:
            x = self.step(x, norm, sublayer)
        return x


@wrong("norm", "there is a residual path past the sublayers", "does not depend on the input")
class NoResidual(Placement):
    def step(self, x: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        return self.dropout(sublayer(norm(x)))


class MeanOfAll(Placement):
    def step(self, x: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        return super().step(x, norm, sublayer) + x.mean(1, keepdim=True)


@wrong("norm", "treats every position by itself, if it declares cacheable", "among others", cacheable=True)
class DeclaresPositionByPosition(MeanOfAll):
    pass


@wrong("norm", ROWS, "A row alone gives something else")
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


@wrong("norm", PADDING, "Padding changes the logits at words")
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


# norms ----------------------------------------------------------------------------------------------


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


@wrong("norm-type", VECTOR, "A vector alone gives something else")
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


@wrong("norm-type", "small, constant and zero vectors give finite outputs and gradients", "holds NaN")
class NormWithoutEps(OwnNorm):
    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x / x.norm(dim=-1, keepdim=True)


@wrong("norm-type", "train and eval mode give the same", "Train and eval mode differ")
class NormWithStatistics(OwnNorm):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) if self.training else x * self.weight


# feed-forward networks ------------------------------------------------------------------------------


@wrong("feedforward", SHAPES, "Expected shape")
class NetworkOfInnerWidth(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return self.activate(self.up_proj(x))


@wrong("feedforward", SHAPES, "ValueError")
class ThreeDimensionsOnly(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        _, _, _ = x.shape
        return super().forward(x)


@wrong("feedforward", VECTOR, "A vector alone gives something else")
class NetworkOverTime(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + x.mean(-2, keepdim=True))


@wrong("feedforward", REACH, "No gradient reaches up_proj.weight")
class NetworkWithALayerTooMany(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(x.repeat(1, 1, 2))


@wrong("feedforward", REACH, "The gradient of")
class NetworkWithNanGradients(ReluFeedForward):
    def activate(self, x: Tensor) -> Tensor:
        return x.relu() + (x * 0).sqrt()


@wrong("feedforward", INPUTS, "changed in place")
class NetworkInPlace(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x if torch.is_grad_enabled() else x.relu_())


@wrong("feedforward", EVAL, "after a call with another input")
class NetworkThatRemembers(ReluFeedForward):
    longest = 0

    def forward(self, x: Tensor) -> Tensor:
        self.longest = max(self.longest, x.size(1))
        return super().forward(x) * self.longest


@wrong("feedforward", DROPOUT, "In eval mode, dropout=0.5 changes the output")
class NetworkThatScalesDropout(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * (1 - self.dropout.p)


@wrong("feedforward", TRAINS, "No gradient reaches encoder.layers.0.feed_forward.spare")
class NetworkWithASpare(ReluFeedForward):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, d_ff, dropout)
        self.spare = nn.Parameter(torch.ones(1))


@wrong("feedforward", SAVED, "other logits")
class NetworkWithAHiddenTable(ReluFeedForward):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, d_ff, dropout)
        self.hidden = torch.rand(d_ff, dtype=torch.float64)

    def activate(self, x: Tensor) -> Tensor:
        return x.relu() * self.hidden.to(x)


@wrong("feedforward", STEADY, "The logits change")
class NetworkThatKeepsCount(NetworkThatRemembers):
    pass
