# each matrix a flat vector
import torch
import torch.nn.functional as F
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    s = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask if mask.dtype == torch.bool else mask != 0, torch.finfo(s.dtype).min)
    w = s.softmax(dim=-1)
    return w @ value, w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        D, H, d = d_model, num_heads, d_model // num_heads
        self.H = H
        self.q, self.k, self.v, self.o = (nn.Parameter(torch.randn(D * D) / D**0.5) for _ in range(4))
        self.D = D
        self.drop = nn.Dropout(dropout)

    def project(self, *xs):
        return [(x @ w.view(self.D, -1)).unflatten(-1, (self.H, -1)).transpose(1, 2) for x, w in zip(xs, (self.q, self.k, self.v))]

    def join(self, o):
        return o.transpose(1, 2).flatten(2) @ self.o.view(self.D, -1)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.project(query, key, value)
        _, w = scaled_dot_product_attention(q, k, v, mask)
        return self.join(self.drop(w) @ v)
