"""Transformer for a vocabulary-parallel setup: id v is served by shard v % SHARDS. No bias."""

import math
from functools import partial
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SHARDS = 3


class ShardedHead(nn.Module):
    """D -> V. Shard s holds the rows s, s + SHARDS, ...; odd shards are stored transposed [D, rows]."""

    def __init__(self, d_model: int, vocab: int) -> None:
        super().__init__()
        draw = partial(nn.init.trunc_normal_, std=d_model**-0.5)
        ids = torch.arange(vocab)
        shards = [ids[s::SHARDS] for s in range(min(SHARDS, vocab))]
        for s, members in enumerate(shards):
            shape = (d_model, len(members)) if s % 2 else (len(members), d_model)
            self.register_parameter(f"shard{s}", nn.Parameter(draw(torch.empty(shape))))
        self.register_buffer("where", torch.argsort(torch.cat(shards)), persistent=False)

    def forward(self, y: Tensor) -> Tensor:
        pieces = []
        for s, weight in enumerate(self.parameters()):
            pieces.append(y @ weight if s % 2 else F.linear(y, weight))
        return torch.cat(pieces, dim=-1).index_select(-1, self.where)


def none_if_open(allowed: Tensor) -> Optional[Tensor]:
    return None if bool(allowed.all()) else allowed


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
    ) -> None:
        super().__init__()
        parts = (
            ("output", ShardedHead(d_model, tgt_vocab)),
            ("positions", positions),
            ("tgt_embed", tgt_embed),
            ("src_embed", src_embed),
            ("decoder", decoder),
            ("encoder", encoder),
        )
        for name, part in parts:
            self.add_module(name, part)
        self.d_model, self.pad = d_model, pad

    def source_mask(self, src: Tensor) -> Optional[Tensor]:
        return none_if_open(torch.not_equal(src, self.pad).unsqueeze(1).unsqueeze(1))

    def target_mask(self, tgt: Tensor) -> Optional[Tensor]:
        size = tgt.size(1)
        square = torch.not_equal(tgt, self.pad).unsqueeze(1).expand(-1, size, -1)
        return none_if_open(torch.tril(square).unsqueeze(1))

    def start(self, ids: Tensor, embed: nn.Module) -> Tensor:
        return self.positions(embed(ids) * math.sqrt(self.d_model))

    def encode(self, src: Tensor) -> Tensor:
        return self.encoder(self.start(src, self.src_embed), self.source_mask(src))

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        x = self.start(tgt, self.tgt_embed)
        return self.output(self.decoder(x, memory, self.source_mask(src), self.target_mask(tgt)))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory = self.encode(src)
        return self.decode(tgt, memory, src)
