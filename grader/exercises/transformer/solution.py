"""A solution of `transformer.py`: short, plain, and correct in edge cases."""

import math

import torch
from torch import Tensor, nn


class Transformer(nn.Module):
    """Encoder, decoder, embeddings, positions and an output projection ("Attention Is All You Need", section 3).

    Args:
        encoder: encoder(x, src_mask) -> memory.
        decoder: decoder(x, memory, src_mask, tgt_mask) -> [B, L, D].
        src_embed: token ids [B, S] -> [B, S, D].
        tgt_embed: token ids [B, L] -> [B, L, D].
        positions: x [B, T, D] -> x with positions added; one module for both sides.
        d_model: width D.
        tgt_vocab: number V of target tokens.
        pad: id of the padding, on both sides.
    """

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
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.positions = positions
        self.output = nn.Linear(d_model, tgt_vocab)
        self.scale = math.sqrt(d_model)
        self.pad = pad

    def _padding_mask(self, tokens: Tensor) -> Tensor:
        return (tokens != self.pad)[:, None, None, :]  # [B, 1, 1, T]

    def encode(self, src: Tensor) -> Tensor:
        """src ids [B, S] -> memory [B, S, D]."""
        x = self.positions(self.src_embed(src) * self.scale)  # [B, S, D]
        memory: Tensor = self.encoder(x, self._padding_mask(src))
        return memory

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """tgt ids [B, L], memory [B, S, D], src ids [B, S] (for the mask) -> logits [B, L, V]."""
        length = tgt.size(1)
        causal = torch.ones(length, length, dtype=torch.bool, device=tgt.device).tril()  # [L, L]
        tgt_mask = causal & self._padding_mask(tgt)  # [B, 1, L, L]
        x = self.positions(self.tgt_embed(tgt) * self.scale)  # [B, L, D]
        logits: Tensor = self.output(self.decoder(x, memory, self._padding_mask(src), tgt_mask))
        return logits

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src ids [B, S], tgt ids [B, L] -> logits [B, L, V]."""
        return self.decode(tgt, self.encode(src), src)
