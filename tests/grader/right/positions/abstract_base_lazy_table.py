"""An abstract base with the template method, generics and a Protocol; cosine = sine a quarter turn on; the learned table an UninitializedParameter made at the first call."""

from __future__ import annotations

import abc
from typing import ClassVar, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedParameter

R = TypeVar("R", bound="HasRows")


class HasRows(Protocol):
    def rows(self, length: int, like: Tensor) -> Tensor: ...


class TooLong(ValueError):
    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"an input of length {length} has no positions beyond {limit}")


class Positions(nn.Module, abc.ABC, Generic[R]):
    limit: int
    kinds: ClassVar[list[str]] = []

    def __init_subclass__(cls, **kwargs) -> None:
        super().__init_subclass__(**kwargs)
        Positions.kinds.append(cls.__name__)

    @abc.abstractmethod
    def rows(self, length: int, like: Tensor) -> Tensor: ...

    def forward(self, x: Tensor) -> Tensor:
        if (length := x.shape[1]) > self.limit:
            raise TooLong(length, self.limit)
        return x + self.rows(length, x)


class SinusoidalPositions(Positions["SinusoidalPositions"]):
    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        self.limit = max_len
        odd = torch.arange(d_model, dtype=torch.float64) % 2
        exponent = (torch.arange(d_model, dtype=torch.float64) - odd) / d_model
        # plain attributes on purpose: .to(bfloat16) must not touch the frequencies
        self.frequency, self.phase = torch.pow(10000.0, -exponent), odd * (torch.pi / 2)

    def rows(self, length: int, like: Tensor) -> Tensor:
        t = torch.arange(length, dtype=torch.float64)
        return torch.addcmul(self.phase, t[:, None], self.frequency).sin_().to(like)


class LearnedPositions(LazyModuleMixin, Positions["LearnedPositions"]):
    def __init__(self, d_model: int, max_len: int = 512) -> None:
        super().__init__()
        self.limit, self.width = max_len, d_model
        self.table = UninitializedParameter()

    def initialize_parameters(self, x: Tensor) -> None:
        if self.has_uninitialized_params():
            self.table.materialize((self.limit, self.width))
            with torch.no_grad():
                self.table.uniform_(-0.1, 0.1)

    def rows(self, length: int, like: Tensor) -> Tensor:
        return self.table[:length]
