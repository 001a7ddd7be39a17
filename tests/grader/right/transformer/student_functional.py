"""The model with additive masks, and a bare output matrix."""

import math
from typing import NamedTuple

import torch
from torch import nn


class Side(NamedTuple):
    """What is needed to turn ids into vectors."""

    embed: nn.Module
    positions: nn.Module
    factor: float

    def __call__(self, ids):
        return self.positions(self.factor * self.embed(ids))


class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.pad = pad
        self.encoder, self.decoder = encoder, decoder
        self.src_embed, self.tgt_embed, self.positions = src_embed, tgt_embed, positions
        self.factor = math.sqrt(d_model)
        self.matrix = nn.Parameter(torch.randn(tgt_vocab, d_model) * d_model**-0.5)

    @property
    def source(self):
        return Side(self.src_embed, self.positions, self.factor)

    @property
    def target(self):
        return Side(self.tgt_embed, self.positions, self.factor)

    def bias(self, ids, dtype, causal=False):
        """Additive mask [B, 1, 1 or T, T], or None if every key may be seen."""
        batch, length = ids.shape
        blocked = (ids == self.pad).view(batch, 1, 1, length)
        if causal:
            position = torch.arange(length, device=ids.device)
            blocked = blocked | (position > position[:, None])
        if not blocked.any():
            return None
        return torch.zeros(blocked.shape, dtype=dtype, device=ids.device).masked_fill(blocked, -math.inf)

    def encode(self, src):
        x = self.source(src)
        return self.encoder(x, self.bias(src, x.dtype))

    def decode(self, tgt, memory, src):
        x = self.target(tgt)
        see_source = self.bias(src, x.dtype)
        see_target = self.bias(tgt, x.dtype, causal=True)
        y = self.decoder(x, memory, src_mask=see_source, tgt_mask=see_target)
        return torch.einsum("bld,vd->blv", y, self.matrix)

    def forward(self, src, tgt):
        return self.decode(tgt, memory=self.encode(src), src=src)
