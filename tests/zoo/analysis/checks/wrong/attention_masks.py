"""Attentions that do one thing wrong with masks."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.zoo.analysis.checks.support import wrong
from tests.zoo.analysis.checks.wrong.attention_base import Base

KEY = "a masked key has no effect"
QUERY = "a query depends on unmasked keys only"
CAUSAL = "under a causal mask, depends on the past and not on the future"
BROADCAST = "a mask has the same effect in every broadcast shape"
NOTHING = "a mask that hides nothing changes nothing"
FORMS = "every form of mask that it declares has the same effect"
BLANK = "a fully masked row attends to nothing"
FINITE = "outputs and gradients are finite whatever is masked"


@wrong("attention", KEY, "alues at masked keys changed the output")
class IgnoresMask(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return scores.softmax(-1)


@wrong("attention", KEY, "alues at masked keys changed the output")
class MaskTheOtherWayRound(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weights(scores, ~mask if mask is not None and mask.dtype == torch.bool else mask)


@wrong("attention", KEY, "alues at masked keys changed the output")
class ZeroIsHidden(Base):
    """Scores multiplied with the mask: a score of 0 still attends."""

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return scores.softmax(-1) if mask is None else (scores * mask).softmax(-1)


@wrong("attention", QUERY, "depends on keys or values that the mask hides from it")
class FirstMaskForAll(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weights(scores, mask if mask is None or mask.dim() < 4 else mask[..., :1, :])


@wrong("attention", CAUSAL, "Position 0 depends on a later one")
class LeaksTheFuture(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        whole = mask is not None and mask.dtype == torch.bool and mask.dim() == 4 and mask.size(-2) > 1
        return super().weights(scores, mask | mask.roll(1, -1) if whole and mask is not None else mask)


@wrong("attention", CAUSAL, "does not depend on itself")
class BlocksTheDiagonal(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        size = scores.shape[-2:]
        other = (
            ~torch.eye(*size, dtype=torch.bool) if size[0] == size[1] else torch.ones(size, dtype=torch.bool)
        )
        return super().weights(scores, other if mask is None else mask & other)


@wrong("attention", CAUSAL, "depends on no earlier one")
class SeesItselfOnly(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weights(scores, torch.eye(*scores.shape[-2:], dtype=torch.bool))


@wrong("attention", BROADCAST, "A mask [3, 1, 1, 5]")
class WantsAWholeMask(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weights(scores, None if mask is not None and mask.size(-2) == 1 else mask)


@wrong("attention", NOTHING, "A mask that hides nothing changed the output")
class SmoothsWhereMasked(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weights(scores if mask is None else scores / 2, mask)


@wrong("attention", FORMS, "A mask as additive gives another output than as bool")
class BoolOnly(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weights(scores, None if mask is None else mask.bool())


@wrong("attention", BLANK, "depends on the input")
class FillsWithALargeNumber(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        if mask is not None and mask.dtype != torch.bool:
            mask = mask != float("-inf")
        return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(-1)


@wrong("attention", BLANK, "contains NaN")
class FillsWithInfinity(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None or mask.dtype != torch.bool:
            return (scores if mask is None else scores + mask).softmax(-1)
        return scores.masked_fill(~mask, float("-inf")).softmax(-1)


@wrong("attention", FINITE, "the gradient of")
class NanGradients(Base):
    """The output is mended, the gradient is not."""

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            return scores.softmax(-1)
        keep = mask if mask.dtype == torch.bool else mask != float("-inf")
        added = torch.zeros(keep.shape).to(scores).masked_fill(~keep, float("-inf"))
        return (scores + added).softmax(-1).nan_to_num(0.0)
