import torch
import torch.nn.functional as F
from torch import nn


class Norm(nn.LayerNorm):
    pass


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post", activation=None):
        super().__init__()
        self.add_module("mha", self_attention)
        self.add_module("mlp", feed_forward)
        self.ln = nn.ModuleDict({"mha": Norm(d_model), "mlp": Norm(d_model)})
        self.norm_first, self.p = norm == "pre", float(dropout)

    def sublayer(self, name, x, *args):
        part, norm = getattr(self, name), self.ln[name]
        y = norm(x) if self.norm_first else x
        args = (y, y, *args) if args else ()
        z = F.dropout(part.forward(y, *args), p=self.p, training=self.training, inplace=True)
        return z.add_(x) if self.norm_first else norm(z.add_(x))

    def forward(self, x, src_mask=None, **unused):
        return self.sublayer("mlp", self.sublayer("mha", x, src_mask))


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(make_layer())
        self.ln_f, self.norm_first = Norm(d_model), norm == "pre"

    def forward(self, x, src_mask=None):
        from functools import reduce

        out = reduce(lambda y, layer: layer(y, src_mask=src_mask), self.layers, x)
        return self.ln_f(out) if self.norm_first else out
