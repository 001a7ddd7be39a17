"""Inherits from nn.MultiheadAttention for its parameters; the cache is a class of its own with __slots__, __len__ and update(); `__call__` straight to forward."""

import torch
from torch import nn
from torch.nn.functional import linear, scaled_dot_product_attention


class DynamicCache:
    __slots__ = ("_k", "_v")

    def __init__(self):
        self._k = self._v = None

    def __len__(self):
        return 0 if self._k is None else self._k.shape[-2]

    def update(self, k, v):
        if len(self):
            k, v = torch.cat((self._k, k), -2), torch.cat((self._v, v), -2)
        self._k, self._v = k.detach(), v.detach()
        return k, v


class CachedAttention(nn.MultiheadAttention):
    def __init__(self, d_model, num_heads, **kwargs):
        if d_model % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        super().__init__(d_model, num_heads, batch_first=True, **kwargs)

    def forward(self, x, cache):
        if cache is None:
            cache = DynamicCache()
        q, k, v = linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
        q, k, v = (t.view(len(x), 1, self.num_heads, self.head_dim).transpose(1, 2) for t in (q, k, v))
        y = scaled_dot_product_attention(q, *cache.update(k, v))
        return self.out_proj(y.transpose(1, 2).reshape(x.shape)), cache

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)
