"""Decoder, written out step by step."""

from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.own = self_attention
        self.cross = cross_attention
        self.ffn = feed_forward
        self.norm_own = nn.LayerNorm(d_model)
        self.norm_cross = nn.LayerNorm(d_model)
        self.norm_ffn = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm == "pre"

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        if self.norm_first:
            return self.forward_pre(x, memory, src_mask, tgt_mask)
        return self.forward_post(x, memory, src_mask, tgt_mask)

    def forward_pre(self, x, memory, src_mask, tgt_mask):
        residual = x
        h = self.norm_own(x)
        h = self.own(h, h, h, tgt_mask)
        x = residual + self.drop(h)

        residual = x
        h = self.norm_cross(x)
        h = self.cross(h, memory, memory, src_mask)
        x = residual + self.drop(h)

        residual = x
        h = self.norm_ffn(x)
        h = self.ffn(h)
        return residual + self.drop(h)

    def forward_post(self, x, memory, src_mask, tgt_mask):
        h = self.own(x, x, x, tgt_mask)
        x = x + self.drop(h)
        x = self.norm_own(x)

        h = self.cross(x, memory, memory, src_mask)
        x = x + self.drop(h)
        x = self.norm_cross(x)

        h = self.ffn(x)
        x = x + self.drop(h)
        return self.norm_ffn(x)


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.blocks = nn.ModuleList(make_layer() for _ in range(num_layers))
        if norm == "pre":
            self.finish = nn.LayerNorm(d_model)
        else:
            self.finish = nn.Identity()

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for block in self.blocks:
            x = block(x, memory, src_mask, tgt_mask)
        return self.finish(x)
