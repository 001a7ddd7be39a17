"""A Linear D -> 3 d for each head; the output by a convolution."""

import torch
from torch import Tensor, nn


def scaled_dot_product_attention(query, key, value, mask=None):  # type: ignore[no-untyped-def]
    s = torch.einsum("...qd,...kd->...qk", query, key) / query.size(-1) ** 0.5
    if mask is not None:
        ok = (mask if mask.dtype == torch.bool else mask == 0).expand(s.shape)
        s = s.masked_fill(~ok, torch.finfo(s.dtype).min)
    w = s.softmax(-1)
    return w @ value, w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        self.h, self.drop = num_heads, nn.Dropout(dropout)
        d = d_model // num_heads
        self.heads = nn.ModuleList(nn.Linear(d_model, 3 * d) for _ in range(num_heads))
        self.out = nn.Conv1d(d_model, d_model, 1)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (
            torch.stack([head(t).chunk(3, -1)[i] for head in self.heads], 1)
            for i, t in enumerate((query, key, value))
        )
        w = scaled_dot_product_attention(q, k, v, mask)[1]
        return self.out((self.drop(w) @ v).transpose(1, 2).flatten(2).mT).mT
