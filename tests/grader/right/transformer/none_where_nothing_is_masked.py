import math
import torch
import torch.nn.functional as F
from torch import nn


class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.encoder, self.decoder, self.positions = encoder, decoder, positions
        self.embeds = nn.ModuleDict({"src": src_embed, "tgt": tgt_embed})
        self.to_words = nn.Linear(d_model, tgt_vocab)
        self.register_buffer("scale", torch.tensor(float(d_model)).sqrt(), persistent=False)
        self.pad = pad

    def keys(self, tokens):
        allowed = tokens.ne(self.pad)
        return None if bool(allowed.all()) else allowed.unsqueeze(1).unsqueeze(1)

    def embed(self, side, tokens):
        return self.positions(self.embeds[side](tokens).mul(self.scale))

    def encode(self, src):
        keys = self.keys(src)
        if keys is None:
            return self.encoder(self.embed("src", src))
        return self.encoder(self.embed("src", src), src_mask=keys)

    def decode(self, tgt, memory, src):
        length, keys = tgt.size(1), self.keys(tgt)
        at = torch.arange(length, device=tgt.device)
        mask = (at[None, :] <= at[:, None])[None, None]
        if keys is not None:
            mask = mask & keys
        elif length == 1:
            mask = None
        y = self.decoder(self.embed("tgt", tgt), memory=memory, tgt_mask=mask, src_mask=self.keys(src))
        return self.to_words(y)

    def forward(self, src, tgt):
        return self.decode(src=src, tgt=tgt, memory=self.encode(src=src))
