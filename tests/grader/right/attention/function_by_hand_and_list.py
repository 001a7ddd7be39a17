
import math
import torch
from torch import nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = query.size(-1) ** 0.25
    scores = (query / scale) @ (key / scale).mT
    if mask is not None and mask.dtype != torch.bool:
        mask = mask > -1
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
        scores = torch.where(mask.any(-1, keepdim=True), scores, torch.zeros_like(scores))
    shifted = scores - scores.amax(-1, keepdim=True).detach()
    weights = shifted.exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return [weights @ value, weights]
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
