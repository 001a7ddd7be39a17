"""Hints for `feedforward.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "FeedForward": (
        "Read the formula from the inside out: a linear layer, max(0, .), another linear layer. Each works on the last "
        "dimension only, so positions never interact.",
        "One nn.Linear from d_model to d_ff, one from d_ff to d_model, both with a bias, and an nn.Dropout, all "
        "created in __init__. The ReLU comes after the first layer, the dropout after the ReLU.",
        "return self.down(self.dropout(torch.relu(self.up(x)))).",
    ),
}
