"""A head is a module of its own (Karpathy, "Natural Language Processing with Transformers"): one Linear a head and a role."""
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(4)


def scaled_dot_product_attention(query, key, value, mask=None):
    dim_k = query.size(-1)
    scores = query @ key.mT * dim_k**-0.5
    if mask is None:
        weights = F.softmax(scores, dim=-1)
        return weights @ value, weights
    if mask.is_floating_point():
        mask = mask > -1
    # a dead row attends to all keys evenly
    scores = scores.masked_fill(~mask, float("-inf"))
    dead = ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(dead, 0.0)
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


class Head(nn.Module):
    def __init__(self, d_model, size, dropout):
        super().__init__()
        self.q = nn.Linear(d_model, size, bias=False)
        self.k = nn.Linear(d_model, size, bias=False)
        self.v = nn.Linear(d_model, size, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask):
        v = self.v(value)
        _, wei = scaled_dot_product_attention(self.q(query), self.k(key), v, mask)
        return self.dropout(wei) @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads must be 0")
        self.heads = nn.ModuleList(Head(d_model, d_model // num_heads, dropout) for _ in range(num_heads))
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        outs = []
        for i, head in enumerate(self.heads):
            m = mask
            if m is not None and m.dim() == 4:
                m = m[:, i if m.size(1) > 1 else 0]
            outs.append(head(query, key, value, m))
        return self.proj(torch.cat(outs, dim=-1))
