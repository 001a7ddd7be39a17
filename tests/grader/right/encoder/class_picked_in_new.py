"""EncoderLayer.__new__ hands out a subclass, pre or post; the stack is recursive: a head layer and a shorter Encoder."""
from __future__ import annotations

from typing import Any, Callable

from torch import Tensor, nn


class EncoderLayer(nn.Module):
    def __new__(cls, *args: Any, **kwargs: Any) -> EncoderLayer:
        if cls is EncoderLayer:
            placement = kwargs.get("norm", args[4] if len(args) > 4 else "post")
            cls = _Pre if placement == "pre" else _Post
        return super().__new__(cls)

    def __init__(
        self,
        self_attention: nn.Module,
        feed_forward: nn.Module,
        d_model: int,
        dropout: float = 0.0,
        norm: str = "post",
    ) -> None:
        super().__init__()
        self.attention = self_attention
        self.network = feed_forward
        self.first = nn.LayerNorm(d_model)
        self.second = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)


class _Pre(EncoderLayer):
    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        n = self.first(x)
        x = x + self.drop(self.attention(n, n, n, src_mask))
        return x + self.drop(self.network(self.second(x)))


class _Post(EncoderLayer):
    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        x = self.first(x + self.drop(self.attention(x, x, x, src_mask)))
        return self.second(x + self.drop(self.network(x)))


class Encoder(nn.Module):
    def __init__(
        self, make_layer: Callable[[], nn.Module], num_layers: int, d_model: int, norm: str = "post"
    ) -> None:
        super().__init__()
        self.head = make_layer()
        self.rest: nn.Module | None = None
        if num_layers > 1:
            self.rest = Encoder(make_layer, num_layers - 1, d_model, norm)
        elif norm == "pre":  # only the innermost one ends in a norm
            self.norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        x = self.head(x, src_mask)
        if self.rest is not None:
            return self.rest(x, src_mask)
        return self.norm(x) if hasattr(self, "norm") else x
