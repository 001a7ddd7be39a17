"""Encodings with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.encoding.base import Encoding, Positions
from zoo.parts.encoding.learned import LearnedPositions
from zoo.parts.encoding.sinusoidal import SinusoidalPositions

SHAPES = "keeps shape and dtype, in float32, float64 and bfloat16"
ROWS = "rows of a batch are independent"
INPUTS = "does not modify its inputs"
EVAL = "is deterministic in eval mode"


@wrong("encoding", SHAPES, "Expected shape")
class EncodingAddsAPosition(SinusoidalPositions):
    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return torch.cat((x, x[:, :1]), dim=1)


@wrong("encoding", SHAPES, "In bfloat16: Expected bfloat16, as its input has, got float32.")
class EncodingInFloat(SinusoidalPositions):
    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return super().forward(x, start) + torch.zeros(1, dtype=torch.float32)


@wrong("encoding", "rejects more than max_len positions", "raises no ValueError")
class EncodingOfAnyLength(Encoding):
    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__(10**9)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return x + torch.arange(start, start + x.size(1)).to(x)[:, None]


@wrong("encoding", "rejects more than max_len positions", "raises IndexError, not ValueError")
class EncodingWithABareTable(LearnedPositions):
    def check_length(self, length: int) -> int:
        if length > self.max_len:
            raise IndexError("index out of range")
        return length


@wrong(
    "encoding", "distinguishes positions, if it declares positional", "The positions 0 and 1 get the same."
)
class EncodingThatTellsNothing(Encoding):
    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__(max_len)


@wrong(
    "encoding",
    "distinguishes positions, if it declares positional",
    "positions change the output",
    positional=False,
)
class EncodingThatTellsAfterAll(SinusoidalPositions):
    pass


class _Uniform(Positions):
    def bias(self, q: Tensor) -> Tensor:
        return torch.ones(1, 1, q.size(-2), q.size(-2)).to(q)


@wrong(
    "encoding", "distinguishes positions, if it declares positional", "get the same scores", acts_on="scores"
)
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
    "works in float32, float64 and bfloat16",
    "In float64: Expected torch.float64",
    acts_on="scores",
)
class EncodingWithAFloatBias(EncodingThatTellsNothing):
    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        return _InFloat()


@wrong(
    "encoding", "a single further position is encoded as in the full sequence", "With start=1", cacheable=True
)
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
    "a single further position is encoded as in the full sequence",
    "The last query alone gets another bias",
    acts_on="scores",
    cacheable=True,
)
class EncodingThatCountsFromTheStart(EncodingThatTellsNothing):
    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        return _FromTheStart(num_keys)


@wrong("encoding", ROWS, "A row alone gives another result")
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
