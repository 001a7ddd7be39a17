"""lucidrains manner: einops, exists/default helpers, masks repeated to full [b, 1, i, j], pad keyword-only, **kwargs swallowed."""

import torch
from einops import einsum, rearrange, repeat
from torch import nn


def exists(val):
    return val is not None


def default(val, d):
    return val if exists(val) else d


class Transformer(nn.Module):
    def __init__(
        self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, *, pad=0, scale=None, **kwargs
    ):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_emb = src_embed
        self.tgt_emb = tgt_embed
        self.pos = positions

        self.pad_id = pad
        self.scale = default(scale, d_model**0.5)

        self.to_logits = nn.Parameter(torch.randn(tgt_vocab, d_model) * d_model**-0.5)

    def key_mask(self, ids, num_queries):
        return repeat(ids != self.pad_id, "b j -> b 1 i j", i=num_queries)

    def encode(self, src):
        n = src.shape[-1]
        x = self.src_emb(src) * self.scale
        return self.encoder(self.pos(x), self.key_mask(src, n))

    def decode(self, tgt, memory, src):
        n, device = tgt.shape[-1], tgt.device

        seq = torch.arange(n, device=device)
        causal = rearrange(seq, "i -> i 1") >= rearrange(seq, "j -> 1 j")

        x = self.pos(self.tgt_emb(tgt) * self.scale)
        x = self.decoder(x, memory, self.key_mask(src, n), self.key_mask(tgt, n) & causal)

        return einsum(x, self.to_logits, "b n d, v d -> b n v")

    def forward(self, src, tgt, return_memory=False):
        memory = self.encode(src)
        logits = self.decode(tgt, memory, src)

        if not return_memory:
            return logits

        return logits, memory
