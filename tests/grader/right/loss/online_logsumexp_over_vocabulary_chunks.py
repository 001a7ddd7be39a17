"""Online logsumexp over chunks of the vocabulary (running maximum and sum, as in flash attention), accumulation by functools.reduce."""

from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

CHUNK = 7


class Running(NamedTuple):
    peak: Tensor  # largest logit so far (a constant for the gradient)
    mass: Tensor  # sum of exp(z - peak)
    plain: Tensor  # sum of z, for the smoothing
    right: Tensor  # logit of the right id


def shift_right(target: Tensor, sos: int = 1) -> Tensor:
    places = torch.arange(target.shape[1], device=target.device).sub(1).clamp(min=0)
    out = target.index_select(1, places)
    out[:, :1] = sos
    return out


def sequence_loss(logits: Tensor, target: Tensor, pad: int = 0, smoothing: float = 0.0) -> Tensor:
    keep = target != pad
    z = logits[keep].double()  # large logits cancel below
    ids = target[keep]
    words = z.shape[1]

    def add(state: Running, start: int) -> Running:
        block = z[:, start : start + CHUNK]
        peak = torch.maximum(state.peak, block.detach().amax(1))
        mass = state.mass * (state.peak - peak).exp() + (block - peak[:, None]).exp().sum(1)
        hit = ids[:, None] == torch.arange(start, start + block.shape[1], device=ids.device)
        return Running(peak, mass, state.plain + block.sum(1), state.right + torch.where(hit, block, 0).sum(1))

    zero = z.new_zeros(len(z))
    end = reduce(add, range(0, words, CHUNK), Running(zero - float("inf"), zero, zero, zero))
    lse = end.peak + end.mass.log()
    loss = lse - (1 - smoothing) * end.right - smoothing / words * end.plain
    return loss.mean().to(logits.dtype)
