"""Answers of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from zoo.core.errors import CombinationError
from zoo.parts.decoding.base import Decoding
from zoo.parts.decoding.stepper import Stepper

if TYPE_CHECKING:
    from zoo.models.transformer import Model


@torch.no_grad()
def generate(
    model: Model,
    src: Tensor,
    max_len: int,
    decoding: Decoding,
    *,
    sos: int = 1,
    eos: int = 2,
    pad: int = 0,
    cached: bool | None = None,
) -> Tensor:
    """The answers of `model` to `src`; what follows `src`, if the model has no encoder.

    Args:
        model: put in eval mode while decoding, then back.
        src: [B, S]. Without an encoder it is a prompt, each row decoded without its padding, and without a token SOS
            stands for it.
        max_len: at most so many tokens are generated.
        decoding: how tokens are chosen.
        sos, eos, pad: token ids of start, end and padding; padding is never chosen.
        cached: as in `Stepper`; the answers are the same.

    Returns:
        [B, <= max_len]: without SOS or prompt, with EOS, then PAD. A row that never ends has max_len tokens.

    Raises:
        CombinationError: the model has no decoder.
    """
    if "decoder" not in model.stacks:
        raise CombinationError(
            f"{type(model).__name__} generates nothing: it has no decoder. Use assembly=decoder, or "
            "assembly=encoder-decoder."
        )
    if src.size(0) == 0:
        return src.new_empty(0, 0)
    was_training = model.training
    model.eval()
    try:
        if "encoder" not in model.stacks:
            return _continued(model, src, max_len, decoding, (sos, eos, pad), cached)
        start = src.new_full((src.size(0),), sos)
        return decoding(Stepper(model, src, cached, pad), start, max_len, eos, pad)
    finally:
        model.train(was_training)


def _continued(
    model: Model,
    src: Tensor,
    max_len: int,
    decoding: Decoding,
    special: tuple[int, int, int],
    cached: bool | None,
) -> Tensor:
    """Return what follows each prompt, [B, <= max_len]; prompts of one length together, so that none needs padding."""
    sos, eos, pad = special
    prompts = [row[row != pad] if bool((row != pad).any()) else row.new_full((1,), sos) for row in src]
    lengths = [prompt.numel() for prompt in prompts]
    answers = src.new_full((src.size(0), max_len), pad)
    for length in sorted(set(lengths)):
        rows = [number for number, one in enumerate(lengths) if one == length]
        prompt = torch.stack([prompts[number] for number in rows])  # R x [P] -> [R, P]
        got = decoding(Stepper(model, prompt, cached, pad), prompt[:, -1], max_len, eos, pad)
        answers[rows, : got.size(1)] = got
    used = int((answers != pad).any(0).nonzero().max()) + 1 if bool((answers != pad).any()) else 0
    return answers[:, :used]
