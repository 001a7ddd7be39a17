"""Heads as modules of Conv1d; each head adds its share of the output (out split by head); one bias at the end."""
import torch
from torch import Tensor, nn


class Head(nn.Module):
    def __init__(self, d_model: int, d: int, p: float) -> None:
        super().__init__()
        self.p = p
        self.up = nn.Conv1d(d, d_model, 1, bias=False)
        self.down = nn.ModuleList(nn.Conv1d(d_model, d, 1) for _ in "vkq")

    def forward(self, query, key, value, mask):  # type: ignore[no-untyped-def]
        v, k, q = (c(t.transpose(1, 2)).transpose(1, 2) for c, t in zip(self.down, (value, key, query)))
        _, w = scaled_dot_product_attention(q, k, v, mask)
        w = nn.functional.dropout(w, self.p, self.training)
        return self.up((w @ v).transpose(1, 2)).transpose(1, 2)


def scaled_dot_product_attention(query, key, value, mask=None):  # type: ignore[no-untyped-def]
    s = torch.tensordot(query, key, ([-1], [-1])) if query.ndim == 2 else query @ key.mT
    s = s / query.size(-1) ** 0.5
    if mask is None:
        w = s.softmax(-1)
    else:
        ok = (mask if mask.dtype == torch.bool else mask == 0).expand_as(s)
        w = s.masked_fill(~ok, -torch.inf).masked_fill(~ok.any(-1, keepdim=True), 0.0).softmax(-1)
        w = w * ok.any(-1, keepdim=True)
    return w @ value, w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        self.bias = nn.Parameter(torch.zeros(d_model, 1))
        self.heads = nn.ModuleList(Head(d_model, d_model // num_heads, dropout) for _ in range(num_heads))

    def forward(self, query, key, value, mask=None):  # type: ignore[no-untyped-def]
        n = len(self.heads)
        ms = [mask] * n
        if mask is not None and mask.ndim == 4:
            ms = mask.expand(-1, n, -1, -1).unbind(1)
        return sum(h(query, key, value, m) for h, m in zip(self.heads, ms)) + self.bias.squeeze(1)
