"""Classes in place of functions: one nn.Module with a lazily grown non-persistent buffer, lambdas and functools.partial for the rest."""

import functools
import math

import torch
from torch import nn


class CausalTable(nn.Module):
    """Keeps the largest table so far and hands out copies of its corner."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.ones(1, 1, dtype=torch.bool), persistent=False)

    def __call__(self, size, device=None):
        size = int(size)
        if size > self.table.shape[0]:
            self.table = torch.ones(2 * size, 2 * size, dtype=torch.bool, device="cpu").tril()
        if device is None:
            device = torch.empty(0).device
        return self.table[:size, :size].clone().to(device)[None, None]


causal_mask = CausalTable()

padding_mask = lambda tokens, pad=0: (tokens != pad).reshape(len(tokens), 1, 1, -1)  # noqa: E731


def both(*makers):
    def made(tokens, pad=0):
        return functools.reduce(torch.logical_and, (make(tokens, pad) for make in makers))

    return made


decoder_mask = both(padding_mask, lambda tokens, pad: causal_mask(tokens.shape[-1], device=tokens.device))


def _fill(mask, dtype, value):
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, value)


class Additive:
    __slots__ = ()

    def __call__(self, mask, dtype=torch.float32):
        return functools.partial(_fill, value=-math.inf)(mask, dtype)


to_additive = Additive()
