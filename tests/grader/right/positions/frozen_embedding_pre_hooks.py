"""The length is checked in a forward pre-hook put on by a class decorator; the sinusoids are a frozen nn.Embedding (requires_grad False)."""

import functools

import torch
from torch import nn


def limited(cls):
    """Give every instance a hook that refuses inputs longer than max_len, also for a direct .forward()."""
    init, forward = cls.__init__, cls.forward

    def refuse(module, args):
        if args and args[0].size(1) > module.max_len:
            raise ValueError(f"length {args[0].size(1)} is more than {module.max_len}")

    @functools.wraps(init)
    def new_init(self, d_model, max_len=cls.default, **options):
        init(self, d_model, max_len, **options)
        self.max_len = max_len
        self.register_forward_pre_hook(refuse)

    @functools.wraps(forward)
    def new_forward(self, x):
        refuse(self, (x,))
        return forward(self, x)

    cls.__init__, cls.forward = new_init, new_forward
    return cls


def sinusoids(n, d):
    j = torch.arange(d)
    angle = torch.arange(n).double()[:, None] / 10000 ** (j.div(2, rounding_mode="floor").double() * 2 / d)
    return torch.where(j % 2 == 0, angle.sin(), angle.cos())


@limited
class SinusoidalPositions(nn.Module):
    default = 5000

    def __init__(self, d_model, max_len):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(sinusoids(max_len, d_model), freeze=True)

    def forward(self, x):
        ids = torch.arange(x.size(1)).to(x.device)
        return x + self.table(ids).to(x.dtype)


@limited
class LearnedPositions(nn.Module):
    default = 512

    def __init__(self, d_model, max_len):
        super().__init__()
        self.table = nn.Embedding(max_len, d_model)

    def forward(self, x):
        ids = torch.arange(x.size(1), dtype=torch.int32, device=x.device).unsqueeze(0)
        return x + self.table(ids)
