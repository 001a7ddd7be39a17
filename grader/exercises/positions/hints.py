"""Hints for `positions.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "SinusoidalPositions": (
        "Make a table [max_len, d_model] once, in __init__, and add its first T rows in forward. Do one number of "
        "the worked example by hand first.",
        "The angles are an outer quotient: positions as a column [max_len, 1], divided by one power of 10000 for "
        "each pair of columns. Their sines fill every second column from 0, their cosines every second from 1. With "
        "an odd width there is one sine column more than cosine columns.",
        "even = torch.arange(0, d_model, 2).float(); angle = positions / 10000 ** (even / d_model); "
        "table[:, 0::2] = angle.sin(); table[:, 1::2] = angle.cos()[:, : d_model // 2]; keep it with "
        "register_buffer. In forward raise ValueError if x.size(1) > max_len, then return x + table[: x.size(1)].",
    ),
    "LearnedPositions": (
        "One trained table with a row for each position; forward adds its first rows to x.",
        "An nn.Parameter of max_len x d_model, or the weight of an nn.Embedding, holds the numbers. The length is the "
        "second dimension of x; the rows broadcast over the batch.",
        "self.table = nn.Parameter(torch.randn(max_len, d_model) * 0.02); in forward raise ValueError if "
        "x.size(1) > max_len, then return x + self.table[: x.size(1)].",
    ),
}
