"""Masks from a torch.jit.script function (source, additive) and a torch.vmap over the batch (target, bool); head in two vocabulary chunks."""

import math
import warnings

import torch
from torch import Tensor, nn

with warnings.catch_warnings():
    warnings.simplefilter("ignore")

    @torch.jit.script
    def additive_keys(ids: Tensor, pad: int, like: Tensor) -> Tensor:
        out = torch.zeros([ids.size(0), 1, 1, ids.size(1)], dtype=like.dtype, device=like.device)
        return out.masked_fill((ids == pad).unsqueeze(1).unsqueeze(1), -float("inf"))


def one_target_mask(row: Tensor, index: Tensor, keep: Tensor) -> Tensor:
    """For one sentence: [L] -> [1, L, L]."""
    return ((index[:, None] >= index[None, :]) & keep[None, :])[None]


class Transformer(nn.Module):
    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        src_embed: nn.Module,
        tgt_embed: nn.Module,
        positions: nn.Module,
        d_model: int,
        tgt_vocab: int,
        pad: int = 0,
    ):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.positions = positions
        self.pad = int(pad)
        self.factor = math.exp(0.5 * math.log(d_model))
        first = tgt_vocab // 2
        self.heads = nn.ParameterList(
            nn.init.orthogonal_(torch.empty(d_model, n)) for n in (first, tgt_vocab - first) if n > 0
        )

    def encode(self, src: Tensor) -> Tensor:
        x = self.positions(self.src_embed(src) * self.factor)
        return self.encoder(x, additive_keys(src, self.pad, x))

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        x = self.positions(self.tgt_embed(tgt) * self.factor)
        index = torch.arange(tgt.shape[1], device=tgt.device)
        tgt_mask = torch.vmap(one_target_mask, in_dims=(0, None, 0))(tgt, index, tgt != self.pad)
        y = self.decoder(x, memory, additive_keys(src, self.pad, x), tgt_mask)
        return torch.cat([y @ part for part in self.heads], dim=-1)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        return self.decode(tgt, self.encode(src), src)
