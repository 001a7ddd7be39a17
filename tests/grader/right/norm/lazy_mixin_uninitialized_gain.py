"""LayerNorm is a LazyModuleMixin: gain and bias are UninitializedParameters until the first call shows the width."""
import warnings

import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedParameter


class LayerNorm(LazyModuleMixin, nn.Module):
    def __init__(self, d_model, *, eps=1e-5):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.gain = UninitializedParameter()
        self.bias = UninitializedParameter()

    def initialize_parameters(self, x):
        if self.has_uninitialized_params():
            if x.shape[-1] != self.d_model:
                warnings.warn("the last dimension is not d_model")
            with torch.no_grad():
                self.gain.materialize(x.shape[-1:])
                self.bias.materialize(x.shape[-1:])
                self.gain.fill_(1)
                self.bias.zero_()

    def forward(self, x):
        return nn.functional.layer_norm(x, x.shape[-1:], self.gain, self.bias, self.eps)


class AddNorm(nn.Module):
    """d2l's AddNorm, with a switch for the place of the norm."""

    norm_first = False

    def __init__(self, norm, sublayer, *, dropout=0.0):
        super().__init__()
        self.ln = norm
        self.sublayer = sublayer
        self.dropout = nn.Dropout(dropout)

    def forward(self, X, *args, **kwargs):
        if self.norm_first:
            return self.dropout(self.sublayer(self.ln(X), *args, **kwargs)) + X
        return self.ln(self.dropout(self.sublayer(X, *args, **kwargs)) + X)


class PreNorm(AddNorm):
    norm_first = True

    def forward(self, x, *args, **kwargs):
        return super().forward(x, *args, **kwargs)


class PostNorm(AddNorm):
    def forward(self, x, *args, **kwargs):
        return super().forward(x, *args, **kwargs)
