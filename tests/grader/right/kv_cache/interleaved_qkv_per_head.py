"""GPT-NeoX manner: query_key_value packed head by head ([H, 3, d] rows), keys kept transposed for baddbmm, cache a frozen dataclass."""

import dataclasses
import math

import torch
from torch import nn


@dataclasses.dataclass(frozen=True)
class LayerPast:
    k_t: torch.Tensor  # [B*H, d, t]
    v: torch.Tensor  # [B*H, t, d]

    def extend(self, k_t, v):
        return dataclasses.replace(self, k_t=torch.cat((self.k_t, k_t), -1), v=torch.cat((self.v, v), 1))


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("hidden size is not divisible by the number of attention heads")
        self.num_heads = num_heads
        self.head_size = d_model // num_heads
        self.norm_factor = 1.0 / math.sqrt(self.head_size)
        self.query_key_value = nn.Linear(d_model, 3 * d_model)
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, x, cache):
        b = x.size(0)
        qkv = self.query_key_value(x).view(b, 1, self.num_heads, 3 * self.head_size)
        q, k, v = qkv.split(self.head_size, dim=-1)
        q = q.reshape(b * self.num_heads, 1, self.head_size)
        k_t = k.reshape(b * self.num_heads, self.head_size, 1)
        v = v.reshape(b * self.num_heads, 1, self.head_size)
        past = LayerPast(k_t, v) if cache is None else cache.extend(k_t, v)
        empty = torch.empty(1, 1, 1, dtype=x.dtype, device=x.device)
        scores = torch.baddbmm(empty, q, past.k_t, beta=0.0, alpha=self.norm_factor)
        y = torch.bmm(scores.softmax(dim=-1), past.v)
        return self.dense(y.view(b, 1, -1)), past
