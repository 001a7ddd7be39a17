"""The encoder-decoder model of the sequence-to-sequence library."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class ModelConfig:
    d_model: int
    tgt_vocab: int
    pad: int = 0

    @property
    def embedding_scale(self) -> float:
        return math.sqrt(self.d_model)


class MaskFactory:
    """Boolean masks, True = may be attended to."""

    def __init__(self, pad: int) -> None:
        self.pad = pad

    def keys(self, tokens: Tensor) -> Tensor:
        """[B, T] -> [B, 1, 1, T]: every key that is a token."""
        assert tokens.dim() == 2
        return tokens.ne(self.pad).unflatten(1, (1, 1, -1))

    @staticmethod
    def past(length: int, device: torch.device) -> Tensor:
        """[1, 1, L, L]: every key up to the query."""
        full = torch.full((1, 1, length, length), True, device=device)
        return full.tril()

    def source(self, src: Tensor) -> Tensor:
        return self.keys(src)

    def target(self, tgt: Tensor) -> Tensor:
        return self.keys(tgt) & self.past(tgt.size(1), tgt.device)


class InputStage(nn.Module):
    """Ids to vectors: embedding, scale, positions."""

    def __init__(self, embed: nn.Module, positions: nn.Module, scale: float) -> None:
        super().__init__()
        self.embed = embed
        self.positions = positions
        self.scale = scale

    def forward(self, tokens: Tensor) -> Tensor:
        vectors = self.embed(tokens) * self.scale
        return self.positions(vectors)


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
        self.config = ModelConfig(d_model=d_model, tgt_vocab=tgt_vocab, pad=pad)
        self.encoder = encoder
        self.decoder = decoder
        self.src_input = InputStage(src_embed, positions, self.config.embedding_scale)
        self.tgt_input = InputStage(tgt_embed, positions, self.config.embedding_scale)
        self.masks = MaskFactory(self.config.pad)
        self.generator = nn.Linear(self.config.d_model, self.config.tgt_vocab)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Only of the layer that is made here: the other parts come ready."""
        nn.init.xavier_uniform_(self.generator.weight)
        nn.init.zeros_(self.generator.bias)

    @property
    def device(self) -> torch.device:
        return self.generator.weight.device

    def encode(self, src: Tensor) -> Tensor:
        embedded = self.src_input(src)
        return self.encoder(embedded, self.masks.source(src))

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        assert memory.shape[:2] == src.shape, "memory and src must belong together"
        embedded = self.tgt_input(tgt)
        src_mask = self.masks.source(src)
        tgt_mask = self.masks.target(tgt)
        hidden = self.decoder(embedded, memory, src_mask, tgt_mask)
        logits = self.generator(hidden)
        assert logits.shape == (*tgt.shape, self.config.tgt_vocab)
        return logits

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory = self.encode(src)
        return self.decode(tgt, memory=memory, src=src)
