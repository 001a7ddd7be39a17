"""Multi-head attention of the sequence-to-sequence library."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class AttentionResult(NamedTuple):
    output: Tensor
    weights: Tensor


@dataclass(frozen=True)
class AttentionConfig:
    d_model: int
    num_heads: int
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.d_model % self.num_heads:
            raise ValueError(f"d_model={self.d_model} cannot be split into num_heads={self.num_heads}")

    @property
    def head_dim(self) -> int:
        return self.d_model // self.num_heads

    @property
    def projections(self) -> tuple[str, ...]:
        return ("query", "key", "value")


class MaskAdapter:
    """Hides the two forms of masks from the code that applies them."""

    def __init__(self, mask: Tensor | None) -> None:
        self._blocked = None if mask is None else self._to_blocked(mask)

    @staticmethod
    def _to_blocked(mask: Tensor) -> Tensor:
        if mask.dtype == torch.bool:
            return mask.logical_not()
        return torch.isneginf(mask)

    @property
    def is_empty(self) -> bool:
        return self._blocked is None

    def before_softmax(self, scores: Tensor) -> Tensor:
        if self.is_empty:
            return scores
        lowest = torch.finfo(scores.dtype).min
        return torch.where(self._blocked, torch.full_like(scores, lowest), scores)

    def after_softmax(self, weights: Tensor) -> Tensor:
        if self.is_empty:
            return weights
        return torch.where(self._blocked, torch.zeros_like(weights), weights)


def compute_scores(query: Tensor, key: Tensor) -> Tensor:
    """Compatibility of each query with each key, [..., Tq, Tk]."""
    assert query.size(-1) == key.size(-1), "queries and keys must have the same width"
    scale = 1.0 / math.sqrt(key.size(-1))
    return torch.einsum("...qd,...kd->...qk", query * scale, key)


def compute_weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    adapter = MaskAdapter(mask)
    scores = adapter.before_softmax(compute_scores(query, key))
    weights = F.softmax(scores, dim=-1)
    return adapter.after_softmax(weights)


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    """[..., Tq, Tk] and [..., Tk, Dv] -> [..., Tq, Dv]."""
    assert weights.size(-1) == value.size(-2), "one value for each key"
    return torch.einsum("...qk,...kd->...qd", weights, value)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> AttentionResult:
    weights = compute_weights(query, key, mask)
    return AttentionResult(output=mix_values(weights, value), weights=weights)


class HeadLayout:
    """Splits columns into heads and puts them together again."""

    def __init__(self, config: AttentionConfig) -> None:
        self.num_heads = config.num_heads
        self.head_dim = config.head_dim

    def split(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, H, T, d]."""
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(-3, -2)

    def merge(self, heads: Tensor) -> Tensor:
        """[B, H, T, d] -> [B, T, D]."""
        return heads.transpose(-3, -2).flatten(-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.config = AttentionConfig(d_model, num_heads, dropout)
        self.layout = HeadLayout(self.config)
        self.projections = nn.ModuleDict(
            {name: nn.Linear(d_model, d_model) for name in self.config.projections}
        )
        self.output = nn.Linear(d_model, d_model)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for projection in (*self.projections.values(), self.output):
            nn.init.xavier_uniform_(projection.weight)
            nn.init.zeros_(projection.bias)

    def _project(self, **inputs: Tensor) -> list[Tensor]:
        return [self.layout.split(self.projections[name](x)) for name, x in inputs.items()]

    def _drop(self, weights: Tensor) -> Tensor:
        if not self.training or self.config.dropout == 0.0:
            return weights
        return F.dropout(weights, p=self.config.dropout, training=True)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, length, width = query.shape
        assert width == self.config.d_model, f"expected width {self.config.d_model}, got {width}"
        q, k, v = self._project(query=query, key=key, value=value)
        weights = self._drop(compute_weights(q, k, mask))
        context = self.layout.merge(mix_values(weights, v))
        assert context.shape == (batch, length, width)
        return self.output(context)
