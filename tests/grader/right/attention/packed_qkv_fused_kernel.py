"""nanoGPT manner: one c_attn weight for q, k and v, torch's own fused kernel; the weights come out of the kernel with an identity for a value."""

import math
from typing import NamedTuple

import torch
import torch.nn as nn
from torch.nn import functional as F


class Attended(NamedTuple):
    output: torch.Tensor
    weights: torch.Tensor


def _prepare(key, value, mask):
    """-> key, value, additive mask without empty rows, which rows were empty."""
    ok = mask if mask.dtype == torch.bool else mask == 0
    ok = ok.expand(ok.shape[:-1] + (key.size(-2),))
    empty = ~ok.any(dim=-1, keepdim=True)
    return ok | empty, empty


def scaled_dot_product_attention(query, key, value, mask=None):
    eye = torch.eye(key.size(-2), dtype=query.dtype, device=query.device)
    eye = eye.expand(key.shape[:-2] + eye.shape)
    if mask is None:
        weights = F.scaled_dot_product_attention(query, key, eye)
    else:
        # keys that nobody may see are taken out of the sum altogether
        ok, empty = _prepare(key, value, mask)
        lead = torch.broadcast_shapes(ok.shape, query.shape[:-1] + key.shape[-2:-1])
        seen = (ok & ~empty).expand(lead).any(dim=-2).unsqueeze(-1)
        key = key.masked_fill(~seen, 0.0)
        weights = F.scaled_dot_product_attention(query, key, eye, attn_mask=ok)
        weights = weights.masked_fill(empty, 0.0)
    return Attended(weights @ value, weights)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("n_embd % n_head != 0")
        # key, query, value projections for all heads, but in a batch
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)
        nn.init.normal_(self.c_attn.weight, std=0.08)
        nn.init.normal_(self.c_proj.weight, std=0.08 / math.sqrt(2))
        self.n_head = num_heads
        self.n_embd = d_model
        self.dropout = dropout

    def forward(self, query, key, value, mask=None):
        B, T, C = query.size()
        S = key.size(1)
        if query is key and key is value:
            q, k, v = self.c_attn(query).split(self.n_embd, dim=2)
        else:
            wq, wk, wv = self.c_attn.weight.chunk(3)
            bq, bk, bv = self.c_attn.bias.chunk(3) if self.c_attn.bias is not None else (None,) * 3
            q, k, v = F.linear(query, wq, bq), F.linear(key, wk, bk), F.linear(value, wv, bv)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        k = k.view(B, S, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, S, self.n_head, C // self.n_head).transpose(1, 2)
        p = self.dropout if self.training else 0.0
        if mask is None:
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
        else:
            ok, empty = _prepare(k, v, mask)
            seen = (ok & ~empty).expand(B, self.n_head, T, S).any(dim=-2).unsqueeze(-1)
            k, v = k.masked_fill(~seen, 0.0), v.masked_fill(~seen, 0.0)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=ok, dropout_p=p)
            y = y.masked_fill(empty, 0.0)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)
