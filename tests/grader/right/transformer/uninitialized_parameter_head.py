"""The head is a LazyModuleMixin of its own with an UninitializedParameter, stored [D, V]; forward is an alias of another method."""

import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedParameter


class ToWords(LazyModuleMixin, nn.Module):
    def __init__(self, words):
        super().__init__()
        self.words = words
        self.table = UninitializedParameter()
        self.shift = nn.Parameter(torch.zeros(words))

    def initialize_parameters(self, y):
        if self.has_uninitialized_params():
            with torch.no_grad():
                self.table.materialize((y.shape[-1], self.words))
                nn.init.xavier_normal_(self.table)

    def forward(self, y):
        return torch.matmul(y, self.table).add(self.shift)


class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.add_module("enc", encoder)
        self.add_module("dec", decoder)
        self.embeds = nn.ModuleList([src_embed, tgt_embed])
        self.add_module("pos", positions)
        self.add_module("to_words", ToWords(tgt_vocab))
        self.scale = pow(d_model, 1 / 2)
        self.pad = pad

    def _in(self, ids, side):
        return self.pos(self.embeds[side](ids) * self.scale)

    def _keys(self, ids):
        return (ids - self.pad).bool().unsqueeze(1).unsqueeze(1)

    def encode(self, src):
        return self.enc(self._in(src, 0), self._keys(src))

    def decode(self, tgt, memory, src):
        later = tgt.new_ones(tgt.size(1), tgt.size(1)).triu(1).bool()
        return self.to_words(self.dec(self._in(tgt, 1), memory, self._keys(src), self._keys(tgt) & ~later))

    def translate(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)

    forward = translate
