"""The whole model from its parts."""

import torch
from torch import nn


class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.positions = positions
        self.to_vocab = nn.Linear(d_model, tgt_vocab)
        self.root = d_model**0.5
        self.pad = pad

    def embed(self, table, ids):
        vectors = table(ids) * self.root
        return self.positions(vectors)

    def source_mask(self, src):
        """[B, 1, 1, S]: True where a source token stands."""
        real = src.ne(self.pad)
        return real.unsqueeze(1).unsqueeze(1)

    def target_mask(self, tgt):
        """[B, 1, L, L]: True where the key is a token, and not later than the query."""
        length = tgt.size(1)
        later = torch.ones(length, length, device=tgt.device).triu(diagonal=1).bool()
        real = tgt.ne(self.pad)
        return real[:, None, None, :] & ~later

    def encode(self, src):
        return self.encoder(self.embed(self.src_embed, src), self.source_mask(src))

    def decode(self, tgt, memory, src):
        x = self.embed(self.tgt_embed, tgt)
        y = self.decoder(x, memory, self.source_mask(src), self.target_mask(tgt))
        return self.to_vocab(y)

    def forward(self, src, tgt):
        memory = self.encode(src)
        return self.decode(tgt, memory, src)
