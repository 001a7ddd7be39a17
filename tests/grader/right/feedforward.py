"""Right feed-forward networks in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

RIGHT: Mapping[str, str] = {
    "sequential": """
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))

    def forward(self, x):
        return self.net(x)
""",
    "subclass_of_sequential_with_extra_argument": """
import warnings

from torch import nn


class FeedForward(nn.Sequential):
    def __init__(self, d_model, d_ff, dropout=0.0, activation=nn.ReLU):
        if d_ff < d_model:
            warnings.warn("narrow in the middle", stacklevel=2)
        super().__init__(nn.Linear(d_model, d_ff), activation(inplace=True), nn.Dropout(dropout, inplace=True),
                         nn.Linear(d_ff, d_model))
""",
    "bare_parameters_as_in_the_formula": """
import math

import torch
from torch import nn
from torch.nn import functional as F


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.W_1 = nn.Parameter(torch.randn(d_model, d_ff) / math.sqrt(d_model))
        self.b_1 = nn.Parameter(torch.zeros(d_ff))
        self.W_2 = nn.Parameter(torch.randn(d_ff, d_model) / math.sqrt(d_ff))
        self.b_2 = nn.Parameter(torch.zeros(d_model))
        self.p = dropout

    def forward(self, x):
        hidden = torch.clamp(x @ self.W_1 + self.b_1, min=0)
        return F.dropout(hidden, self.p, training=self.training) @ self.W_2 + self.b_2
""",
    "made_in_the_other_order_with_einsum": """
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.shift_out = nn.Parameter(torch.rand(d_model))
        self.out = nn.Parameter(torch.randn(d_model, d_ff) * d_ff ** -0.5)
        self.shift_in = nn.Parameter(torch.rand(d_ff))
        self.into = nn.Parameter(torch.randn(d_model, d_ff) * d_model ** -0.5)
        self.drop = nn.Dropout(p=dropout)

    def forward(self, x):
        h = torch.einsum("...d,df->...f", x, self.into) + self.shift_in
        h = torch.maximum(h, torch.zeros_like(h))
        return torch.einsum("...f,df->...d", self.drop(h), self.out) + self.shift_out
""",
    "convolutions_of_width_one": '''
import torch
from torch import nn


class FeedForward(nn.Module):
    """"Another way of describing this is as two convolutions with kernel size 1" (the paper, section 3.3)."""

    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.conv1 = nn.Conv1d(d_model, d_ff, kernel_size=1)
        self.conv2 = nn.Conv1d(d_ff, d_model, kernel_size=1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        h = self.conv1(x.transpose(1, 2)).relu()
        return self.conv2(self.dropout(h)).transpose(1, 2)
''',
    "position_by_position": """
import torch
from torch import nn


class Affine(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n, m))
        self.bias = nn.Parameter(torch.empty(m))
        nn.init.xavier_uniform_(self.weight)
        nn.init.normal_(self.bias, std=1e-2)

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.down, self.up = Affine(d_ff, d_model), Affine(d_model, d_ff)
        self.rate = dropout

    def _drop(self, h):
        if not self.training or self.rate == 0:
            return h
        keep = torch.rand_like(h) >= self.rate
        return h * keep / (1 - self.rate)

    def forward(self, x):
        columns = [self.down(self._drop(self.up(x[:, t]) * (self.up(x[:, t]) > 0))) for t in range(x.size(1))]
        return torch.stack(columns, dim=1)
""",
    "gate_of_two_signs": """
from torch import nn
from torch.nn import functional as F


class Wide(nn.Linear):
    def forward(self, x):
        h = super().forward(x)
        return (h + h.abs()) / 2


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleDict({"2": nn.Linear(d_ff, d_model), "1": Wide(d_model, d_ff)})
        self.drop = nn.Identity() if dropout == 0 else nn.Dropout(dropout)

    def forward(self, x, debug=False):
        for step in (self.layers["1"], self.drop, self.layers["2"]):
            x = step(x)
            if debug:
                print(x.shape)
        return x
""",
    "both_matrices_in_one_parameter": """
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.w = nn.Parameter(torch.randn(2, d_model, d_ff) / d_model**0.5)
        self.b1, self.b2 = nn.Parameter(torch.zeros(d_ff)), nn.Parameter(torch.zeros(d_model))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.drop((x @ self.w[0] + self.b1).relu()) @ self.w[1].T + self.b2
""",
}
