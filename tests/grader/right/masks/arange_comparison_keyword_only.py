"""Positions compared with positions (arange[:, None] >= arange); every optional argument keyword-only, one more of its own; typed tensors."""

from __future__ import annotations

import torch
from torch import BoolTensor, FloatTensor, LongTensor, Tensor


def causal_mask(size: int, *, device: torch.device | str | None = None) -> BoolTensor:
    i = torch.arange(size, device=device)
    return (i[:, None] >= i[None, :])[None, None]


def padding_mask(tokens: LongTensor, *, pad: int = 0) -> BoolTensor:
    return tokens.ne(pad)[:, None, None, :]


def decoder_mask(tokens: LongTensor, *, pad: int = 0) -> BoolTensor:
    t = torch.arange(tokens.shape[-1]).to(tokens.device)
    return padding_mask(tokens, pad=pad) & (t.view(-1, 1) >= t).view(1, 1, len(t), len(t))


def to_additive(mask: BoolTensor, *, dtype: torch.dtype = torch.float32, minus: float = float("-inf")) -> FloatTensor:
    zero, never = (torch.tensor(v, dtype=dtype, device=mask.device) for v in (0.0, minus))
    result: Tensor = torch.where(mask, zero, never)
    return result
