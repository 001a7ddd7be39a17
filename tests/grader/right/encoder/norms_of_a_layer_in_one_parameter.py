import torch
import torch.nn.functional as F
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        start = torch.stack([torch.ones(2, d_model), torch.zeros(2, d_model)], 1)
        self.norms = nn.Parameter(start)  # [sublayers, gain and shift, D]
        self.attend, self.feed = self_attention, feed_forward
        self.drop, self.pre = nn.Dropout(dropout), norm == "pre"

    def norm(self, i, x):
        return F.layer_norm(x, x.shape[-1:], *self.norms[i])

    def around(self, i, x, sublayer):
        if self.pre:
            return x + self.drop(sublayer(self.norm(i, x)))
        return self.norm(i, x + self.drop(sublayer(x)))

    def forward(self, x, src_mask=None):
        x = self.around(0, x, lambda y: self.attend(y, y, y, src_mask))
        return self.around(1, x, self.feed)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList(make_layer() for _ in range(num_layers))
        self.last = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x, src_mask=None):
        for layer in self.layers:
            x = layer(x, src_mask)
        return self.last(x)
