import math
import torch
import torch.nn.functional as F
from torch import nn


class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.positions, self.decoder, self.encoder = positions, decoder, encoder
        self.tgt_embed, self.src_embed = tgt_embed, src_embed
        self.kernel = nn.Parameter(torch.empty(d_model, tgt_vocab))
        self.offset = nn.Parameter(torch.zeros(tgt_vocab))
        nn.init.xavier_uniform_(self.kernel)
        self.scale, self.pad = math.sqrt(d_model), pad

    def allowed(self, queries, tokens):
        keys = tokens != self.pad
        return keys.view(len(tokens), 1, 1, -1).repeat(1, 1, queries.size(1), 1)

    def encode(self, src):
        return self.encoder(self.positions(self.scale * self.src_embed(src)), self.allowed(src, src))

    def decode(self, tgt, memory, src):
        mask = torch.tril(self.allowed(tgt, tgt))
        x = self.positions(self.scale * self.tgt_embed(tgt))
        return self.decoder(x, memory, self.allowed(tgt, src), mask) @ self.kernel + self.offset

    def forward(self, src, tgt):
        memory = self.encode(src)
        return self.decode(tgt, memory, src)
