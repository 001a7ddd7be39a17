"""Annotated-Transformer manner: clones() of one linear, the arithmetic in a TorchScript function, mask by where."""

import copy
import math
from typing import Optional, Tuple

import torch
import torch.nn as nn


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


@torch.jit.script
def _attend(query: torch.Tensor, key: torch.Tensor, allowed: Optional[torch.Tensor]) -> torch.Tensor:
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if allowed is not None:
        nothing = torch.full([], float("-inf"), dtype=scores.dtype, device=scores.device)
        scores = torch.where(allowed, scores, nothing)
        # a row without any key: make it harmless before the softmax
        empty = torch.isinf(scores).all(dim=-1, keepdim=True)
        empty = empty & torch.logical_not(allowed).expand(scores.shape).all(dim=-1, keepdim=True)
        scores = scores.masked_fill(empty, 0.0)
        return torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
    return torch.softmax(scores, dim=-1)


def scaled_dot_product_attention(query, key, value, mask: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor]:
    "Compute 'Scaled Dot Product Attention'"
    if mask is not None and mask.dtype != torch.bool:
        mask = mask == 0
    p_attn = _attend(query, key, mask)
    return torch.matmul(p_attn, value), p_attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        "Take in model size and number of heads."
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not a multiple of num_heads {num_heads}")
        self.d_k = d_model // num_heads
        self.h = num_heads
        self.linears = clones(nn.Linear(d_model, d_model), 4)
        self.attn = None
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        nbatches = query.size(0)
        query, key, value = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]
        _, p_attn = scaled_dot_product_attention(query, key, value, mask=mask)
        self.attn = p_attn.detach()
        x = torch.matmul(self.dropout(p_attn), value)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)
