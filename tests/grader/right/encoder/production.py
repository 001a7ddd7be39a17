"""Encoder of the sequence-to-sequence library."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import Tensor, nn

LayerFactory = Callable[[], nn.Module]


class Placement(str, enum.Enum):
    PRE = "pre"
    POST = "post"

    @property
    def ends_in_norm(self) -> bool:
        return self is Placement.PRE


@dataclass(frozen=True)
class LayerConfig:
    d_model: int
    dropout: float = 0.0
    placement: Placement = Placement.POST
    eps: float = 1e-5

    @classmethod
    def parse(cls, d_model: int, dropout: float, norm: str) -> LayerConfig:
        return cls(d_model=d_model, dropout=dropout, placement=Placement(norm))

    def make_norm(self) -> nn.LayerNorm:
        return nn.LayerNorm(self.d_model, eps=self.eps)


class Residual(nn.Module):
    """A norm and a dropout around a sublayer, which is handed in at each call."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.placement = config.placement
        self.norm = config.make_norm()
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.placement is Placement.PRE:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    def __init__(
        self,
        self_attention: nn.Module,
        feed_forward: nn.Module,
        d_model: int,
        dropout: float = 0.0,
        norm: str = "post",
    ) -> None:
        super().__init__()
        config = LayerConfig.parse(d_model, dropout, norm)
        self.parts = nn.ModuleDict({"attention": self_attention, "feed_forward": feed_forward})
        self.residuals = nn.ModuleDict({name: Residual(config) for name in self.parts})

    def _attend(self, src_mask: Tensor | None) -> Callable[[Tensor], Tensor]:
        attention = self.parts["attention"]

        def sublayer(x: Tensor) -> Tensor:
            return attention(x, x, x, src_mask)

        return sublayer

    def _sublayers(self, src_mask: Tensor | None) -> Iterator[tuple[nn.Module, Callable[[Tensor], Tensor]]]:
        yield self.residuals["attention"], self._attend(src_mask)
        yield self.residuals["feed_forward"], self.parts["feed_forward"]

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        shape = x.shape
        for residual, sublayer in self._sublayers(src_mask):
            x = residual(x, sublayer)
        assert x.shape == shape
        return x


class Encoder(nn.Module):
    def __init__(self, make_layer: LayerFactory, num_layers: int, d_model: int, norm: str = "post") -> None:
        super().__init__()
        config = LayerConfig.parse(d_model, 0.0, norm)
        self.layers = nn.ModuleList(make_layer() for _ in range(num_layers))
        self.final: nn.Module | None = config.make_norm() if config.placement.ends_in_norm else None

    def __len__(self) -> int:
        return len(self.layers)

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        hidden = x
        for layer in self.layers:
            hidden = layer(hidden, src_mask=src_mask)
        if self.final is None:
            return hidden
        return self.final(hidden)
