"""torch.nn.TransformerEncoderLayer's own shape (_sa_block, _ff_block, norm_first), typed with Protocol, Generic and Final."""
from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Literal, Protocol, TypeVar

import torch
from torch import Tensor, nn


class Attends(Protocol):
    def __call__(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor: ...


LayerT = TypeVar("LayerT", bound=nn.Module)
Place = Literal["pre", "post"]


class EncoderLayer(nn.Module):
    norm_first: Final[bool]

    def __init__(
        self,
        self_attention: Attends,
        feed_forward: Callable[[Tensor], Tensor],
        d_model: int,
        dropout: float = 0.0,
        norm: Place = "post",
        layer_norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm_first = norm == "pre"
        self.self_attn = self_attention
        self.ff = feed_forward
        self.norm1 = nn.LayerNorm(d_model, eps=layer_norm_eps)
        self.norm2 = nn.LayerNorm(d_model, eps=layer_norm_eps)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask)
            x = x + self._ff_block(self.norm2(x))
        else:
            x = self.norm1(x + self._sa_block(x, src_mask))
            x = self.norm2(x + self._ff_block(x))
        return x

    def _sa_block(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.dropout1(self.self_attn(x, x, x, mask))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.ff(x))


class _Stack(nn.Module, Generic[LayerT]):
    layers: nn.ModuleList

    def build(self, make_layer: Callable[[], LayerT], num_layers: int) -> list[LayerT]:
        made: list[LayerT] = [make_layer() for _ in range(num_layers)]
        self.layers = nn.ModuleList(made)
        return made


class Encoder(_Stack[EncoderLayer]):
    def __init__(
        self, make_layer: Callable[[], EncoderLayer], num_layers: int, d_model: int, norm: Place = "post"
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError("a stack has at least one layer")
        self.build(make_layer, num_layers)
        self.norm: nn.Module = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        output: Tensor = x
        for mod in self.layers:
            output = mod(output, src_mask=src_mask)
        assert isinstance(output, torch.Tensor)
        return self.norm(output)
