"""Is itself an nn.ModuleDict; the head is an nn.LazyConv1d of kernel 1, so logits come out as a transposed (non-contiguous) view."""

import math

import torch
from torch import nn


class Transformer(nn.ModuleDict):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__(
            {
                "encoder": encoder,
                "decoder": decoder,
                "src": src_embed,
                "tgt": tgt_embed,
                "positions": positions,
                "head": nn.LazyConv1d(tgt_vocab, kernel_size=1),
            }
        )
        self.d_model, self.pad = d_model, pad

    def lookup(self, which, ids):
        x = self[which](ids)
        x = torch.mul(x, math.sqrt(self.d_model))
        return self["positions"](x)

    def allowed(self, ids):
        return torch.where(ids == self.pad, False, True)[:, None, None, :]

    def encode(self, src):
        return self["encoder"](self.lookup("src", src), self.allowed(src))

    def decode(self, tgt, memory, src):
        size = tgt.shape[1]
        past = torch.ones((size, size), dtype=torch.bool, device=tgt.device)
        past = past.tril_()[None, None]
        y = self["decoder"](self.lookup("tgt", tgt), memory, self.allowed(src), past * self.allowed(tgt))
        return self["head"](y.transpose(1, 2)).transpose(1, 2)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)
