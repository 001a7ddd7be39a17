"""Annotated Transformer manner: three lambdas through sublayer connections; memory is bound to m first."""
import torch.nn as nn


class SublayerConnection(nn.Module):
    "A residual connection with a layer norm on one side of it."

    def __init__(self, size, dropout, norm):
        super(SublayerConnection, self).__init__()
        self.norm = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)
        self.place = norm

    def forward(self, x, sublayer):
        if self.place == "pre":
            return x + self.dropout(sublayer(self.norm(x)))
        else:
            return self.norm(x + self.dropout(sublayer(x)))


class DecoderLayer(nn.Module):
    "Decoder is made of self-attn, src-attn, and feed forward."

    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super(DecoderLayer, self).__init__()
        self.size = d_model
        self.self_attn = self_attention
        self.src_attn = cross_attention
        self.feed_forward = feed_forward
        self.sublayer = nn.ModuleDict(
            {key: SublayerConnection(d_model, dropout, norm) for key in ("self", "src", "ff")}
        )

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        m = memory
        x = self.sublayer["self"](x, lambda x: self.self_attn(x, x, x, tgt_mask))
        x = self.sublayer["src"](x, lambda x: self.src_attn(x, m, m, src_mask))
        return self.sublayer["ff"](x, self.feed_forward)


class Decoder(nn.Module):
    "Generic N layer decoder with masking."

    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super(Decoder, self).__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)])
        if norm == "pre":
            self.norm = nn.LayerNorm(d_model)

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        if "norm" in self._modules:
            x = self.norm(x)
        return x
