"""Right norms, and right places for them, in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

WRAPPERS = """

class PreNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm, self.sublayer, self.drop = norm, sublayer, nn.Dropout(dropout)

    def forward(self, x, *args, **kwargs):
        return x + self.drop(self.sublayer(self.norm(x), *args, **kwargs))


class PostNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm, self.sublayer, self.drop = norm, sublayer, nn.Dropout(dropout)

    def forward(self, x, *args, **kwargs):
        return self.norm(x + self.drop(self.sublayer(x, *args, **kwargs)))
"""

NORM = """

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.weight * ((x - mean) / torch.sqrt(var + self.eps)) + self.bias
"""

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
"""

RIGHT: Mapping[str, str] = {
    "torch_var": HEAD + NORM + WRAPPERS,
    "by_the_library": HEAD
    + """

class LayerNorm(nn.LayerNorm):
    pass
"""
    + WRAPPERS,
    "functional_with_rows_of_one_parameter": HEAD
    + """

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.b_2 = nn.Parameter(torch.zeros(d_model))
        self.a_2 = nn.Parameter(torch.ones(d_model))
        self.d_model, self.eps = (d_model,), eps

    def forward(self, x):
        return F.layer_norm(x, self.d_model, self.a_2, self.b_2, self.eps)
"""
    + WRAPPERS,
    "sums_and_einsum": HEAD
    + """

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        wide = x.double()
        d = wide - wide.sum(-1, keepdim=True) / wide.shape[-1]
        variance = torch.einsum("...d,...d->...", d, d) / wide.shape[-1]
        x_hat = d * (variance + self.eps).pow(-0.5).unsqueeze(-1)
        return torch.addcmul(self.beta, x_hat.to(x.dtype), self.gamma)
"""
    + WRAPPERS,
    "base_class_and_functional_dropout": HEAD
    + """
import warnings
"""
    + NORM
    + """

class Sublayer(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0, *, name="sublayer"):
        super().__init__()
        if dropout > 0.5:
            warnings.warn("that is a lot of dropout", stacklevel=3)
        self.parts = nn.ModuleList([sublayer, norm])
        self.p = dropout
        self.name = name

    def around(self, x, inner, args, kwargs):
        out = self.parts[0](inner, *args, **kwargs)
        return torch.add(F.dropout(out, self.p, self.training), x)


class PreNorm(Sublayer):
    def forward(self, x, *rest, **named):
        return self.around(x, self.parts[1](x), rest, named)


class PostNorm(Sublayer):
    def forward(self, x, *rest, **named):
        return self.parts[1](self.around(x, x, rest, named))
""",
    "centred_by_a_matrix": HEAD
    + '''

class LayerNorm(nn.Module):
    """Taking the mean away is a projection; dividing is a matter of length."""

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.full((d_model,), 1.0))
        self.shift = nn.Parameter(torch.full((d_model,), 0.0))
        self.eps = eps
        self.register_buffer("n", torch.tensor(float(d_model)), persistent=False)

    def forward(self, x):
        first = x[..., :1]
        x = x - first  # the norm does not see an offset
        x = x - x.mean(-1, keepdim=True)
        root = torch.sqrt((x * x).sum(-1, keepdim=True) / self.n + self.eps)
        return self.scale * x / root + self.shift


class PreNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.add_module("inside", sublayer)
        self.add_module("before", norm)
        self.rate = dropout

    def forward(self, x, *args, **kwargs):
        y = self.inside(self.before(x), *args, **kwargs)
        if self.training and self.rate:
            y = y * torch.bernoulli(torch.full_like(y, 1 - self.rate)) / (1 - self.rate)
        return y + x


class PostNorm(PreNorm):
    def forward(self, x, *args, **kwargs):
        y = self.inside(x, *args, **kwargs)
        if self.training and self.rate:
            y = y * torch.bernoulli(torch.full_like(y, 1 - self.rate)) / (1 - self.rate)
        return self.before(y + x)
''',
    "row_by_row": HEAD
    + """

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.register_parameter("g", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("b", nn.Parameter(torch.zeros(d_model)))
        self.eps = eps

    def one(self, row):
        d = row - row.mean()
        return d / (d.pow(2).mean() + self.eps).sqrt()

    def forward(self, x):
        rows = torch.stack([self.one(row) for row in x.reshape(-1, x.size(-1))])
        return rows.reshape(x.shape) * self.g + self.b
"""
    + WRAPPERS,
    "bias_and_gain_in_one_parameter": HEAD
    + """

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.affine = nn.Parameter(torch.stack([torch.zeros(d_model), torch.ones(d_model)]))  # [2, D]
        self.eps = eps

    def forward(self, x):
        bias, gain = self.affine
        return F.layer_norm(x, x.shape[-1:], gain, bias, self.eps)
"""
    + WRAPPERS,
    "gain_and_bias_end_to_end": HEAD
    + """

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.both = nn.Parameter(torch.cat([torch.ones(d_model), torch.zeros(d_model)]))  # [2 D]
        self.eps = eps

    def forward(self, x):
        gain, bias = self.both.chunk(2)
        return F.layer_norm(x, x.shape[-1:], gain, bias, self.eps)
"""
    + WRAPPERS,
    "gain_and_bias_side_by_side": HEAD
    + """

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.columns = nn.Parameter(torch.stack([torch.ones(d_model), torch.zeros(d_model)], dim=1))  # [D, 2]
        self.eps = eps

    def forward(self, x):
        gain, bias = self.columns.unbind(1)
        return F.layer_norm(x, x.shape[-1:], gain, bias, self.eps)
"""
    + WRAPPERS,
    "gain_and_bias_in_turns": HEAD
    + """

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.turns = nn.Parameter(torch.tensor([1.0, 0.0]).repeat(d_model))  # [2 D]
        self.eps = eps

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.turns[::2], self.turns[1::2], self.eps)
"""
    + WRAPPERS,
}
