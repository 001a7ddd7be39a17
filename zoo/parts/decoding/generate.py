"""Answers of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from zoo.parts.decoding.base import Decoding
from zoo.parts.decoding.stepper import Stepper

if TYPE_CHECKING:
    from zoo.models.transformer import Transformer


@torch.no_grad()
def generate(
    model: Transformer,
    src: Tensor,
    max_len: int,
    decoding: Decoding,
    *,
    sos: int = 1,
    eos: int = 2,
    pad: int = 0,
    cached: bool | None = None,
) -> Tensor:
    """The answers of `model` to `src`.

    Args:
        model: put in eval mode while decoding, then back.
        src: [B, S].
        max_len: at most so many tokens are generated.
        decoding: how tokens are chosen.
        sos, eos, pad: token ids of start, end and padding; padding is never chosen.
        cached: as in `Stepper`; the answers are the same.

    Returns:
        [B, <= max_len]: without SOS, with EOS, then PAD. A row that never ends has max_len tokens.
    """
    if src.size(0) == 0:
        return src.new_empty(0, 0)
    was_training = model.training
    model.eval()
    try:
        start = src.new_full((src.size(0),), sos)
        return decoding(Stepper(model, src, cached, pad), start, max_len, eos, pad)
    finally:
        model.train(was_training)
