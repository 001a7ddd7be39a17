"""Right positions in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = """
import math

import torch
from torch import nn
"""

EMBEDDING = """

class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.emb = nn.Embedding(max_len, d_model)

    def forward(self, x):
        T = x.size(1)
        if T > self.emb.num_embeddings:
            raise ValueError(f"too long: {T} > {self.emb.num_embeddings}")
        return x + self.emb(torch.arange(T, device=x.device))
"""

RIGHT: Mapping[str, str] = {
    "on_the_fly": HEAD
    + """

class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model, self.max_len = d_model, max_len

    def forward(self, x):
        B, T, D = x.shape
        if T > self.max_len:
            raise ValueError(f"{T} positions, at most {self.max_len}")
        t = torch.arange(T, device=x.device, dtype=torch.float64)[:, None]
        c = torch.arange(D, device=x.device, dtype=torch.float64)[None]
        angle = t / 10000.0 ** ((c - c % 2) / D)
        return x + torch.where(c % 2 == 0, angle.sin(), angle.cos()).to(x.dtype)
"""
    + EMBEDDING,
    "plain_loops_with_math": HEAD
    + '''

class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        rows = []
        for t in range(max_len):
            row = []
            for c in range(d_model):
                angle = t / 10000 ** ((c - c % 2) / d_model)
                row.append(math.cos(angle) if c % 2 else math.sin(angle))
            rows.append(row)
        self.register_buffer("pe", torch.tensor(rows))

    def forward(self, x):
        if x.shape[1] > len(self.pe):
            raise ValueError("too long")
        return x + self.pe[None, : x.shape[1]]


class LearnedPositions(nn.Module):
    """One Parameter a position."""

    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.rows = nn.ParameterList([nn.Parameter(torch.randn(d_model)) for _ in range(max_len)])

    def forward(self, x):
        if x.size(1) > len(self.rows):
            raise ValueError("too long")
        return x + torch.stack([self.rows[t] for t in range(x.size(1))])
''',
    "exp_of_logs": HEAD
    + """

class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pe = torch.zeros(1, max_len, d_model)
        position = torch.arange(max_len).float().unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term[: d_model // 2])
        self.register_buffer("pe", pe)

    def forward(self, x):
        if x.size(1) > self.pe.size(1):
            raise ValueError(f"sequence of {x.size(1)}, but max_len={self.pe.size(1)}")
        return x + self.pe[:, : x.size(1)].requires_grad_(False)


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.zeros(1, max_len, d_model))

    def forward(self, x):
        if x.size(1) > self.pos_embedding.size(1):
            raise ValueError("too long")
        return x + self.pos_embedding[:, : x.size(1), :]
""",
    "frozen_embedding_subclasses": HEAD
    + """
import warnings


def table(d_model, max_len):
    t = torch.arange(max_len, dtype=torch.float64)
    pairs = torch.logspace(0, -4 * (d_model + d_model % 2 - 2) / d_model, (d_model + 1) // 2, dtype=torch.float64)
    angle = torch.outer(t, pairs)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d_model].float()


class SinusoidalPositions(nn.Embedding):
    def __init__(self, d_model, max_len=5000):
        super().__init__(max_len, d_model, _weight=table(d_model, max_len))
        self.weight.requires_grad_(False)

    def forward(self, x):
        if x.size(1) > self.num_embeddings:
            raise ValueError("too long")
        return super().forward(torch.arange(x.size(1), device=x.device)).unsqueeze(0).expand_as(x) + x


class LearnedPositions(nn.Embedding):
    def __init__(self, d_model, max_len=512, std=0.02):
        super().__init__(max_len, d_model)
        nn.init.normal_(self.weight, std=std)

    def forward(self, x):
        if x.size(1) > self.num_embeddings:
            raise ValueError("too long")
        if x.size(1) == self.num_embeddings:
            warnings.warn("that is just long enough", stacklevel=2)
        return x + super().forward(torch.arange(x.size(1), device=x.device).repeat(x.size(0), 1))
""",
    "complex_rotation_and_cache": HEAD
    + '''

class TooLong(ValueError):
    pass


class Base(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        self.d_model = d_model
        self.max_len = max_len

    def rows(self, x):
        raise NotImplementedError

    def forward(self, x, offset=0):
        if offset + x.size(1) > self.max_len:
            raise TooLong(f"{x.size(1)} positions from {offset}, at most {self.max_len}")
        return torch.add(x, self.rows(x)[offset : offset + x.size(1)])


class SinusoidalPositions(Base):
    """Row after row, by turning every hand of the clock a step further (in complex128)."""

    def __init__(self, d_model, max_len=5000):
        super().__init__(d_model, max_len)
        self.made = None

    def rows(self, x):
        if self.made is None or self.made.dtype != x.dtype or self.made.device != x.device:
            D = self.d_model
            step = torch.polar(torch.ones((D + 1) // 2, dtype=torch.float64),
                               10000 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D))
            turns = torch.cat([torch.ones_like(step)[None], step.expand(self.max_len - 1, -1)]).cumprod(0)
            pairs = torch.stack([turns.imag, turns.real], -1).reshape(self.max_len, -1)
            self.made = pairs[:, :D].to(x)
        return self.made


class LearnedPositions(Base):
    """The table lies on its side."""

    def __init__(self, d_model, max_len=512):
        super().__init__(d_model, max_len)
        self.columns = nn.Parameter(torch.empty(d_model, max_len).uniform_(-0.1, 0.1))

    def rows(self, x):
        return self.columns.t()
''',
    "one_hot_product": HEAD
    + """

class SinusoidalPositions(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        t = torch.arange(max_len, dtype=torch.float32)
        columns = []
        for i in range(d_model):
            phase = 0.0 if i % 2 == 0 else math.pi / 2  # cos a = sin(a + pi / 2)
            angle = t.double() * math.pow(10000, -(i // 2 * 2) / d_model) + phase
            columns.append(torch.sin(angle))
        self.register_buffer("table", torch.stack(columns, 1).float(), persistent=False)

    def forward(self, x):
        assert x.dim() == 3
        if x.size(1) > self.table.size(0):
            raise ValueError("too long")
        return x + self.table.narrow(0, 0, x.size(1)).to(x.dtype)


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.linear = nn.Linear(max_len, d_model, bias=False)

    def forward(self, x):
        n = self.linear.in_features
        if x.size(1) > n:
            raise ValueError("too long")
        one_hot = torch.eye(n, device=x.device, dtype=x.dtype)[: x.size(1)]
        return x + self.linear(one_hot)
""",
}
