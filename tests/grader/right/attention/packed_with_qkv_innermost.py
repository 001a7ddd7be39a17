"""Packed by head and column: [H, d, 3] as one Linear; torch's fused kernel in the class."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    s = query @ key.mT * query.size(-1) ** -0.5
    if mask is not None:
        if mask.dtype != torch.bool:
            mask = mask == 0
        mask = mask.broadcast_to(s.shape)
        s = s.masked_fill(~mask, -1e30)
    w = s.softmax(-1)
    if mask is not None:
        w = w.masked_fill(~mask, 0)
    return w @ value, w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        self.h, self.d, self.p = num_heads, d_model // num_heads, dropout
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        w = self.qkv.weight.unflatten(0, (self.h, self.d, 3))
        b = self.qkv.bias.unflatten(0, (self.h, self.d, 3))
        q, k, v = (
            torch.einsum("bti,hdi->bhtd", t, w[:, :, i]) + b[:, None, :, i]
            for i, t in enumerate((query, key, value))
        )
        if mask is not None and mask.dtype != torch.bool:
            mask = mask == 0
        if mask is not None:  # a row without keys: every key, so that nothing is undefined
            mask = mask | ~mask.any(-1, keepdim=True)
        y = F.scaled_dot_product_attention(q, k, v, mask, dropout_p=self.p if self.training else 0.0)
        return self.out(y.transpose(1, 2).flatten(2))
