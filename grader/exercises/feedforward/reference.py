"""The feed-forward network in small steps, so that a known mistake is the reference with one step replaced.

max(0, x W1 + b1) W2 + b2, applied to each position ("Attention Is All You Need", section 3.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.api import Wanted, one_token


def wanted(d_model: int, d_ff: int) -> list[Wanted]:
    """The parameters of the class."""
    return [
        Wanted("up.weight", (d_ff, d_model), r"up|in|expand|w1|w_1|fc1|linear1|l1|first"),
        Wanted("up.bias", (d_ff,), r"up|in|expand|b1|b_1|fc1|linear1|l1|first"),
        Wanted("down.weight", (d_model, d_ff), r"down|out|contract|w2|w_2|fc2|linear2|l2|second"),
        Wanted("down.bias", (d_model,), r"down|out|contract|b2|b_2|fc2|linear2|l2|second"),
    ]


@dataclass(frozen=True)
class Call:
    """What every step sees."""

    weights: Mapping[str, Tensor]
    dropout: float
    training: bool


def linear(call: Call, role: str, x: Tensor) -> Tensor:
    """x W^T + b with the weights of "up" or "down"."""
    return x @ call.weights[f"{role}.weight"].T + call.weights[f"{role}.bias"]


def drop(call: Call, x: Tensor) -> Tensor:
    """Dropout, in training mode only."""
    return F.dropout(x, call.dropout, call.training)


@dataclass(frozen=True)
class Steps:
    """The whole computation, in order. `dataclasses.replace` makes a mistake of it."""

    NAMES: ClassVar[Mapping[str, str]] = {
        "up": "x W1 + b1", "activate": "hidden layer", "drop": "hidden layer after dropout", "down": "output",
        "finish": "output",
    }  # fmt: skip

    shapes: Callable[[int, int], list[Wanted]] = wanted
    up: Callable[[Call, Tensor], Tensor] = lambda call, x: linear(call, "up", x)
    activate: Callable[[Call, Tensor], Tensor] = lambda _call, x: x.relu()
    drop: Callable[[Call, Tensor], Tensor] = drop
    down: Callable[[Call, Tensor], Tensor] = lambda call, x: linear(call, "down", x)
    finish: Callable[[Call, Tensor, Tensor], Any] = lambda _call, _x, out: out

    def forward(self, call: Call, x: Tensor) -> Any:
        """x [B, T, D] -> [B, T, D]."""
        return self.finish(call, x, self.down(call, self.drop(call, self.activate(call, self.up(call, x)))))


REFERENCE = Steps()


FIRST_CALLS = {"FeedForward": one_token}
"""Of the classes that have parameters, see `grader.core.submission.Submission`."""


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    class FeedForward(nn.Module):
        def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
            super().__init__()
            self.dropout = dropout
            for one in steps.shapes(d_model, d_ff):
                made = nn.Parameter(torch.randn(one.shape) / math.sqrt(d_model))
                self.register_parameter(one.name.replace(".", "_"), made)

        def forward(self, x: Tensor) -> Any:
            weights = {name.replace("_", "."): p for name, p in self.named_parameters()}
            return steps.forward(Call(weights, self.dropout, self.training), x)

    return {"FeedForward": FeedForward}
