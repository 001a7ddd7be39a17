"""The encoder in small steps, see `grader.exercises.encoder_and_decoder.reference`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.encoder_and_decoder.reference import Layer, Mask, Stack, Steps, with_names

REFERENCE = Steps()


def _of_layer(
    _attention: Any = None, _feed_forward: Any = None, d_model: int = 0, *_rest: Any, **_options: Any
) -> list[Tensor]:
    return [torch.zeros(1, 1, d_model)]


def _of_stack(
    _make_layer: Any = None, _layers: int = 0, d_model: int = 0, *_rest: Any, **_options: Any
) -> list[Tensor]:
    return [torch.zeros(1, 1, d_model)]


FIRST_CALLS = {"EncoderLayer": _of_layer, "Encoder": _of_stack}
"""Of the classes that have parameters, see `grader.core.submission.Submission`."""


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    class EncoderLayer(Layer):
        def __init__(
            self,
            self_attention: nn.Module,
            feed_forward: nn.Module,
            d_model: int,
            dropout: float = 0.0,
            norm: str | None = None,
        ) -> None:
            super().__init__(steps, {"self": self_attention, "feed": feed_forward}, d_model, dropout, norm)

        def forward(self, x: Tensor, src_mask: Mask = None) -> Any:
            return self.run(x, self_mask=src_mask)

    class Encoder(Stack):
        def __init__(
            self,
            make_layer: Callable[[], nn.Module],
            num_layers: int,
            d_model: int,
            norm: str | None = None,
        ) -> None:
            super().__init__(steps, make_layer, num_layers, d_model, norm)

        def forward(self, x: Tensor, src_mask: Mask = None) -> Any:
            return self.run(x, (src_mask,))

    classes: dict[str, type[nn.Module]] = {"EncoderLayer": EncoderLayer, "Encoder": Encoder}
    return {name: with_names(steps, written) for name, written in classes.items()}
