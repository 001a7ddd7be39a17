"""Inherits torch's own nn.TransformerDecoderLayer: its linear layers are thrown out, its blocks overridden, its forward does the rest."""
import torch
from torch import nn


class DecoderLayer(nn.TransformerDecoderLayer):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__(
            d_model, nhead=1, dim_feedforward=1, dropout=dropout, batch_first=True, norm_first=norm == "pre"
        )
        del self.linear1, self.linear2, self.dropout
        self.self_attn = self_attention
        self.multihead_attn = cross_attention
        self.feed_forward = feed_forward

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        return super().forward(x, memory, tgt_mask=tgt_mask, memory_mask=src_mask)

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(self.self_attn(x, x, x, attn_mask))

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout2(self.multihead_attn(x, mem, mem, attn_mask))

    def _ff_block(self, x):
        return self.dropout3(self.feed_forward(x))


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList(make_layer() for _ in range(num_layers))
        self.norm = nn.LayerNorm(d_model) if norm == "pre" else None

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        output = x
        for mod in self.layers:
            output = mod(output, memory, src_mask=src_mask, tgt_mask=tgt_mask)
        if self.norm is not None:
            output = self.norm(output)
        return output


if __name__ == "__main__":
    torch.manual_seed(0)
