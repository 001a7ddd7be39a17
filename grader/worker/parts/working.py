"""Parts that can be trained: what stands around the learner's part while a model learns to spell words backwards.

A pre-norm Transformer of one layer a side. Parameters are called as in the zoo's own model for the task, so that
weights can be copied by name, both ways.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .base import Part
from .blocks import masked


class WorkingAttention(nn.Module):
    """Multi-head attention; bool masks, True = may be attended to, or additive ones."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """query [B, Tq, D], key and value [B, Tk, D] -> [B, Tq, D]."""
        pairs = ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        q, k, v = (
            proj(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for proj, x in pairs
        )  # [B, T, D] -> [B, H, T, d]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))  # [B, H, Tq, Tk]
        if mask is not None:
            scores = masked(scores, mask)
        mixed: Tensor = self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))  # [B, Tq, D]
        return mixed


class WorkingFeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.up_proj, self.down_proj = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        out: Tensor = self.down_proj(self.up_proj(x).relu())
        return out


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


class _Tables(nn.Module):
    def __init__(self, vocab: int, d_model: int) -> None:
        super().__init__()
        self.src_table, self.tgt_table = nn.Embedding(vocab, d_model), nn.Embedding(vocab, d_model)


class Reverser(Part):
    """The whole model: token ids to logits. PAD is 0."""

    def __init__(self, vocab: int, d_model: int, num_heads: int, d_ff: int, max_len: int) -> None:
        super().__init__()
        self.embeddings = _Tables(vocab, d_model)
        self.positions = WorkingPositions(d_model, max_len)
        self.encoder, self.decoder = (
            WorkingEncoder(d_model, num_heads, d_ff),
            WorkingDecoder(d_model, num_heads, d_ff),
        )
        self.head = nn.Linear(d_model, vocab)

    def encode(self, src: Tensor) -> Tensor:
        """src [B, S] -> memory [B, S, D]."""
        memory: Tensor = self.encoder(
            self.positions(self.embeddings.src_table(src)), (src != 0)[:, None, None]
        )
        return memory

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """tgt [B, L], memory [B, S, D], src [B, S] -> logits [B, L, V]."""
        length = tgt.size(1)
        causal = torch.ones(length, length, dtype=torch.bool, device=tgt.device).tril()
        tgt_mask = causal & (tgt != 0)[:, None, None]  # [B, 1, L, L]
        x = self.positions(self.embeddings.tgt_table(tgt))
        logits: Tensor = self.head(self.decoder(x, memory, (src != 0)[:, None, None], tgt_mask))
        return logits

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src [B, S], tgt [B, L] -> logits [B, L, V]."""
        return self.decode(tgt, self.encode(src), src)


class Trainer(Part):
    """An AdamW optimizer over a module, which is what the submission is given; the judge sets its rate."""

    def __init__(
        self, module: nn.Module, betas: tuple[float, float], eps: float, weight_decay: float
    ) -> None:
        super().__init__()
        self._optimizer = torch.optim.AdamW(
            module.parameters(), lr=0.0, betas=(betas[0], betas[1]), eps=eps, weight_decay=weight_decay
        )

    def handed(self) -> torch.optim.Optimizer:
        """The optimizer."""
        return self._optimizer

    def set_rate(self, rate: float) -> None:
        """For the next step."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate
