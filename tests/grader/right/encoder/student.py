"""Encoder: a residual wrapper is used for both sublayers."""

from torch import nn


class Wrapped(nn.Module):
    """The residual sum and the norm around a function f."""

    def __init__(self, d_model, dropout, placement):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.placement = placement

    def forward(self, x, f):
        if self.placement == "pre":
            return x + self.drop(f(self.norm(x)))
        return self.norm(x + self.drop(f(x)))


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.attention = self_attention
        self.ffn = feed_forward
        self.around_attention = Wrapped(d_model, dropout, norm)
        self.around_ffn = Wrapped(d_model, dropout, norm)

    def forward(self, x, src_mask=None):
        x = self.around_attention(x, lambda y: self.attention(y, y, y, src_mask))
        return self.around_ffn(x, self.ffn)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            self.blocks.append(make_layer())
        self.last_norm = None
        if norm == "pre":
            self.last_norm = nn.LayerNorm(d_model)

    def forward(self, x, src_mask=None):
        for block in self.blocks:
            x = block(x, src_mask)
        if self.last_norm is not None:
            x = self.last_norm(x)
        return x
