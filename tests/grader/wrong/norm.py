"""Wrong layer norms as beginners write them."""

from __future__ import annotations

from collections.abc import Mapping

NORM = """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.gamma * (x - x.mean(-1, keepdim=True)) / torch.sqrt(var + self.eps) + self.beta

class PreNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm, self.sublayer, self.dropout = norm, sublayer, nn.Dropout(dropout)
"""

WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "PreNorm without a return": (
        frozenset({"nothing-returned"}),
        NORM
        + """
    def forward(self, x, *args, **kwargs):
        x + self.dropout(self.sublayer(self.norm(x), *args, **kwargs))

class PostNorm(PreNorm):
    def forward(self, x, *args, **kwargs):
        return self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs)))
""",
    ),
    "dropout in place of what the sublayer gave": (
        frozenset(),
        NORM.replace("nn.Dropout(dropout)", "nn.Dropout(dropout, inplace=True)")
        + """
    def forward(self, x, *args, **kwargs):
        return x + self.dropout(self.sublayer(self.norm(x), *args, **kwargs))

class PostNorm(PreNorm):
    def forward(self, x, *args, **kwargs):
        return self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs).clone()))
""",
    ),
    "an argument that is x normalised too": (
        frozenset(),
        NORM
        + """
    def forward(self, x, *args, **kwargs):
        h = self.norm(x)
        args = [h if one is x else one for one in args]
        return x + self.dropout(self.sublayer(h, *args, **kwargs))

class PostNorm(PreNorm):
    def forward(self, x, *args, **kwargs):
        return self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs)))
""",
    ),
}
