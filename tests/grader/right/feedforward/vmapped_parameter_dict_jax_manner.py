"""JAX manner: a pure function of (params, token), lifted over batch and time with torch.vmap."""
import functools

import torch
from torch import nn


def init(fan_in, fan_out, gen):
    bound = fan_in**-0.5
    return {
        "kernel": (torch.rand(fan_in, fan_out, generator=gen) * 2 - 1) * bound,
        "bias": (torch.rand(fan_out, generator=gen) * 2 - 1) * bound,
    }


def dense(params, x):
    return x @ params["kernel"] + params["bias"]


def apply_token(params, x, keep):
    """One token [D] -> [D]."""
    h = torch.maximum(dense(params["in"], x), torch.zeros((), dtype=x.dtype, device=x.device))
    return dense(params["out"], h * keep)


apply_sentence = torch.vmap(apply_token, in_dims=(None, 0, 0))
apply_batch = torch.vmap(apply_sentence, in_dims=(None, 0, 0))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        gen = torch.Generator().manual_seed(int(torch.randint(2**31, ())))
        make = functools.partial(init, gen=gen)
        self.params = nn.ModuleDict(
            {
                "in": nn.ParameterDict({k: nn.Parameter(v) for k, v in make(d_model, d_ff).items()}),
                "out": nn.ParameterDict({k: nn.Parameter(v) for k, v in make(d_ff, d_model).items()}),
            }
        )
        self.d_ff = d_ff
        self.rate = dropout

    def forward(self, x):
        keep = torch.ones(*x.shape[:-1], self.d_ff, dtype=x.dtype, device=x.device)
        if self.training:
            keep = nn.functional.dropout(keep, self.rate)
        tree = {side: dict(group.items()) for side, group in self.params.items()}
        return apply_batch(tree, x, keep)
