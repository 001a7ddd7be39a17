"""Type lover's version: Protocol, Generic, Literal, dataclass of masks; forward drives a generator that asks for each residual."""
from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar, cast

from torch import Tensor, nn


class Attention(Protocol):
    def __call__(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = ..., /) -> Tensor: ...


T = TypeVar("T", bound=nn.Module)
Request = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Context:
    memory: Tensor
    src_mask: Tensor | None = None
    tgt_mask: Tensor | None = None


class DecoderLayer(nn.Module):
    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        d_model: int,
        dropout: float = 0.0,
        norm: Literal["pre", "post"] = "post",
    ) -> None:
        super().__init__()
        self.parts: nn.ModuleList = nn.ModuleList([feed_forward, cross_attention, self_attention])
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.dropouts: tuple[nn.Module, ...] = tuple(nn.Dropout(dropout) for _ in range(3))
        for number, module in enumerate(self.dropouts):
            self.register_module(f"dropout{number}", module)
        self.pre: bool = norm == "pre"

    def sublayers(self, context: Context) -> Generator[tuple[nn.Module, nn.Module, Request], None, None]:
        feed_forward, cross, own = self.parts
        attend = cast(Attention, own)
        yield self.norm1, self.dropouts[0], lambda h: attend(h, h, h, context.tgt_mask)
        look = cast(Attention, cross)
        yield self.norm2, self.dropouts[1], lambda h: look(h, context.memory, context.memory, context.src_mask)
        yield self.norm3, self.dropouts[2], feed_forward

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        for norm, drop, f in self.sublayers(Context(memory, src_mask, tgt_mask)):
            x = x + drop(f(norm(x))) if self.pre else norm(x + drop(f(x)))
        return x


class Stack(nn.Module, Generic[T]):
    def __init__(self, layers: list[T], end: nn.Module | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.end = end


class Decoder(Stack[DecoderLayer]):
    def __init__(
        self,
        make_layer: Callable[[], DecoderLayer],
        num_layers: int,
        d_model: int,
        norm: Literal["pre", "post"] = "post",
    ) -> None:
        super().__init__([make_layer() for _ in range(num_layers)], nn.LayerNorm(d_model) if norm == "pre" else None)

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        for layer in self.layers:
            x = layer(x=x, memory=memory, src_mask=src_mask, tgt_mask=tgt_mask)
        return x if self.end is None else self.end(x)
