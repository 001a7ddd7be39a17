"""Right masks in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

RIGHT: Mapping[str, str] = {
    "index_comparisons": """
import torch


def padding_mask(tokens, pad=0):
    return tokens.ne(pad).unsqueeze(1).unsqueeze(2)


def causal_mask(size, device=None):
    t = torch.arange(size, device=device)
    return (t[None, :] <= t[:, None])[None, None]


def decoder_mask(tokens, pad=0):
    t = torch.arange(tokens.shape[-1], device=tokens.device)
    return (t[:, None] >= t)[None, None] & padding_mask(tokens, pad)


def to_additive(mask, dtype=torch.float32):
    keep = torch.zeros((), dtype=dtype, device=mask.device)
    return torch.where(mask, keep, torch.full_like(keep, float("-inf")))
""",
    "loops_over_cells": """
import torch


def padding_mask(tokens, pad=0):
    B, T = tokens.shape
    out = torch.zeros(B, 1, 1, T, dtype=torch.bool, device=tokens.device)
    for b in range(B):
        for t in range(T):
            out[b, 0, 0, t] = bool(tokens[b, t] != pad)
    return out


def causal_mask(size, device=None):
    out = torch.zeros(1, 1, size, size, dtype=torch.bool, device=device)
    for i in range(size):
        for j in range(i + 1):
            out[0, 0, i, j] = True
    return out


def decoder_mask(tokens, pad=0):
    B, T = tokens.shape
    rows = [[[j <= i and tokens[b, j].item() != pad for j in range(T)] for i in range(T)] for b in range(B)]
    return torch.tensor(rows, dtype=torch.bool, device=tokens.device).reshape(B, 1, T, T)


def to_additive(mask, dtype=torch.float32):
    out = torch.empty(mask.shape, dtype=dtype, device=mask.device)
    out[mask] = 0.0
    out[~mask] = -torch.inf
    return out
""",
    "forbidden_first": """
import math

import torch

# Thinks in "may not", and turns it round at the very end.


def _is_padding(tokens, pad):
    return tokens == pad


def _is_future(size, device):
    return torch.triu(torch.ones(size, size, device=device), diagonal=1) > 0


def padding_mask(tokens, pad=0):
    return ~_is_padding(tokens, pad).view(tokens.size(0), 1, 1, tokens.size(1))


def causal_mask(size, device=None):
    return torch.logical_not(_is_future(size, device)).reshape(1, 1, size, size)


def decoder_mask(tokens, pad=0):
    hidden = _is_padding(tokens, pad)[:, None, None, :] | _is_future(tokens.size(1), tokens.device)
    return hidden.logical_not()


def to_additive(mask, dtype=torch.float32):
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask.logical_not(), -math.inf)
""",
    "expanded_views_and_further_arguments": """
import warnings

import torch


def padding_mask(tokens, pad=0, *, verbose=False):
    if verbose:
        print(tokens.shape)
    return torch.stack([row != pad for row in tokens])[:, None, None]


def causal_mask(size, device=None, diagonal=0):
    if size > 4:
        warnings.warn("that is a long sentence", stacklevel=2)
    return torch.tril(torch.ones((size, size), dtype=torch.uint8, device=device), diagonal).bool().expand(1, 1, -1, -1)


def decoder_mask(tokens, pad=0, extra=None):
    T = tokens.size(1)
    keys = padding_mask(tokens, pad).expand(-1, 1, T, T)
    out = keys * causal_mask(T, device=tokens.device)
    return out if extra is None else out & extra


def to_additive(mask, dtype=torch.float32):
    return mask.to(dtype).log()  # log 1 = 0, log 0 = -inf
""",
    "cumulative_sums": """
import torch
from torch import Tensor


def padding_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    keep = (tokens - pad).bool()
    return keep[:, None, None, :].contiguous()


def causal_mask(size: int, device=None) -> Tensor:
    return torch.eye(size, device=device).cumsum(0).bool()[(None,) * 2]


def decoder_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    return torch.minimum(causal_mask(tokens.size(1), tokens.device).int(), padding_mask(tokens, pad).int()).bool()


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    table = torch.tensor([float("-inf"), 0.0], dtype=dtype, device=mask.device)
    return table[mask.long()]
""",
    "lambdas_and_numpy_free_einsum": """
import torch

padding_mask = lambda tokens, pad=0: (tokens != pad)[:, None, None]
causal_mask = lambda size, device=None: torch.ones(size, size, device=device).tril().gt(0.5)[None, None]


def decoder_mask(tokens, pad=0):
    past = causal_mask(tokens.size(1), tokens.device)[0, 0].float()
    keys = padding_mask(tokens, pad)[:, 0, 0].float()
    return torch.einsum("qk,bk->bqk", past, keys).unsqueeze(1) == 1


def to_additive(mask, dtype=torch.float32):
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device) - torch.where(mask, 0.0, torch.inf).to(dtype)
""",
}
