"""torch.func.functional_call on a template net; a full backward hook keeps the last gradient norms in a deque."""
from collections import OrderedDict, deque

import torch
from torch import nn
from torch.func import functional_call


class GradientLog:
    __slots__ = ("norms",)

    def __init__(self):
        self.norms = deque(maxlen=8)

    def __call__(self, module, grad_input, grad_output):
        self.norms.append([float(g.norm()) for g in grad_output if g is not None])


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0, *, activation=nn.ReLU):
        super().__init__()
        self.net = nn.Sequential(
            OrderedDict(
                [
                    ("expand", nn.Linear(d_model, d_ff)),
                    ("act", activation()),
                    ("drop", nn.Dropout(dropout)),
                    ("contract", nn.Linear(d_ff, d_model)),
                ]
            )
        )
        self.log = GradientLog()
        self.net.contract.register_full_backward_hook(self.log)

    def forward(self, x):
        weights = dict(self.net.named_parameters())
        return functional_call(self.net, weights, (x,))
