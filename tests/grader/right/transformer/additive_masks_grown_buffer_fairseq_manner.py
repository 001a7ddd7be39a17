"""fairseq manner: additive masks (0 and -inf) in the dtype of x, the future mask a non-persistent buffer grown when needed."""

import math
from typing import Optional

import torch
from torch import Tensor, nn


def fill_with_neg_inf(t: Tensor) -> Tensor:
    """FP16-compatible function that fills a tensor with -inf."""
    return t.float().fill_(float("-inf")).type_as(t)


class Transformer(nn.Module):
    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        src_embed: nn.Module,
        tgt_embed: nn.Module,
        positions: nn.Module,
        d_model: int,
        tgt_vocab: int,
        *,
        pad: int = 0,
        no_scale_embedding: bool = False,
    ) -> None:
        super().__init__()
        self.padding_idx = pad
        self.embed_scale = 1.0 if no_scale_embedding else math.sqrt(d_model)
        self.embed_positions = positions
        self.embed_source, self.embed_target = src_embed, tgt_embed
        self.encoder, self.decoder = encoder, decoder
        self.output_projection = nn.Linear(d_model, tgt_vocab, bias=False)
        nn.init.normal_(self.output_projection.weight, mean=0, std=d_model**-0.5)
        self.register_buffer("_future_mask", torch.empty(0, 0), persistent=False)

    def buffered_future_mask(self, tensor: Tensor) -> Tensor:
        dim = tensor.size(1)
        if self._future_mask.size(0) < dim or self._future_mask.device != tensor.device:
            size = max(dim, 2 * self._future_mask.size(0))
            self._future_mask = torch.triu(fill_with_neg_inf(torch.zeros([size, size])), 1)
        self._future_mask = self._future_mask.to(tensor)
        return self._future_mask[:dim, :dim]

    def padding(self, tokens: Tensor, x: Tensor) -> Optional[Tensor]:
        encoder_padding_mask = tokens.eq(self.padding_idx)
        out = x.new_zeros(tokens.size(0), 1, 1, tokens.size(1))
        return out.masked_fill_(encoder_padding_mask[:, None, None, :], float("-inf"))

    def embed(self, table: nn.Module, tokens: Tensor) -> Tensor:
        x = self.embed_scale * table(tokens)
        return self.embed_positions(x)

    def encode(self, src: Tensor) -> Tensor:
        x = self.embed(self.embed_source, src)
        return self.encoder(x, self.padding(src, x))

    def extract_features(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        x = self.embed(self.embed_target, tgt)
        self_attn_mask = self.buffered_future_mask(x) + self.padding(tgt, x)
        return self.decoder(x, memory, self.padding(src, x), self_attn_mask)

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        return self.output_projection(self.extract_features(tgt, memory, src))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        return self.decode(tgt, self.encode(src), src)
