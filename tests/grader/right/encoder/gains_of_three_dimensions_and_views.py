import torch
import torch.nn.functional as F
from torch import nn


class Norm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.beta = nn.Parameter(torch.zeros(1, 1, d_model))
        self.gamma = nn.Parameter(torch.ones(1, 1, d_model))

    def forward(self, x):
        var, mean = torch.var_mean(x, dim=2, correction=0, keepdim=True)
        return torch.addcmul(self.beta, (x - mean) * torch.rsqrt(var + 1e-5), self.gamma)


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.norm_b, self.norm_a = Norm(d_model), Norm(d_model)
        self.steps = nn.ModuleList([self_attention, feed_forward])
        self.dropouts = nn.ModuleList([nn.Dropout(dropout), nn.Dropout(dropout)])
        self.forward_of = {"pre": self.pre, "post": self.post}[norm]

    def pre(self, x, mask):
        attention, feed = self.steps
        y = self.norm_a(x)
        x = self.dropouts[0](attention(y.clone(), y, y, mask=mask)).add(x)
        return self.dropouts[1](feed(self.norm_b(x))).add(x)

    def post(self, x, mask):
        attention, feed = self.steps
        x = self.norm_a(self.dropouts[0](attention(x, x, x, mask=mask)).add(x))
        return self.norm_b(self.dropouts[1](feed(x)).add(x))

    def forward(self, x, src_mask=None):
        return self.forward_of(x, src_mask)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.first = make_layer()
        self.others = nn.ModuleList(make_layer() for _ in range(num_layers - 1))
        self.end = Norm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x, src_mask=None):
        x = self.first(x, src_mask)
        for layer in self.others:
            x = layer(x, src_mask)
        return self.end(x)
