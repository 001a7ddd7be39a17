"""Wrong positions as beginners write them."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = """
import math

import torch
from torch import nn
"""
LEARNED = """

class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.emb = nn.Embedding(max_len, d_model)

    def forward(self, x):
        if x.size(1) > self.emb.num_embeddings:
            raise ValueError("too long")
        return x + self.emb(torch.arange(x.size(1), device=x.device))
"""
SINUSOIDAL = """

class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        position = torch.arange(max_len).float().unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term[: d_model // 2])
        self.register_buffer("pe", pe)

    def forward(self, x):
        if x.size(1) > self.pe.size(0):
            raise ValueError("too long")
        return x + self.pe[: x.size(1)]
"""


def learned(init: str, forward: str) -> str:
    """A file whose learned positions have these two bodies."""
    return f"""{HEAD}{SINUSOIDAL}

class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        {init}

    def forward(self, x):
        {forward}
"""


def sinusoidal(**replaced: str) -> str:
    """A file with one line of the usual sinusoids written in another way."""
    text = SINUSOIDAL
    for old, new in LINES.items():
        assert old in replaced or new in text
        text = text.replace(new, replaced.get(old, new))
    return HEAD + text + LEARNED


LINES = {
    "div": "div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))",
    "sine": "pe[:, 0::2] = torch.sin(position * div_term)",
    "cosine": "pe[:, 1::2] = torch.cos(position * div_term[: d_model // 2])",
    "keep": 'self.register_buffer("pe", pe)',
    "check": "if x.size(1) > self.pe.size(0):",
    "last": "return x + self.pe[: x.size(1)]",
}

WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "frequencies that take the dtype of the module": (
        frozenset({"positions-rounded"}),
        HEAD
        + """

class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.max_len = max_len
        even = torch.arange(0, d_model, 2, dtype=torch.float64)
        self.register_buffer("speed", 10000.0 ** (-even / d_model))

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError("too long")
        angle = torch.outer(torch.arange(x.size(1), device=x.device).double(), self.speed.double())
        pairs = torch.stack((angle.sin(), angle.cos()), -1).flatten(1)
        return x + pairs[:, : x.size(2)].to(x.dtype)
"""
        + LEARNED,
    ),
    "SamLynn's loop": (
        frozenset({"cosine-exponent-of-its-own", "odd-width-fails", "length-not-checked"}),
        HEAD
        + """

class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        for pos in range(max_len):
            for i in range(0, d_model, 2):
                pe[pos, i] = math.sin(pos / (10000 ** ((2 * i) / d_model)))
                if i + 1 < d_model:
                    pe[pos, i + 1] = math.cos(pos / (10000 ** ((2 * (i + 1)) / d_model)))
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        if x.size(1) > self.pe.size(1):
            raise ValueError("too long")
        return x + self.pe[:, : x.size(1)]
"""
        + LEARNED,
    ),
    "pytorch's tutorial, sequence first, with dropout": (
        frozenset({"rows-counted-by-batch", "added-along-batch", "odd-width-fails", "length-not-checked"}),
        HEAD
        + """

class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]
"""
        + LEARNED,
    ),
    "annotated transformer, even widths only, with dropout": (
        frozenset({"odd-width-fails", "dropout-added", "length-not-checked"}),
        sinusoidal(
            cosine="pe[:, 1::2] = torch.cos(position * div_term); self.dropout = nn.Dropout(0.1)",
            last="return self.dropout(x + self.pe[: x.size(1)].requires_grad_(False))",
        ),
    ),
    "precedence of //": (
        frozenset({"exponent-rounded"}),
        sinusoidal(
            div="div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model // 2))"
        ),
    ),
    "no minus": (
        frozenset({"multiplied-by-power"}),
        sinusoidal(
            div="div_term = torch.exp(torch.arange(0, d_model, 2).float() * (math.log(10000.0) / d_model))"
        ),
    ),
    "halves": (
        frozenset({"halves-side-by-side"}),
        sinusoidal(
            sine="pe[:, : (d_model + 1) // 2] = torch.sin(position * div_term)",
            cosine="pe[:, (d_model + 1) // 2 :] = torch.cos(position * div_term[: d_model // 2])",
        ),
    ),
    "a Parameter": (frozenset({"sinusoids-trained"}), sinusoidal(keep="self.pe = nn.Parameter(pe)")),
    "an attribute": (frozenset({"table-dtype-stays"}), sinusoidal(keep="self.pe = pe")),
    "one row": (
        frozenset({"one-position-for-all", "length-too-strict"}),
        sinusoidal(last="return x + self.pe[x.size(1) - 1]"),
    ),
    "the Embedding's scaling in here": (
        frozenset({"scaled"}),
        sinusoidal(last="return x * math.sqrt(x.size(-1)) + self.pe[: x.size(1)]"),
    ),
    "assert": (
        frozenset({"length-other-error", "length-not-checked"}),
        sinusoidal(check="assert x.size(1) <= self.pe.size(0)\n        if False:"),
    ),
    "concatenated": (
        frozenset({"concatenated"}),
        sinusoidal(last="return torch.cat([x, self.pe[: x.size(1)].expand(x.size(0), -1, -1)], dim=-1)"),
    ),
    "learned: no check": (
        frozenset({"length-not-checked"}),
        learned(
            "self.emb = nn.Embedding(max_len, d_model)",
            "return x + self.emb(torch.arange(x.shape[1], device=x.device)).unsqueeze(0)",
        ),
    ),
    "learned: a tensor that is no parameter": (
        frozenset({"learned-not-trained", "length-not-checked", "dtype-unsupported"}),
        learned("self.table = torch.randn(max_len, d_model)", "return x + self.table[: x.size(1)]"),
    ),
    "learned: one vector": (
        frozenset({"one-learned-vector", "length-not-checked"}),
        learned("self.table = nn.Parameter(torch.randn(1, 1, d_model))", "return x + self.table"),
    ),
    "learned: in place": (
        frozenset({"input-changed-in-place"}),
        learned(
            "self.table = nn.Parameter(torch.randn(max_len, d_model))",
            "if x.size(1) > len(self.table):\n            raise ValueError('too long')\n"
            "        x += self.table[: x.size(1)]\n        return x",
        ),
    ),
    "learned: rows by batch": (
        frozenset({"rows-counted-by-batch", "length-not-checked", "length-too-strict"}),
        learned(
            "self.table = nn.Parameter(torch.zeros(max_len, d_model))",
            "return x + self.table[: x.size(0)]",
        ),
    ),
}
