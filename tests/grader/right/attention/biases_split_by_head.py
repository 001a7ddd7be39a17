"""Attention with hand-made log-sum-exp, einsum, and weights in a ParameterDict [heads, D, d]."""
import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Attended(NamedTuple):
    output: Tensor
    weights: Tensor


def _scores(query, key):
    root = query.shape[-1] ** 0.25
    return torch.einsum("...qd,...kd->...qk", query / root, key / root)


def _forbidden(mask):
    match mask:
        case Tensor(dtype=torch.bool):
            return ~mask
        case Tensor():
            return mask < 0
    raise TypeError(mask)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None):
    scores = _scores(query, key)
    if mask is not None:
        scores = torch.where(_forbidden(mask), torch.finfo(scores.dtype).min, scores)
    top = scores.amax(-1, keepdim=True).detach()
    log_total = (scores - top).exp().sum(-1, keepdim=True).log()
    weights = (scores - top - log_total).exp()
    return Attended(torch.einsum("...qk,...kv->...qv", weights, value), weights)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        width, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"{d_model} columns do not split into {num_heads} heads")
        bound = math.sqrt(3 / d_model)
        self.into = nn.ParameterDict(
            {name: nn.Parameter(torch.empty(num_heads, d_model, width).uniform_(-bound, bound)) for name in "qkv"}
        )
        self.shift = nn.ParameterDict({name: nn.Parameter(torch.zeros(num_heads, width)) for name in "qkv"})
        self.back = nn.Parameter(torch.empty(num_heads, width, d_model).uniform_(-bound, bound))
        self.p = dropout

    def _project(self, name, x):
        return torch.einsum("btm,hmd->bhtd", x, self.into[name]) + self.shift[name][:, None]

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (self._project(*pair) for pair in zip("qkv", (query, key, value)))
        weights = scaled_dot_product_attention(q, k, v, mask).weights
        kept = F.dropout(weights, self.p, self.training)
        return torch.einsum("bhqk,bhkd,hdm->bqm", kept, v, self.back)
