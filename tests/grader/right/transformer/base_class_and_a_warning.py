import math
import torch
import torch.nn.functional as F
from torch import nn


import warnings

warnings.warn("a warning of the learner's file", stacklevel=1)


class Base(nn.Module):
    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)

    @staticmethod
    def padding(tokens, pad):
        return torch.logical_not(tokens == pad)[:, None, None]

    @classmethod
    def future(cls, tokens, pad):
        n = tokens.size(-1)
        causal = ~torch.triu(torch.ones((n, n), dtype=torch.bool, device=tokens.device), diagonal=1)
        return torch.logical_and(cls.padding(tokens, pad), causal)


class Transformer(Base):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.parts = nn.ModuleList([decoder, encoder, tgt_embed, src_embed, positions])
        self.out = nn.Linear(d_model, tgt_vocab)
        self.root, self.pad = math.sqrt(d_model), pad

    def encode(self, src):
        _, encoder, _, embed, positions = self.parts
        return encoder(positions(embed(src) * self.root), self.padding(src, self.pad))

    def decode(self, tgt, memory, src):
        decoder, _, embed, _, positions = self.parts
        x = positions(embed(tgt) * self.root)
        return self.out(decoder(x, memory, self.padding(src, self.pad), self.future(tgt, self.pad)))
