"""The head's weight is stored transposed through torch.nn.utils.parametrize; a forward pre-hook and a forward hook on it check shapes."""

import logging

import torch
from torch import nn
from torch.nn.utils import parametrize

log = logging.getLogger(__name__)


class Transposed(nn.Module):
    """Parametrization: kept as [D, V], used as [V, D]."""

    def forward(self, stored):
        return stored.mT

    def right_inverse(self, weight):
        return weight.mT.clone()


class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.src_embed, self.tgt_embed = src_embed, tgt_embed
        self.positions = positions
        self.out = nn.Linear(d_model, tgt_vocab)
        parametrize.register_parametrization(self.out, "weight", Transposed())
        self.out.register_forward_pre_hook(self._check_width)
        self.out.register_forward_hook(self._check_words)
        self.d_model, self.tgt_vocab, self.pad = d_model, tgt_vocab, pad

    def _check_width(self, module, args):
        assert args[0].shape[-1] == self.d_model
        log.debug("head gets %s", tuple(args[0].shape))

    def _check_words(self, module, args, output):
        assert output.shape[-1] == self.tgt_vocab

    @property
    def scale(self):
        return torch.tensor(float(self.d_model), dtype=torch.float64).sqrt().item()

    def encode(self, src):
        mask = (src != self.pad).view(src.shape[0], 1, 1, -1)
        return self.encoder(self.positions(self.src_embed(src) * self.scale), src_mask=mask)

    def decode(self, tgt, memory, src):
        src_mask = (src != self.pad).view(src.shape[0], 1, 1, -1)
        tgt_mask = (tgt != self.pad).view(tgt.shape[0], 1, 1, -1)
        steps = torch.cumsum(torch.ones_like(tgt[:1]), dim=1)
        tgt_mask = tgt_mask & (steps.T >= steps)
        y = self.decoder(
            self.positions(self.tgt_embed(tgt) * self.scale), memory, src_mask=src_mask, tgt_mask=tgt_mask
        )
        return self.out(y)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)
