"""Annotated-Transformer manner: subsequent_mask from triu == 0, `.type_as`, expand; two functions compiled by torch.jit.script."""

from typing import Optional

import torch
from torch import Tensor


@torch.jit.script
def subsequent_mask(size: int, device: Optional[torch.device] = None) -> Tensor:
    "Mask out subsequent positions."
    attn_shape = [1, 1, size, size]
    later = torch.triu(torch.ones(attn_shape, device=device), diagonal=1).to(torch.uint8)
    return later == 0


@torch.jit.script
def make_std_mask(tgt: Tensor, pad: int) -> Tensor:
    "Create a mask to hide padding and future words."
    tgt_mask = (tgt != pad).unsqueeze(-2).unsqueeze(1)
    size = tgt.size(-1)
    shape = [tgt.size(0), 1, size, size]
    return tgt_mask.expand(shape) & subsequent_mask(size, tgt.device).type_as(tgt_mask)


def padding_mask(tokens, pad=0):
    return (tokens != pad).unsqueeze(-2).unsqueeze(1)


def causal_mask(size, device=None):
    where = torch.get_default_device() if device is None else torch.device(device)
    return subsequent_mask(int(size), where)


def decoder_mask(tokens, pad=0):
    return make_std_mask(tokens, int(pad))


def to_additive(mask, dtype=torch.float32):
    zero = torch.zeros([], dtype=dtype, device=mask.device)
    return zero.expand(mask.shape).masked_fill(mask.logical_not(), float("-inf"))
