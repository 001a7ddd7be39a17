"""Parts that can be trained, for layers that a learner wrote, while a model learns to spell backwards.

Parameters are called as in the zoo's own model for the task, so that weights can be copied by name, both ways.
"""

from __future__ import annotations

import math

from torch import Tensor, nn

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
