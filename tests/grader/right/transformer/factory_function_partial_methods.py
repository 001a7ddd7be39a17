"""`Transformer` is a function: it makes the class with type(), methods are free functions over the module; head is a ParameterDict."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


def _embedded(self, name, ids):
    return self.positions(getattr(self, name)(ids).mul(math.sqrt(self.width)))


def _key_mask(self, ids):
    return (ids != self.pad)[:, None, None, :]


def _encode(self, src):
    return self.encoder(_embedded(self, "src_embed", src), _key_mask(self, src))


def _decode(self, tgt, memory, src):
    length = tgt.shape[1]
    causal = torch.full((length, length), True, device=tgt.device).tril()
    y = self.decoder(_embedded(self, "tgt_embed", tgt), memory, _key_mask(self, src), _key_mask(self, tgt) & causal)
    return F.linear(y, self.head["weight"], self.head["bias"])


def _forward(self, src, tgt):
    return _decode(self, tgt, _encode(self, src), src)


_Seq2Seq = type(
    "_Seq2Seq",
    (nn.Module,),
    {"__module__": __name__, "encode": _encode, "decode": _decode, "forward": _forward},
)


def _build(cls, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
    model = cls()
    parts = dict(encoder=encoder, decoder=decoder, src_embed=src_embed, tgt_embed=tgt_embed, positions=positions)
    for name in sorted(parts):
        model.add_module(name, parts[name])
    bound = 1 / math.sqrt(d_model)
    model.head = nn.ParameterDict(
        {
            "weight": nn.Parameter(torch.empty(tgt_vocab, d_model).uniform_(-bound, bound)),
            "bias": nn.Parameter(torch.zeros(tgt_vocab)),
        }
    )
    model.width, model.pad = d_model, pad
    return model


Transformer = partial(_build, _Seq2Seq)
