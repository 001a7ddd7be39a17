"""Norms are lazy (UninitializedParameter); dropout is handmade with torch.bernoulli, the rate a 0-d tensor."""
import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedParameter


class LazyLayerNorm(LazyModuleMixin, nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = UninitializedParameter()
        self.bias = UninitializedParameter()

    def initialize_parameters(self, x):
        if self.has_uninitialized_params():
            with torch.no_grad():
                self.weight.materialize((x.shape[-1],))
                self.bias.materialize((x.shape[-1],))
                nn.init.ones_(self.weight)
                nn.init.zeros_(self.bias)

    def forward(self, x):
        return nn.functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class BernoulliDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = torch.as_tensor(p, dtype=torch.float32)
        if not 0 <= self.p <= 1:
            raise ValueError("p must lie in [0, 1]")

    def forward(self, x):
        if not self.training or self.p.item() == 0:
            return x
        keep = torch.bernoulli((1 - self.p).expand(x.shape)).to(device=x.device, dtype=x.dtype)
        return x * keep if self.p.item() == 1 else x * keep / (1 - self.p.item())


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.mha, self.ffn = self_attention, feed_forward
        self.norm1, self.norm2 = LazyLayerNorm(), LazyLayerNorm()
        self.dropout = BernoulliDropout(dropout)
        self.norm_first = norm == "pre"

    def forward(self, x, src_mask=None):
        if self.norm_first:
            q = self.norm1(x)
            h = x + self.dropout(self.mha(q, q, q, src_mask))
            return h + self.dropout(self.ffn(self.norm2(h)))
        h = self.norm1(x + self.dropout(self.mha(x, x, x, src_mask)))
        return self.norm2(h + self.dropout(self.ffn(h)))


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        blocks = []
        while len(blocks) < num_layers:
            blocks.append(make_layer())
        self.blks = nn.ModuleList(blocks)
        self.norm = LazyLayerNorm() if norm == "pre" else None

    def forward(self, x, src_mask=None):
        for blk in self.blks:
            x = blk(x, src_mask)
        if self.norm is not None:
            x = self.norm(x)
        return x
