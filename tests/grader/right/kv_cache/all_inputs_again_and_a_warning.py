import math
import torch
import torch.nn.functional as F
from torch import nn


import warnings

warnings.warn("a warning of the learner's file", stacklevel=1)


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        self.num_heads, self.width = num_heads, d_model // num_heads
        self.into = nn.Parameter(torch.empty(3, d_model, d_model))
        self.out = nn.Parameter(torch.empty(d_model, d_model))
        for matrix in (*self.into, self.out):
            nn.init.xavier_uniform_(matrix.data)

    def forward(self, x, cache):
        seen = x if cache is None else torch.cat([cache, x], dim=1)
        q, k, v = (seen @ self.into[i].T for i in range(3))
        cut = lambda y: y.reshape(*y.shape[:2], self.num_heads, self.width).permute(0, 2, 1, 3)
        scores = cut(q) @ cut(k).transpose(2, 3) * self.width**-0.5
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        heads = scores.masked_fill(future, -math.inf).softmax(-1) @ cut(v)
        return (heads.permute(0, 2, 1, 3).flatten(2) @ self.out.T)[:, -1:], seen
