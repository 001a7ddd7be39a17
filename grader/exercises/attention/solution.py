"""A solution of `attention.py`: short, plain, and correct in edge cases."""

import math

import torch
from torch import Tensor, nn


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(QK^T / sqrt(d_k)) over the keys that `mask` allows. Shapes as below."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # [..., Tq, Tk]
    if mask is None:
        return scores.softmax(dim=-1)
    keep = mask if mask.dtype == torch.bool else mask == 0
    # The lowest finite number, not -inf: a row without any allowed key would become NaN, and so would
    # its gradient. Such a row comes out even here, and zero after the second fill.
    scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1).masked_fill(~keep, 0.0)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attention(Q, K, V) = softmax(QK^T / sqrt(d_k)) V ("Attention Is All You Need", section 3.2.1).

    Args:
        query: [..., Tq, Dk].
        key: [..., Tk, Dk].
        value: [..., Tk, Dv].
        mask: broadcasts to [..., Tq, Tk]; bool with True = may be attended to, or float with 0 = may and
            -inf = may not; None lets every query look at every key.

    Returns:
        output [..., Tq, Dv] and weights [..., Tq, Tk]. A fully masked row has zero weights and output.
    """
    weights = attention_weights(query, key, mask)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W^O ("Attention Is All You Need", section 3.2.2).

    Args:
        d_model: width D of the input and the output.
        num_heads: number of heads; d_model must be a multiple of it, otherwise ValueError.
        dropout: probability with which a weight is dropped (after the softmax), in training mode only.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be a multiple of num_heads ({num_heads})")
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def _split(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:2], self.num_heads, -1).transpose(1, 2)  # [B, T, D] -> [B, H, T, d]

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """query [B, Tq, D], key [B, Tk, D], value [B, Tk, D], mask -> [B, Tq, D].

        `mask` as in `scaled_dot_product_attention` (bool: True = may be attended to), of 2 dimensions
        [Tq, Tk] or of 4, which broadcast to [B, H, Tq, Tk].
        """
        q, k, v = (
            self._split(self.q_proj(query)),
            self._split(self.k_proj(key)),
            self._split(self.v_proj(value)),
        )
        weights = attention_weights(q, k, mask)  # [B, H, Tq, Tk]
        heads = self.dropout(weights) @ v  # [B, H, Tq, d]
        merged = heads.transpose(1, 2).flatten(2)  # [B, Tq, D]
        output: Tensor = self.out_proj(merged)
        return output
