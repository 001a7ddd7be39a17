"""Maskings with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.masking.full import FullMasking

ROWS = "rows of a batch are independent"


@wrong("masking", "masks are bool and broadcast to [B, 1, Tq, Tk]", "tgt: expected a bool tensor")
class MaskingInFloat(FullMasking):
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        return super().tgt(tokens, num_queries).float()


@wrong("masking", "masks are bool and broadcast to [B, 1, Tq, Tk]", "src: expected a shape that broadcasts")
class MaskingOfTwoDimensions(FullMasking):
    def src(self, tokens: Tensor) -> Tensor:
        return tokens != self.pad


@wrong("masking", "no target position may attend to a later one", "may attend to a later one")
class MaskingShiftedByOne(FullMasking):
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        keep = super().tgt(tokens, num_queries)
        return keep | keep.roll(1, -1)


@wrong("masking", "a token may attend to itself and to earlier tokens", "target is hidden from itself")
class MaskingWithoutTheDiagonal(FullMasking):
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        keep = super().tgt(tokens, tokens.size(1)) & ~torch.eye(tokens.size(1), dtype=torch.bool)
        return keep[:, :, -num_queries:]


@wrong("masking", "a token may attend to itself and to earlier tokens", "A word of the source is hidden")
class MaskingTheOtherWayRound(FullMasking):
    def src(self, tokens: Tensor) -> Tensor:
        return ~super().src(tokens)


@wrong("masking", "padding in the source is hidden", "Some padding of the source may be attended to")
class MaskingOfTheLastToken(FullMasking):
    def src(self, tokens: Tensor) -> Tensor:
        keep = torch.ones_like(super().src(tokens))
        keep[..., -1] = super().src(tokens)[..., -1]
        return keep


@wrong(
    "masking",
    "the last queries get the last rows of the whole mask",
    "queries is not the end of the whole mask",
)
class MaskingOfTheFirstRows(FullMasking):
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        return super().tgt(tokens, tokens.size(1))[:, :, :num_queries]


@wrong("masking", ROWS, "A row alone gets another mask")
class MaskingOfTheBatch(FullMasking):
    def src(self, tokens: Tensor) -> Tensor:
        return super().src(tokens).any(0, keepdim=True)


@wrong(
    "masking",
    "no row is hidden from everything, unless it declares blank_rows",
    "blank_rows=True would declare",
)
class MaskingWithBlankRows(FullMasking):
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        return super().tgt(tokens, num_queries) & (tokens[:, -num_queries:] != self.pad)[:, None, :, None]


@wrong("masking", "does not modify its input tokens", "changed in place")
class MaskingInPlace(FullMasking):
    def src(self, tokens: Tensor) -> Tensor:
        keep = super().src(tokens)
        tokens.clamp_(min=1)
        return keep
