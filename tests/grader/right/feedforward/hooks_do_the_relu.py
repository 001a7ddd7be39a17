"""forward only chains two linear layers; ReLU is a forward hook of the first, dropout a pre-hook of the second."""
import torch
from torch import nn


def _relu_hook(module, args, output):
    return torch.relu(output)


class _DropoutHook:
    """A callable with slots; the layer's own training flag decides."""

    __slots__ = ("p",)

    def __init__(self, p):
        self.p = p

    def __call__(self, module, args):
        (hidden,) = args
        return (nn.functional.dropout(hidden, p=self.p, training=module.training),)


class FeedForward(nn.Sequential):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__(nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model))
        self[0].register_forward_hook(_relu_hook)
        self[1].register_forward_pre_hook(_DropoutHook(dropout))
