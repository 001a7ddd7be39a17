"""Hints for `positions.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "SinusoidalPositions": (
        "Create a table [max_len, d_model] once, in __init__, and add its first T rows in forward. Compute one "
        "number of the worked example by hand first.",
        "The angles are the positions, as a column [max_len, 1], divided by one power of 10000 for each pair of "
        "columns. Their sines fill the columns 0, 2, 4, ..., their cosines the columns 1, 3, 5, ... An odd d_model "
        "has one more sine column than cosine columns.",
        "even = torch.arange(0, d_model, 2).float(); angle = positions / 10000 ** (even / d_model); "
        "table[:, 0::2] = angle.sin(); table[:, 1::2] = angle.cos()[:, : d_model // 2]; keep it with "
        "register_buffer. In forward raise ValueError if x.size(1) > max_len, then return x + table[: x.size(1)].",
    ),
    "LearnedPositions": (
        "One trainable table with a row for each position; forward adds its first T rows to x.",
        "Use an nn.Parameter of max_len x d_model, or an nn.Embedding. The length is the second dimension of x; the "
        "rows broadcast over the batch.",
        "self.table = nn.Parameter(torch.randn(max_len, d_model) * 0.02); in forward raise ValueError if "
        "x.size(1) > max_len, then return x + self.table[: x.size(1)].",
    ),
}
