"""Decoder: each sublayer is a block with its own norm."""

from torch import nn


class Block(nn.Module):
    def __init__(self, part, d_model, dropout, pre):
        super().__init__()
        self.part = part
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.pre = pre

    def forward(self, x, run):
        y = run(self.part, self.norm(x) if self.pre else x)
        total = x + self.dropout(y)
        return total if self.pre else self.norm(total)


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        parts = (self_attention, cross_attention, feed_forward)
        self.blocks = nn.ModuleList([Block(part, d_model, dropout, norm == "pre") for part in parts])

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        def among_targets(part, y):
            return part(y, y, y, tgt_mask)

        def at_the_source(part, y):
            return part(y, memory, memory, src_mask)

        def alone(part, y):
            return part(y)

        for block, run in zip(self.blocks, (among_targets, at_the_source, alone)):
            x = block(x, run)
        return x


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.num_layers = num_layers
        for i in range(num_layers):
            self.add_module(f"layer{i}", make_layer())
        self.closing = [] if norm == "post" else [nn.LayerNorm(d_model)]
        self.closing = nn.Sequential(*self.closing)

    def states(self, x, memory, **masks):
        """The result of each layer, one after the other."""
        for i in range(self.num_layers):
            x = getattr(self, f"layer{i}")(x, memory, **masks)
            yield x

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        *_, last = self.states(x, memory, src_mask=src_mask, tgt_mask=tgt_mask)
        return self.closing(last)
