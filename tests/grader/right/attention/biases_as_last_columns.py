"""Biases as one more column (inputs get a constant 1); keys sorted by descending score before the sum."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    s = query @ key.mT / query.size(-1) ** 0.5
    ok = None if mask is None else (mask if mask.dtype == torch.bool else mask == 0).expand_as(s)
    if ok is not None:
        s = s.masked_fill(~ok, -torch.inf)
        s = s.masked_fill(~ok.any(-1, keepdim=True), 0.0)
    ordered, order = s.sort(dim=-1, descending=True)
    e = (ordered - ordered[..., :1].detach()).exp()
    w = e / e.sum(-1, keepdim=True)
    w = torch.zeros_like(w).scatter(-1, order, w)
    return w @ value, w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        self.h, self.p = num_heads, dropout
        self.m = nn.ParameterList(torch.randn(d_model, d_model + 1) / d_model**0.5 for _ in range(4))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (
            (F.pad(t, (0, 1), value=1.0) @ m.T).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for t, m in zip((query, key, value), self.m, strict=False)
        )
        w = scaled_dot_product_attention(q, k, v, mask)[1]
        y = (F.dropout(w, self.p, self.training) @ v).transpose(1, 2).flatten(2)
        return F.pad(y, (0, 1), value=1.0) @ self.m[3].T
