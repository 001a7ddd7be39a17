"""The collection that the themes of this folder fill, and what they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from grader.api import Collection
from grader.exercises.masks.reference import Steps

mistake: Collection[Steps] = Collection()
PADDING = "padding_mask = (tokens != pad), as [B, 1, 1, T]"
CAUSAL = "causal_mask[i, j] = (j <= i)"
DECODER = "decoder_mask = causal_mask AND padding_mask"
ADDITIVE = "0 where True, -inf where False"


def in_padding(steps: Steps, change: Callable[[Tensor], Any]) -> Steps:
    """The padding mask [B, 1, 1, T] changed, and with it what is made of it."""
    return replace(steps, padding=lambda tokens, pad: change(steps.padding(tokens, pad)))


def in_causal(steps: Steps, change: Callable[[Tensor], Any]) -> Steps:
    """The causal mask [1, 1, T, T] changed, and with it what is made of it."""
    return replace(steps, causal=lambda size, device: change(steps.causal(size, device)))


def in_decoder(steps: Steps, change: Callable[[Tensor], Any]) -> Steps:
    """The decoder mask [B, 1, T, T] alone changed."""
    return replace(steps, finish=lambda tokens, pad, mask: change(steps.finish(tokens, pad, mask)))


def in_additive(steps: Steps, change: Callable[[Tensor], Any]) -> Steps:
    """The additive mask changed."""
    return replace(steps, additive=lambda mask, dtype: change(steps.additive(mask, dtype)))


def everywhere(steps: Steps, change: Callable[[Tensor], Any]) -> list[Steps]:
    """One of the three bool masks changed, or all of them by themselves."""

    def all_three() -> Steps:
        return replace(
            steps,
            padding=lambda tokens, pad: change(steps.padding(tokens, pad)),
            causal=lambda size, device: change(steps.causal(size, device)),
            join=lambda _causal, _padding: None,
            finish=lambda tokens, pad, _mask: change(steps.decoder(tokens, pad)),
        )

    return [all_three(), in_padding(steps, change), in_causal(steps, change), in_decoder(steps, change)]
