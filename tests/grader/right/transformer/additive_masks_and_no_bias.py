import math
import torch
import torch.nn.functional as F
from torch import nn


class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.head = nn.Linear(d_model, tgt_vocab, bias=False)
        self.p, self.t, self.s, self.dec, self.enc = positions, tgt_embed, src_embed, decoder, encoder
        self.d, self.pad = d_model, pad

    def mask(self, tokens, like, causal=False):
        length = tokens.shape[1]
        hidden = tokens.eq(self.pad)[:, None, None, :].expand(-1, 1, length if causal else 1, -1)
        if causal:
            hidden = hidden | torch.ones(length, length, device=tokens.device).triu(1).bool()
        return torch.zeros(hidden.shape, dtype=like.dtype, device=like.device).masked_fill(hidden, -torch.inf)

    def encode(self, src):
        x = self.p(self.s(src) * self.d**0.5)
        return self.enc(x, self.mask(src, x))

    def decode(self, tgt, memory, src):
        x = self.p(self.t(tgt) * self.d**0.5)
        return self.head(self.dec(x, memory, self.mask(src, x), self.mask(tgt, x, causal=True)))

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)
