"""Frozen dataclass config, enum, Protocol, metaclass; linears with a transposed weight through torch.nn.utils.parametrize; a forward hook undoes the heads."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
import torch.nn.utils.parametrize as parametrize
from torch import Tensor, nn


class MaskKind(enum.Enum):
    NONE = enum.auto()
    BOOL = enum.auto()
    ADDITIVE = enum.auto()

    @classmethod
    def of(cls, mask: Tensor | None) -> MaskKind:
        if mask is None:
            return cls.NONE
        return cls.BOOL if mask.dtype == torch.bool else cls.ADDITIVE


@runtime_checkable
class Attends(Protocol):
    def __call__(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any: ...


@dataclass
class Result:
    output: Tensor
    weights: Tensor

    def __iter__(self):
        yield self.output
        yield self.weights

    def __getitem__(self, i):
        return (self.output, self.weights)[i]

    def __len__(self):
        return 2


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Result:
    kind = MaskKind.of(mask)
    scores = torch.matmul(query, key.transpose(-1, -2)) / torch.tensor(query.size(-1), dtype=torch.float64).sqrt().to(query)
    match kind:
        case MaskKind.NONE:
            log_w = scores.log_softmax(-1)
        case MaskKind.BOOL | MaskKind.ADDITIVE:
            forbidden = ~mask if kind is MaskKind.BOOL else mask < 0
            log_w = scores.masked_fill(forbidden, torch.finfo(scores.dtype).min).log_softmax(-1)
            log_w = log_w.masked_fill(forbidden, float("-inf"))
    weights = log_w.exp()
    return Result(weights @ value, weights)


assert isinstance(scaled_dot_product_attention, Attends)


@dataclass(frozen=True)
class Config:
    d_model: int
    num_heads: int
    dropout: float = 0.0
    names: tuple[str, ...] = field(default=("query_key", "key_key", "value_key", "output"))

    def __post_init__(self) -> None:
        if self.d_model % self.num_heads:
            raise ValueError(f"{self.d_model=} is no multiple of {self.num_heads=}")

    @property
    def d_head(self) -> int:
        return self.d_model // self.num_heads


class Transposed(nn.Module):
    """Keeps the matrix the other way round, [in, out]."""

    def forward(self, w: Tensor) -> Tensor:
        return w.t()

    def right_inverse(self, w: Tensor) -> Tensor:
        return w.t().contiguous()


class Registering(type):
    made: list[str] = []

    def __new__(mcls, name, bases, space):
        mcls.made.append(name)
        return super().__new__(mcls, name, bases, space)


class MultiHeadAttention(nn.Module, metaclass=Registering):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        config = Config(d_model, num_heads, dropout)
        super().__init__()
        self.config = config
        self.linears = nn.ModuleDict({n: nn.Linear(d_model, d_model) for n in config.names})
        for linear in self.linears.values():
            parametrize.register_parametrization(linear, "weight", Transposed())
        self.on_weights = nn.Dropout(config.dropout)
        self.joined = nn.Identity()
        self.joined.register_forward_hook(lambda module, args, out: out.transpose(1, 2).flatten(2))

    def split(self, x: Tensor) -> Tensor:
        return torch.stack(x.split(self.config.d_head, dim=-1), dim=1)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v, out = self.linears.values()
        qh, kh, vh = self.split(q(query)), self.split(k(key)), self.split(v(value))
        _, weights = scaled_dot_product_attention(qh, kh, vh, mask=mask)
        return out(self.joined(self.on_weights(weights) @ vh))
