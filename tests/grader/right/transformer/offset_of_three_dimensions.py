"""Bias [1, 1, V] and weight [V, D]; causal masks from broadcast comparison; encode called by keyword."""
import torch
from torch import Tensor, nn


class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):  # type: ignore[no-untyped-def]
        super().__init__()
        self.offset = nn.Parameter(torch.zeros(1, 1, tgt_vocab))
        self.matrix = nn.Parameter(torch.randn(tgt_vocab, d_model) / d_model**0.5)
        self.encoder, self.decoder, self.src_embed, self.tgt_embed, self.positions = encoder, decoder, src_embed, tgt_embed, positions
        self.d_model, self.pad = d_model, pad

    def encode(self, src: Tensor) -> Tensor:
        return self.encoder(self.positions(self.src_embed(src) * self.d_model**0.5), src.ne(self.pad)[:, None, None])

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        i = torch.arange(tgt.size(1), device=tgt.device)
        mask = tgt.ne(self.pad)[:, None, None] & (i[None] <= i[:, None])
        x = self.positions(self.tgt_embed(tgt) * self.d_model**0.5)
        return torch.einsum("bld,vd->blv", self.decoder(x, memory, src.ne(self.pad)[:, None, None], mask), self.matrix) + self.offset

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        return self.decode(tgt, memory=self.encode(src=src), src=src)
