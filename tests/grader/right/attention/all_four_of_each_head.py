# one parameter [head, (q, k, v, o), D, d]
import torch
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
        self.W = nn.Parameter(torch.randn(num_heads, 4, d_model, d_model // num_heads) / d_model**0.5)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        q, k, v = (torch.einsum("btD,hDd->bhtd", x, self.W[:, n]) for n, x in enumerate((query, key, value)))
        _, w = scaled_dot_product_attention(q, k, v, mask)
        return torch.einsum("bhtd,hDd->btD", self.drop(w) @ v, self.W[:, 3])
