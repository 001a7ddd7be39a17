"""d2l.ai manner: nn.LazyLinear for the head, abstract base class, trailing *args in forward, init applied in a first call."""

import torch
from torch import nn


class EncoderDecoder(nn.Module):
    """The base class for the encoder--decoder architecture."""

    def __init__(self):
        super().__init__()

    def encode(self, src, *args):
        raise NotImplementedError

    def decode(self, tgt, memory, src, *args):
        raise NotImplementedError

    def forward(self, src, tgt, *args):
        enc_all_outputs = self.encode(src, *args)
        return self.decode(tgt, enc_all_outputs, src, *args)


class Transformer(EncoderDecoder):
    def __init__(
        self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0, bias=True
    ):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_embedding = src_embed
        self.tgt_embedding = tgt_embed
        self.pos_encoding = positions
        self.num_hiddens = d_model
        self.pad = pad
        self.dense = nn.LazyLinear(tgt_vocab, bias=bias)

    def _embed(self, table, X):
        # The positional encodings lie between -1 and 1, so the embedding is rescaled before they are summed up.
        return self.pos_encoding(table(X) * self.num_hiddens**0.5)

    def _valid(self, X):
        batch, steps = X.shape
        return (~torch.eq(X, self.pad)).reshape(batch, 1, 1, steps)

    def encode(self, src, *args):
        return self.encoder(self._embed(self.src_embedding, src), self._valid(src))

    def decode(self, tgt, memory, src, *args):
        num_steps = tgt.shape[1]
        # row t may see the columns 0..t
        dec_valid_lens = torch.arange(1, num_steps + 1, device=tgt.device)
        causal = torch.arange(num_steps, device=tgt.device)[None, :] < dec_valid_lens[:, None]
        X = self._embed(self.tgt_embedding, tgt)
        X = self.decoder(X, memory, self._valid(src), torch.logical_and(causal, self._valid(tgt)))
        return self.dense(X)
