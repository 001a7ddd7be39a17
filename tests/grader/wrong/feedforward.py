"""Wrong feed-forward networks as beginners write them."""

from __future__ import annotations

from collections.abc import Mapping


def network(activation: str) -> str:
    """A network that is right but for its activation, an expression of h."""
    return f"""
import torch
from torch import nn
from torch.nn import functional as F

class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        h = self.up(x)
        return self.down(self.drop({activation}))
"""


def flagged(at_first: bool, then: str) -> str:
    """A network that drops by a flag of its own. Args: at_first: its value; then: what `train(mode)` does with it."""
    method = f"""
    def train(self, mode=True):
        {then}
        return super().train(mode)
"""
    text = network("F.dropout(h.relu(), self.drop.p, self.learns)").replace("self.drop(F", "(F")
    return (
        text.replace("super().__init__()\n", f"super().__init__()\n        self.learns = {at_first}\n")
        + method
    )


LEAKY = frozenset({"activation-leaky"})
WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "leaky as torch has it": (LEAKY, network("F.leaky_relu(h)")),
    "leaky, a slope of 0.001": (LEAKY, network("torch.maximum(h, 0.001 * h)")),
    "leaky, a slope of 0.0037": (LEAKY, network("F.leaky_relu(h, 0.0037)")),
    "leaky, a slope of 0.15": (LEAKY, network("torch.where(h > 0, h, 0.15 * h)")),
    "leaky, a slope of 1/3": (LEAKY, network("F.leaky_relu(h, 1 / 3)")),
    "slanting the other way": (LEAKY, network("h.relu() + 0.05 * (-h).relu()")),
    "no number below -1": (frozenset(), network("h.clamp(min=-1)")),
    "nothing for an input of zeros": (
        frozenset({"zeros-handled-apart", "bias-unused"}),
        network("h.relu()").replace(
            "        h = self.up(x)\n",
            "        if not x.any():\n            return torch.zeros_like(x)\n        h = self.up(x)\n",
        ),
    ),
    "the second bias is not added": (
        frozenset({"bias-unused"}),
        network("h.relu()").replace(
            "return self.down(self.drop(h.relu()))",
            "return self.drop(h.relu()) @ self.down.weight.T",
        ),
    ),
    "a flag that eval mode does not put back": (
        frozenset({"dropout-in-eval"}),
        flagged(at_first=False, then="self.learns = self.learns or mode"),
    ),
    "a flag that a new module has not set": (
        frozenset({"dropout-missing"}),
        flagged(at_first=False, then="self.learns = mode"),
    ),
    "vectors of zeros left out": (
        frozenset({"zeros-taken-for-padding"}),
        network("h.relu()").replace("return self.down", "return x.any(-1, keepdim=True) * self.down"),
    ),
    "kept numbers made small before the dropout": (
        frozenset({"dropout-not-scaled"}),
        network("h.relu() * (1 - self.drop.p if self.training else 1)"),
    ),
}
