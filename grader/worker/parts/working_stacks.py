"""Parts that can be trained, for a whole model that a learner wrote: stacks of one layer, embeddings, positions.

Parameters are called as in the zoo's own model for the task, so that weights can be copied by name, both ways.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .working import WorkingAttention, WorkingFeedForward


class _Norms(nn.Module):
    def __init__(self, d_model: int, count: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(count))


class _Layer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, *, cross: bool) -> None:
        super().__init__()
        self.self_attention = WorkingAttention(d_model, num_heads)
        if cross:
            self.cross_attention = WorkingAttention(d_model, num_heads)
        self.feed_forward, self.norm = WorkingFeedForward(d_model, d_ff), _Norms(d_model, 3 if cross else 2)


class WorkingEncoder(nn.Module):
    """An encoder of one pre-norm layer, and a last norm."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([_Layer(d_model, num_heads, d_ff, cross=False)])
        self.final_norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """x [B, S, D], src_mask as in `WorkingAttention` -> [B, S, D]."""
        for layer in self.layers:
            assert isinstance(layer, _Layer)
            h = layer.norm.norms[0](x)
            x = x + layer.self_attention(h, h, h, src_mask)
            x = x + layer.feed_forward(layer.norm.norms[1](x))
        out: Tensor = self.final_norm(x)
        return out


class WorkingDecoder(nn.Module):
    """A decoder of one pre-norm layer, and a last norm."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([_Layer(d_model, num_heads, d_ff, cross=True)])
        self.final_norm = nn.LayerNorm(d_model)

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        """x [B, L, D], memory [B, S, D], masks as in `WorkingAttention` -> [B, L, D]."""
        for layer in self.layers:
            assert isinstance(layer, _Layer)
            h = layer.norm.norms[0](x)
            x = x + layer.self_attention(h, h, h, tgt_mask)
            x = x + layer.cross_attention(layer.norm.norms[1](x), memory, memory, src_mask)
            x = x + layer.feed_forward(layer.norm.norms[2](x))
        out: Tensor = self.final_norm(x)
        return out


class WorkingEmbedding(nn.Embedding):
    """Token ids [B, T] -> [B, T, D]."""


class WorkingPositions(nn.Module):
    """x plus sinusoids."""

    table: Tensor

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        angles = torch.arange(max_len)[:, None] * torch.exp(
            torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model)
        )  # [T, D / 2]
        table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)  # [T, D]
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        return x + self.table[: x.size(1)]
