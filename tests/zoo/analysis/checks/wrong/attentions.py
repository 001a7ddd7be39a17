"""Attentions with one thing wrong each: shapes, rows, gradients, dropout."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.zoo.analysis.checks.support import wrong
from tests.zoo.analysis.checks.wrong.attention_base import Base
from zoo.parts.attention.eager import EagerAttention

MADE = "can be constructed with the arguments of its axis"
SHAPES = "keeps the query's shape and dtype, in float32, float64 and bfloat16"
WIDTH = "rejects a d_model that num_heads does not divide"
ROWS = "rows of a batch are independent"
ORDER = "the order of the keys does not matter"
REACH = "gradients are finite and reach every parameter, query, key and value"
LARGE = "large inputs give finite outputs"
DROPOUT = "dropout is active in train mode only"
INPUTS = "does not modify its inputs and masks"
EVAL = "is deterministic in eval mode"


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


@wrong("attention", ROWS, "A row alone gives another result")
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


@wrong("attention", LARGE, "contains NaN")
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
        return super().scores(q, k) * (1 + torch.rand(1).to(q))


@wrong("attention", EVAL, "after a call with another input")
class Remembers(Base):
    seen = 0.0

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        found = super().scores(q, k) * (1 + self.seen)
        self.seen = float(q.size(-2) == 6)
        return found
