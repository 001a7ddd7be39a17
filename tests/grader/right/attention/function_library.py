
import math
import torch
from torch import nn
import torch.nn.functional as F
from typing import NamedTuple


class Result(NamedTuple):
    output: torch.Tensor
    weights: torch.Tensor


def scaled_dot_product_attention(query, key, value, mask=None, eps=0.0):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        seen = mask if mask.dtype == torch.bool else torch.isfinite(mask)
        scores = torch.where(seen, scores, torch.full_like(scores, -1e20))
        weights = torch.softmax(scores, -1) * seen
    else:
        weights = torch.softmax(scores, -1)
    return Result(torch.einsum("...qk,...kd->...qd", weights, value), weights)
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.h = num_heads
        self.d_k = d_model // num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        B = query.size(0)
        q = self.w_q(query).view(B, -1, self.h, self.d_k).transpose(1, 2)
        k = self.w_k(key).view(B, -1, self.h, self.d_k).transpose(1, 2)
        v = self.w_v(value).view(B, -1, self.h, self.d_k).transpose(1, 2)
        _, weights = scaled_dot_product_attention(q, k, v, mask)
        weights = self.dropout(weights)
        x = torch.matmul(weights, v)
        x = x.transpose(1, 2).contiguous().view(B, -1, self.h * self.d_k)
        return self.w_o(x)
