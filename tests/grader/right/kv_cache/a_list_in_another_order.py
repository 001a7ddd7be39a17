"""A linked list of past (k, v) pairs; a streaming softmax over it; results in a named tuple; layers twice registered."""
from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn


class Past(NamedTuple):
    k: Tensor
    v: Tensor
    before: Optional["Past"]


class Step(NamedTuple):
    out: Tensor
    cache: Past


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        super().__init__()
        self.h = num_heads
        self.layers = nn.ModuleList(nn.Linear(d_model, d_model) for i in range(4))

    def forward(self, x: Tensor, cache: Past | None = None) -> Step:
        b, _, d = x.shape
        q, k, v = (f(x).view(b, self.h, -1) for f in (self.layers[3], self.layers[2], self.layers[1]))
        cache = node = Past(k, v, cache)
        ks, vs = [], []
        while node is not None:
            ks.append(node.k)
            vs.append(node.v)
            node = node.before
        ks, vs = torch.stack(ks, 2), torch.stack(vs, 2)
        p = (q.unsqueeze(2) @ ks.mT * (d // self.h) ** -0.5).softmax(-1)
        y, z = (p @ vs).squeeze(2), 1
        return Step(self.layers[0]((y / z).view(b, 1, d)), cache)
