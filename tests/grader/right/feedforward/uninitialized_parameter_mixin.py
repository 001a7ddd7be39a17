"""A lazy module of one's own: LazyModuleMixin and UninitializedParameter, sizes taken from the first input."""
import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedParameter


class _Affine(LazyModuleMixin, nn.Module):
    """x @ matrix + shift, where nobody says how wide x is."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.matrix = UninitializedParameter()
        self.shift = UninitializedParameter()

    def initialize_parameters(self, x):
        if self.has_uninitialized_params():
            with torch.no_grad():
                self.matrix.materialize((x.shape[-1], self.width))
                self.shift.materialize((self.width,))
                nn.init.xavier_uniform_(self.matrix)
                nn.init.normal_(self.shift, std=1e-3)

    def forward(self, x):
        return torch.matmul(x, self.matrix) + self.shift


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.add_module("wide", _Affine(d_ff))
        self.add_module("back", _Affine(d_model))
        self.add_module("drop", nn.Dropout(dropout))

    def forward(self, x):
        wide = self.wide(x)
        return self.back(self.drop(torch.where(wide > 0, wide, torch.zeros_like(wide))))
