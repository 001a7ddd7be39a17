"""The decoder in small steps, see `grader.exercises.encoder_and_decoder.reference`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.encoder_and_decoder.reference import Layer, Mask, Stack, Steps, with_names

REFERENCE = Steps(order=("self", "cross", "feed"))


def _of_layer(
    _attention: Any = None,
    _cross: Any = None,
    _feed_forward: Any = None,
    d_model: int = 0,
    *_rest: Any,
    **_options: Any,
) -> list[Tensor]:
    return [torch.zeros(1, 1, d_model) for _ in ("x", "memory")]


def _of_stack(
    _make_layer: Any = None, _layers: int = 0, d_model: int = 0, *_rest: Any, **_options: Any
) -> list[Tensor]:
    return [torch.zeros(1, 1, d_model) for _ in ("x", "memory")]


FIRST_CALLS = {"DecoderLayer": _of_layer, "Decoder": _of_stack}
"""Of the classes that have parameters, see `grader.core.submission.Submission`."""


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    class DecoderLayer(Layer):
        def __init__(
            self,
            self_attention: nn.Module,
            cross_attention: nn.Module,
            feed_forward: nn.Module,
            d_model: int,
            dropout: float = 0.0,
            norm: str | None = None,
        ) -> None:
            parts = {"self": self_attention, "cross": cross_attention, "feed": feed_forward}
            super().__init__(steps, parts, d_model, dropout, norm)

        def forward(self, x: Tensor, memory: Tensor, src_mask: Mask = None, tgt_mask: Mask = None) -> Any:
            return self.run(x, memory=memory, self_mask=tgt_mask, cross_mask=src_mask)

    class Decoder(Stack):
        def __init__(
            self,
            make_layer: Callable[[], nn.Module],
            num_layers: int,
            d_model: int,
            norm: str | None = None,
        ) -> None:
            super().__init__(steps, make_layer, num_layers, d_model, norm)

        def forward(self, x: Tensor, memory: Tensor, src_mask: Mask = None, tgt_mask: Mask = None) -> Any:
            return self.run(x, (memory, src_mask, tgt_mask))

    classes: dict[str, type[nn.Module]] = {"DecoderLayer": DecoderLayer, "Decoder": Decoder}
    return {name: with_names(steps, written) for name, written in classes.items()}
