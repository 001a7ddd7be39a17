"""HF manner for type lovers: Protocol, TypeVar, TypeAlias; the hidden layer is made in chunks of positions."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, Final, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor, nn

Float3D: TypeAlias = "Tensor"  # "batch time width"


@runtime_checkable
class Activation(Protocol):
    def __call__(self, x: Tensor, /) -> Tensor: ...


def relu(x: Tensor, /) -> Tensor:
    return 0.5 * (x + x.abs())


ACT2FN: Final[dict[str, Activation]] = {"relu": relu}


def chunks(x: Float3D, size: int) -> Iterator[Tensor]:
    yield from x.split(size, dim=1)


class FeedForward(nn.Module):
    chunk_size: ClassVar[int] = 3

    intermediate: nn.Linear
    output: nn.Linear
    act: Activation

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0, *, hidden_act: str = "relu") -> None:
        super().__init__()
        self.intermediate = nn.Linear(in_features=d_model, out_features=d_ff)
        self.output = nn.Linear(in_features=d_ff, out_features=d_model)
        self.dropout: Callable[[Tensor], Tensor] = nn.Dropout(p=dropout)
        self.act = ACT2FN[hidden_act]
        assert isinstance(self.act, Activation)

    def feed_forward_chunk(self, hidden_states: Tensor) -> Tensor:
        return self.output(self.dropout(self.act(self.intermediate(hidden_states))))

    def forward(self, x: Float3D) -> Float3D:
        return torch.cat([self.feed_forward_chunk(part) for part in chunks(x, self.chunk_size)], dim=1)
