"""Position-wise feed-forward: params are a pytree (well, a ParameterDict)."""
import math
from functools import partial, reduce

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout as _dropout


def _uniform(bound: float, *shape: int) -> nn.Parameter:
    return nn.Parameter((torch.rand(*shape) * 2 - 1) * bound)


def affine(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("...i,ij->...j", x, w) + b


def relu(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, torch.zeros_like(x))


class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.rate = dropout
        bound_in, bound_out = 1 / math.sqrt(d_model), 1 / math.sqrt(d_ff)
        self.params = nn.ParameterDict(
            {
                "w_in": _uniform(bound_in, d_model, d_ff),
                "b_in": _uniform(bound_in, d_ff),
                "w_out": _uniform(bound_out, d_ff, d_model),
                "b_out": _uniform(bound_out, d_model),
            }
        )

    def forward(self, x: Tensor) -> Tensor:
        p = self.params
        steps = (
            partial(affine, w=p["w_in"], b=p["b_in"]),
            relu,
            partial(_dropout, p=self.rate, training=self.training),
            partial(affine, w=p["w_out"], b=p["b_out"]),
        )
        return reduce(lambda carry, step: step(carry), steps, x)
