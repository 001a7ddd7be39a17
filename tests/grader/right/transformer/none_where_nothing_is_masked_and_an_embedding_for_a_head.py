"""Hands on None where nothing is masked, a plain [L, L] causal mask where no target is padded; head is an own nn.Embedding's table."""

import torch
from torch import nn


def pad_mask_or_none(ids, pad):
    allowed = ids != pad
    if bool(allowed.all()):
        return None
    return allowed[:, None, None, :]


def target_mask_or_none(ids, pad):
    length = ids.shape[-1]
    padding = pad_mask_or_none(ids, pad)
    if length == 1:
        return padding
    causal = torch.ones(length, length, dtype=torch.bool).tril().to(ids.device)
    return causal if padding is None else causal.logical_and(padding)


class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        for name, part in list(locals().items()):
            if isinstance(part, nn.Module) and part is not self:
                setattr(self, name, part)
        # one row for each word of the target: logit = row . y
        self.words_out = nn.Embedding(tgt_vocab, d_model)
        nn.init.uniform_(self.words_out.weight, -(d_model**-0.5), d_model**-0.5)
        self.root = d_model**0.5
        self.pad = pad

    def encode(self, src):
        x = self.positions(self.src_embed(src) * self.root)
        return self.encoder(x, pad_mask_or_none(src, self.pad))

    def decode(self, tgt, memory, src):
        x = self.positions(self.tgt_embed(tgt) * self.root)
        y = self.decoder(x, memory, pad_mask_or_none(src, self.pad), target_mask_or_none(tgt, self.pad))
        return y @ self.words_out.weight.T

    def forward(self, src, tgt):
        memory = self.encode(src)
        return self.decode(tgt, memory, src)


if __name__ == "__main__":
    print(pad_mask_or_none(torch.tensor([[5, 4, 0]]), 0))
    print(target_mask_or_none(torch.tensor([[1, 7, 0]]), 0))
