"""Attentions with one thing wrong each."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.zoo.checks.support import wrong
from zoo.attention.base import MultiHeadAttention, WeightedAttention, masked_softmax, with_bias
from zoo.attention.eager import EagerAttention

MADE = "can be made as its axis makes it"
SHAPES = "keeps the query's shape and dtype, in float32, float64 and bfloat16"
WIDTH = "refuses a width that the heads do not divide"
ROWS = "rows of a batch do not see each other"
ORDER = "the order of the keys does not matter"
REACH = "gradients are finite and reach every parameter, query, key and value"
LARGE = "large inputs give finite outputs"
DROPOUT = "dropout acts in train mode, and only there"
INPUTS = "inputs and masks are left as they were"
EVAL = "eval mode gives the same each time"
KEY = "a masked key changes nothing"
QUERY = "a query takes nothing from keys that are masked for it"
CAUSAL = "under a causal mask the past counts and the future does not"
BROADCAST = "a mask means the same however it is broadcast"
NOTHING = "a mask that hides nothing changes nothing"
FORMS = "every form of mask that it declares means the same"
BLANK = "a row that may attend to nothing takes nothing"
FINITE = "outputs and gradients are finite whatever is masked"
EXACT = "equals eager with the same weights"
WEIGHTS = "the weights it shows are those it uses"
CACHED = "position by position with a cache equals all at once"
MEMORY = "in cross-attention, keys and values are taken from the cache"
PACKED = "a batch without its padding gives the same"
TURNED = "an encoding can turn queries and keys"
SCORED = "an encoding can act on the scores"


class Base(WeightedAttention):
    """The oracle in pieces that can be broken one at a time."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-2, -1) * self.head_width**-0.5

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return masked_softmax(scores, mask)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        weights = self.weights(self.scores(q, k), mask)
        return self.dropout(weights) @ v, weights


@wrong("attention", MADE, "TypeError")
class TakesNoArguments(nn.Module):
    def __init__(self) -> None:
        super().__init__()


@wrong("attention", MADE, "not written yet")
class NotWritten(Base):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, num_heads, dropout)
        raise NotImplementedError("the constructor")


@wrong("attention", MADE, "there is none")
class NoForward(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()


@wrong("attention", MADE, "derived from nn.Module")
class NoModule:
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        pass


@wrong("attention", SHAPES, "Expected shape")
class WrongShape(EagerAttention):
    def forward(self, query: Tensor, *rest: Any) -> Tensor:
        return super().forward(query, *rest)[:, :1]


@wrong("attention", SHAPES, "In float64: Expected float64, as its input has, got float32.")
class AlwaysFloat(EagerAttention):
    def forward(self, query: Tensor, *rest: Any) -> Tensor:
        return super().forward(query, *rest).float()


@wrong("attention", SHAPES, "Expected a tensor, got tuple.")
class ReturnsPair(EagerAttention):
    def forward(self, *args: Any) -> Any:
        return super().forward(*args), None


@wrong("attention", SHAPES, "RuntimeError")
class SameLengthsOnly(Base):
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return super().scores(q, k) + torch.zeros(q.size(-2), q.size(-2)).to(q)


@wrong("attention", WIDTH, "raises no ValueError")
class AnyWidth(nn.Linear):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, d_model)


@wrong("attention", WIDTH, "raises AssertionError, not ValueError")
class AssertsWidth(EagerAttention):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        assert d_model % num_heads == 0, "does not divide"
        super().__init__(d_model, num_heads, dropout)


@wrong("attention", ROWS, "A row alone gives something else")
class MixesRows(Base):
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return super().scores(q, k) - super().scores(q, k).mean(0)


@wrong("attention", ORDER, "Keys and values in another order")
class CountsKeys(Base):
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return super().scores(q, k) + torch.arange(k.size(-2)).to(q)


@wrong("attention", ORDER, "Queries in another order")
class CountsQueries(Base):
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return super().scores(q, k) * torch.arange(q.size(-2)).to(q)[:, None]


@wrong("attention", REACH, "No gradient reaches spare")
class UnusedParameter(EagerAttention):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, num_heads, dropout)
        self.spare = nn.Parameter(torch.ones(1))


@wrong("attention", REACH, "q_proj")
class DetachedWeights(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weights(scores, mask).detach()


@wrong("attention", LARGE, "holds NaN")
class NaiveExponential(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        raised = scores.exp()
        if mask is not None:
            raised = raised * (mask if mask.dtype == torch.bool else mask != float("-inf"))
        return raised / raised.sum(-1, keepdim=True).clamp(min=1e-30)


@wrong("attention", DROPOUT, "In eval mode, dropout=0.5 changes the output")
class AlwaysDrops(Base):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        weights = self.weights(self.scores(q, k), mask)
        return nn.functional.dropout(weights, self.dropout.p) @ v, weights


@wrong("attention", DROPOUT, "In train mode, dropout=0.5 does nothing")
class NeverDrops(EagerAttention):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, num_heads)


@wrong("attention", INPUTS, "The query was changed in place")
class ChangesQuery(EagerAttention):
    def forward(self, query: Tensor, *rest: Any) -> Tensor:
        if not torch.is_grad_enabled():
            query *= 2
        return super().forward(query, *rest)


@wrong("attention", INPUTS, "The mask was changed in place")
class ChangesMask(EagerAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None, *rest: Any) -> Tensor:
        out = super().forward(query, key, value, mask, *rest)
        if mask is not None and not torch.is_grad_enabled():
            mask |= True
        return out


@wrong("attention", EVAL, "two calls with the same input differ")
class RandomInEval(Base):
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return super().scores(q, k) + torch.rand(1).to(q) * q[..., :1]


@wrong("attention", EVAL, "after a call with another input")
class Remembers(Base):
    seen = 0.0

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        found = super().scores(q, k) * (1 + self.seen)
        self.seen = float(q.size(-2) == 6)
        return found


@wrong("attention", KEY, "keys that the mask hides changed the output")
class IgnoresMask(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return scores.softmax(-1)


@wrong("attention", KEY, "keys that the mask hides changed the output")
class MaskTheOtherWayRound(Base):
    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return super().weights(scores, ~mask if mask is not None and mask.dtype == torch.bool else mask)


@wrong("attention", KEY, "keys that the mask hides changed the output")
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


@wrong("attention", BLANK, "holds NaN")
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


@wrong("attention", EXACT, "it differs from eager", exact=True)
class NotScaled(Base):
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-2, -1)


@wrong("attention", EXACT, "they differ in k_proj.bias, k_proj.weight, keys.bias, keys.weight.", exact=True)
class NamesOfItsOwn(Base):
    def make_projections(self, d_model: int, bias: bool) -> None:
        super().make_projections(d_model, bias)
        self.keys = self.k_proj
        del self.k_proj

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.split(self.q_proj(query)), self.split(self.keys(key)), self.split(self.v_proj(value))


@wrong("attention", WEIGHTS, "do not sum to 1", exact=True, returns_weights=True)
class ShowsScores(Base):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        heads, weights = super().attend(q, k, v, mask)
        return heads, weights / 2


@wrong("attention", WEIGHTS, "Expected weights of shape", returns_weights=True)
class ShowsTheMean(Base):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        heads, weights = super().attend(q, k, v, mask)
        return heads, weights.mean(1, keepdim=True)


@wrong("attention", WEIGHTS, "AttributeError", returns_weights=True)
class ShowsNothing(MultiHeadAttention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        return masked_softmax(q @ k.transpose(-2, -1), mask) @ v, None


@wrong("attention", CACHED, "TypeError", cacheable=True)
class DeclaresACache(EagerAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Tensor:
        return super().forward(query, key, value, mask)


@wrong("attention", CACHED, "With a cache, position 1 is another", cacheable=True)
class ForgetsTheCache(EagerAttention):
    def prepare(self, query: Tensor, key: Tensor, value: Tensor, mask: Any, *rest: Any) -> Any:
        mask = mask if mask is None else mask[..., -key.size(1) :]
        return super().prepare(query, key, value, mask)


@wrong("attention", MEMORY, "NaN", cacheable=True)
class ProjectsTheMemoryAgain(EagerAttention):
    def prepare(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Any, positions: Any, cache: Any, *rest: Any
    ) -> Any:
        return super().prepare(
            query, key, value, mask, positions, cache if cache is None or cache.grows else None
        )


@wrong("attention", PACKED, "RuntimeError", packs=True)
class TakesAPackForARow(EagerAttention):
    def prepare(self, query: Tensor, key: Tensor, value: Tensor, mask: Any, *rest: Any) -> Any:
        return super().prepare(query, key, value, mask)


@wrong("attention", PACKED, "Packed, it gives something else in self-attention", packs=True)
class PacksWithoutTheMask(EagerAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None, *rest: Any) -> Tensor:
        return super().forward(query, key, value, None if len(rest) == 3 else mask, *rest)


@wrong("attention", TURNED, "Positions have no influence", positions=("queries-keys",))
class TurnsNothing(EagerAttention):
    def prepare(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Any, positions: Any, cache: Any, *rest: Any
    ) -> Any:
        return super().prepare(query, key, value, mask, None, cache)


@wrong("attention", TURNED, "TypeError", positions=("queries-keys",))
class TakesNoPositions(EagerAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Tensor:
        return super().forward(query, key, value, mask)


@wrong("attention", SCORED, "Positions have no influence", positions=("scores",))
class DropsTheBias(EagerAttention):
    def prepare(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Any, positions: Any, cache: Any, *rest: Any
    ) -> Any:
        q, k, v, _ = super().prepare(query, key, value, mask, positions, cache)
        return q, k, v, mask


@wrong("attention", SCORED, "Positions that do nothing changed the output", positions=("scores",))
class BiasesAlways(EagerAttention):
    def prepare(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Any, positions: Any, cache: Any, *rest: Any
    ) -> Any:
        q, k, v, mask = super().prepare(query, key, value, mask, positions, cache)
        return (
            q,
            k,
            v,
            mask if positions is None else with_bias(mask, torch.arange(k.size(-2)).to(q)[None, None, None]),
        )
