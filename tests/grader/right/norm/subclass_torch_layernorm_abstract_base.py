"""torch's own LayerNorm renamed by inheritance; the two wrappers share an abstract base with a template method."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn


class LayerNorm(nn.LayerNorm):
    def __init__(self, d_model: int, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(normalized_shape=d_model, eps=eps, **kwargs)


class _Wrapper(nn.Module, ABC):
    def __init__(self, norm: nn.Module, sublayer: nn.Module, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.sublayer = sublayer
        self.dropout = nn.Dropout(dropout)

    @abstractmethod
    def before(self, x: Tensor) -> Tensor: ...

    @abstractmethod
    def after(self, x: Tensor) -> Tensor: ...

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self.after(x + self.dropout(self.sublayer(self.before(x), *args, **kwargs)))


class PreNorm(_Wrapper):
    def before(self, x: Tensor) -> Tensor:
        return self.norm(x)

    def after(self, x: Tensor) -> Tensor:
        return x


class PostNorm(_Wrapper):
    def before(self, x: Tensor) -> Tensor:
        return x

    def after(self, x: Tensor) -> Tensor:
        return self.norm(x)
