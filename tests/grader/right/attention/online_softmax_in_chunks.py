"""FlashAttention manner in plain Python: a running maximum and a running sum over chunks of keys, then the weights in log space."""

import itertools
import math

import torch
from torch import nn

CHUNK = 3


def _chunks(n, size=CHUNK):
    return ((i, min(i + size, n)) for i in range(0, n, size))


def _score(q, k, allowed):
    s = q @ k.transpose(-2, -1)
    return s if allowed is None else s.masked_fill(allowed.logical_not(), -math.inf)


def _allowed(mask, tk):
    if mask is None:
        return None
    ok = mask if mask.dtype == torch.bool else torch.isfinite(mask)
    return ok.expand(*ok.shape[:-1], tk)


def _log_normaliser(q, k, allowed):
    """log sum exp over all keys, one chunk at a time."""
    running_max = running_sum = None
    for a, b in _chunks(k.size(-2)):
        s = _score(q, k[..., a:b, :], None if allowed is None else allowed[..., a:b])
        new_max = s.detach().amax(-1, keepdim=True).clamp(min=torch.finfo(s.dtype).min)
        if running_max is None:
            running_max, running_sum = new_max, torch.exp(s - new_max).sum(-1, keepdim=True)
            continue
        new_max = torch.maximum(running_max, new_max)
        running_sum = running_sum * torch.exp(running_max - new_max) + torch.exp(s - new_max).sum(-1, keepdim=True)
        running_max = new_max
    nothing = running_sum == 0
    return running_max.masked_fill(nothing, 0.0) + running_sum.masked_fill(nothing, 1.0).log()


def scaled_dot_product_attention(query, key, value, mask=None):
    q = query / math.sqrt(query.size(-1))
    ok = _allowed(mask, key.size(-2))
    lse = _log_normaliser(q, key, ok)
    pieces = []
    for a, b in _chunks(key.size(-2)):
        pieces.append(torch.exp(_score(q, key[..., a:b, :], None if ok is None else ok[..., a:b]) - lse))
    weights = torch.cat(pieces, -1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads must be 0")
        self.num_heads = num_heads
        for name, bias in itertools.product(["query", "key", "value", "out"], [True]):
            setattr(self, name + "_net", nn.Linear(d_model, d_model, bias=bias))
        self.drop = nn.Dropout(dropout) if dropout > 0 else nn.Identity()

    def forward(self, query, key, value, mask=None):
        b, tq, d = query.shape
        h = self.num_heads
        q, k, v = (
            net(x).reshape(b, x.shape[1], h, d // h).permute(0, 2, 1, 3) / scale
            for net, x, scale in (
                (self.query_net, query, math.sqrt(d // h)), (self.key_net, key, 1), (self.value_net, value, 1))
        )
        ok = _allowed(mask, k.size(-2))
        lse = _log_normaliser(q, k, ok)
        out = torch.zeros_like(q)
        for lo, hi in _chunks(k.size(-2)):
            piece = torch.exp(_score(q, k[..., lo:hi, :], None if ok is None else ok[..., lo:hi]) - lse)
            out = out + self.drop(piece) @ v[..., lo:hi, :]
        return self.out_net(out.permute(0, 2, 1, 3).reshape(b, tq, d))
