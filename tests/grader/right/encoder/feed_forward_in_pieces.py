"""The feed-forward network gets two positions at a time."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with residual and norm ("Attention Is All You Need", section 3.1).

    Args:
        self_attention: part(query, key, value, mask) -> [B, Tq, D].
        feed_forward: part(x) -> [B, T, D].
        d_model: width D.
        dropout: on each sublayer's output before the residual sum, in training mode only.
        norm: "post": norm(x + drop(f(x))), or "pre": x + drop(f(norm(x))).
    """

    def __init__(
        self,
        self_attention: nn.Module,
        feed_forward: nn.Module,
        d_model: int,
        dropout: float = 0.0,
        norm: str = "post",
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """x [B, T, D], src_mask (bool: True = may be attended to) broadcasts to [B, H, T, T] -> [B, T, D]."""
        if self.pre:
            y = self.norm1(x)
            x = x + self.dropout(self.self_attention(y, y, y, src_mask))
            x = x + self.dropout(torch.cat([self.feed_forward(one) for one in self.norm2(x).split(2, 1)], 1))
        else:
            x = self.norm1(x + self.dropout(self.self_attention(x, x, x, src_mask)))
            x = self.norm2(x + self.dropout(torch.cat([self.feed_forward(one) for one in x.split(2, 1)], 1)))
        return x


class Encoder(nn.Module):
    """`num_layers` layers of their own, one after the other; a pre-norm stack ends in one more norm.

    Args:
        make_layer: without arguments, a new layer each time.
        num_layers: how many.
        d_model: width D.
        norm: "post" or "pre", as in the layers.
    """

    def __init__(
        self, make_layer: Callable[[], nn.Module], num_layers: int, d_model: int, norm: str = "post"
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)])
        self.final_norm = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """x [B, T, D], src_mask as in `EncoderLayer` -> [B, T, D]."""
        for layer in self.layers:
            x = layer(x, src_mask)
        output: Tensor = self.final_norm(x)
        return output
