"""A metaclass turns a list of steps into forward; the norm is a projection on a sphere (hypot keeps eps in the root)."""
import math

import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    """Centre, then divide by sqrt((|c|^2 + D eps) / D)."""

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.vectors = nn.ParameterList([nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))])
        self.eps = eps
        self.d_model = d_model

    def forward(self, x):
        gain, bias = self.vectors
        c = x - x.mean(dim=-1, keepdim=True)
        length = torch.linalg.vector_norm(c, dim=-1, keepdim=True)
        floor = torch.full_like(length, math.sqrt(self.d_model * self.eps))
        return gain * (c / torch.hypot(length, floor) * math.sqrt(self.d_model)) + bias


class Recipe(type):
    """Classes with `steps` get a forward that walks through them."""

    def __new__(mcs, name, bases, space):
        steps = space.get("steps")
        if steps:

            def forward(self, x, *args, **kwargs):
                y = x
                for step in steps:
                    y = getattr(self, "_" + step)(x, y, args, kwargs)
                return y

            space["forward"] = forward
        return super().__new__(mcs, name, bases, space)


class _Steps(nn.Module, metaclass=Recipe):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm, self.f, self.dropout = norm, sublayer, nn.Dropout(dropout)

    def _normed(self, x, y, args, kwargs):
        return self.norm(y)

    def _sublayer(self, x, y, args, kwargs):
        return self.f(y, *args, **kwargs)

    def _dropped(self, x, y, args, kwargs):
        return self.dropout(y)

    def _residual(self, x, y, args, kwargs):
        return x + y


class PreNorm(_Steps):
    steps = ("normed", "sublayer", "dropped", "residual")


class PostNorm(_Steps):
    steps = ("sublayer", "dropped", "residual", "normed")


if __name__ == "__main__":
    print(LayerNorm(4)(torch.tensor([1.0, 2.0, 3.0, 6.0])))
