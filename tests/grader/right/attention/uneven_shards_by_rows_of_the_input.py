"""Tensor-parallel flavour: matrices sharded by rows of the input ("row parallel"), the shards' partial sums added."""
import functools
import math
import operator

import torch
import torch.nn.functional as F
from torch import nn

ORDER = "okqv"  # columns of the bias tensor


def as_bool(mask):
    return mask if mask.dtype == torch.bool else ~torch.isneginf(mask)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.einsum("...qc,...kc->...qk", query * query.shape[-1] ** -0.5, key)
    if mask is None:
        weights = F.softmax(scores, dim=-1)
    else:
        weights = F.softmax(scores.masked_fill(~as_bool(mask), float("-inf")), dim=-1)
        dead = ~as_bool(mask).any(dim=-1, keepdim=True)
        if dead.any():  # softmax over nothing is nan: do those rows again over a harmless score
            safe = scores.masked_fill(~as_bool(mask), float("-inf")).masked_fill(dead, 0.0)
            weights = F.softmax(safe, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def shard_sizes(total, parts):
    """As equal as possible, the large ones last."""
    small, rest = divmod(total, parts)
    return [small + (i >= parts - rest) for i in range(parts)]


class RowSharded(nn.Module):
    """y = sum over shards r of  x[..., rows of r] @ W_r;  some shards lie transposed (odd ones)."""

    def __init__(self, width, shards):
        super().__init__()
        self.sizes = [n for n in shard_sizes(width, shards) if n]
        whole = torch.empty(width, width)
        nn.init.xavier_uniform_(whole)
        for r, piece in enumerate(whole.split(self.sizes, dim=0)):
            stored = piece.T if r % 2 else piece
            self.register_parameter(f"shard{r:02d}", nn.Parameter(stored.clone(memory_format=torch.contiguous_format)))

    def forward(self, x):
        parts = x.split(self.sizes, dim=-1)
        shards = self._parameters.values()
        return functools.reduce(
            operator.add,
            (F.linear(p, w) if r % 2 else p.matmul(w) for r, (p, w) in enumerate(zip(parts, shards))),
        )


class MultiHeadAttention(nn.Module):
    world_size = 3

    def __init__(self, d_model, num_heads, dropout=0.0):
        if d_model % num_heads:
            raise ValueError("d_model % num_heads != 0")
        super().__init__()
        self.h = num_heads
        for name in "vqok":
            self.add_module("w" + name, RowSharded(d_model, self.world_size))
        self.bias = nn.Parameter(torch.zeros(d_model // num_heads, num_heads, len(ORDER)))  # [d, H, 4]
        self.dropout = dropout

    def affine(self, name, x):
        b = self.bias[:, :, ORDER.index(name)].T.reshape(-1)
        return self.get_submodule("w" + name)(x) + b

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            self.affine(n, x).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for n, x in zip("qkv", (query, key, value))
        )
        alive = None
        if mask is not None:
            mask = as_bool(mask)
            alive = mask.any(-1, keepdim=True)
            mask = mask | ~alive
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.dropout if self.training else 0.0)
        if alive is not None:
            y = torch.where(alive, y, torch.zeros((), dtype=y.dtype, device=y.device))
        return self.affine("o", y.transpose(1, 2).flatten(2))
