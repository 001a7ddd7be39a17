"""d2l manner with lazy norms, a numpy dropout rate, a state list, and __call__ overridden (forward is an alias)."""
import numpy as np
import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedParameter


class LazyNorm(LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma, self.beta = UninitializedParameter(), UninitializedParameter()

    def initialize_parameters(self, X):
        if self.has_uninitialized_params():
            with torch.no_grad():
                for p, start in ((self.gamma, 1.0), (self.beta, 0.0)):
                    p.materialize((X.shape[-1],))
                    p.fill_(start)

    def forward(self, X):
        return nn.functional.layer_norm(X, X.shape[-1:], self.gamma, self.beta, np.float64(1e-5))


class AddNorm(nn.Module):
    def __init__(self, dropout, first):
        super().__init__()
        self.ln = LazyNorm()
        self.dropout = nn.Dropout(dropout)
        self.first = first

    def __call__(self, X, f):
        if self.first:
            return X + self.dropout(f(self.ln(X)))
        return self.ln(X + self.dropout(f(X)))

    forward = __call__


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=np.float32(0), norm="post"):
        super().__init__()
        rate = float(np.float64(dropout))
        self.attention1, self.addnorm1 = self_attention, AddNorm(rate, norm == "pre")
        self.attention2, self.addnorm2 = cross_attention, AddNorm(rate, norm == "pre")
        self.ffn, self.addnorm3 = feed_forward, AddNorm(rate, norm == "pre")

    def __call__(self, x, memory, src_mask=None, tgt_mask=None):
        state = [memory, src_mask]
        Y = self.addnorm1(x, lambda Q: self.attention1(Q, Q, Q, tgt_mask))
        Z = self.addnorm2(Y, lambda Q: self.attention2(Q, state[0], state[0], state[1]))
        return self.addnorm3(Z, self.ffn)

    forward = __call__


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.blks = nn.Sequential()
        for i in range(num_layers):
            self.blks.add_module("block" + str(i), make_layer())
        self.norm = LazyNorm() if norm == "pre" else None

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for blk in self.blks:
            x = blk(x, memory, src_mask, tgt_mask)
        return x if self.norm is None else self.norm(x)
