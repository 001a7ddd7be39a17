"""Annotated-Transformer manner: a Generator module for the head, masks by static helpers, triu == 0 for the future."""

import math

import torch
import torch.nn as nn


def subsequent_mask(size):
    "Mask out subsequent positions."
    upper = torch.triu(torch.ones(1, size, size), diagonal=1).type(torch.uint8)
    return upper == 0


class Generator(nn.Module):
    "Standard linear generation step; the softmax is left to the loss."

    def __init__(self, d_model, vocab):
        super(Generator, self).__init__()
        self.proj = nn.Linear(d_model, vocab)
        nn.init.xavier_uniform_(self.proj.weight)

    def forward(self, x):
        return self.proj(x)


class Scaled(nn.Module):
    "Lookup, then sqrt(d_model). Keeps the very module it was given."

    def __init__(self, lut, d_model):
        super(Scaled, self).__init__()
        self.lut = lut
        self.d_model = d_model

    def forward(self, ids):
        return self.lut(ids) * math.sqrt(self.d_model)


class Transformer(nn.Module):
    "A standard encoder-decoder architecture."

    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super(Transformer, self).__init__()
        self.encoder = encoder
        self.decoder = decoder
        # one positions module, inside two Sequentials
        self.src_embed = nn.Sequential(Scaled(src_embed, d_model), positions)
        self.tgt_embed = nn.Sequential(Scaled(tgt_embed, d_model), positions)
        self.generator = Generator(d_model, tgt_vocab)
        self.pad = pad

    def make_src_mask(self, src):
        return (src != self.pad).unsqueeze(-2).unsqueeze(1)

    @staticmethod
    def make_std_mask(tgt, pad):
        "Hide padding and future words."
        tgt_mask = (tgt != pad).unsqueeze(-2)
        tgt_mask = tgt_mask & subsequent_mask(tgt.size(-1)).to(tgt_mask.device)
        return tgt_mask.unsqueeze(1)

    def encode(self, src):
        return self.encoder(self.src_embed(src), self.make_src_mask(src))

    def decode(self, tgt, memory, src):
        hidden = self.decoder(
            self.tgt_embed(tgt), memory, self.make_src_mask(src), self.make_std_mask(tgt, self.pad)
        )
        return self.generator(hidden)

    def forward(self, src, tgt):
        "Take in and process source and target sequences."
        return self.decode(tgt, self.encode(src), src)
