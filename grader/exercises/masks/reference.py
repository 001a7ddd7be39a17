"""The masks in small steps, so that a known mistake is the reference with one step replaced.

bool, True = may be attended to ("Attention Is All You Need", sections 3.1 and 3.2.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

Device = torch.device | str | None


def padding(tokens: Tensor, pad: int) -> Tensor:
    """Return which keys are tokens: ids [B, T] -> bool [B, 1, 1, T]."""
    return (tokens != pad)[:, None, None, :]  # [B, T] -> [B, 1, 1, T]


def causal(size: int, device: Device) -> Tensor:
    """Position i sees 0 .. i: bool [1, 1, T, T]."""
    return torch.ones(1, 1, size, size, dtype=torch.bool, device=device).tril()


def join(causal: Tensor, padding: Tensor) -> Any:
    """Both must allow it: [1, 1, T, T] and [B, 1, 1, T] -> [B, 1, T, T]."""
    return causal & padding


def additive(mask: Tensor, dtype: torch.dtype) -> Any:
    """0 where True and -inf where False, of the mask's shape."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)


@dataclass(frozen=True)
class Steps:
    """The four functions. `dataclasses.replace` makes a mistake of them."""

    NAMES: ClassVar[Mapping[str, str]] = {
        "padding": "padding mask", "causal": "causal mask", "join": "decoder mask", "finish": "decoder mask",
        "additive": "additive mask",
    }  # fmt: skip

    padding: Callable[[Tensor, int], Any] = padding
    causal: Callable[[int, Device], Any] = causal
    join: Callable[[Any, Any], Any] = join
    finish: Callable[[Tensor, int, Any], Any] = lambda _tokens, _pad, mask: mask
    additive: Callable[[Tensor, torch.dtype], Any] = additive

    def decoder(self, tokens: Tensor, pad: int) -> Any:
        """tokens [B, T] -> [B, 1, T, T]."""
        mask = self.join(self.causal(tokens.size(1), tokens.device), self.padding(tokens, pad))
        return self.finish(tokens, pad, mask)


REFERENCE = Steps()


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    def padding_mask(tokens: Tensor, pad: int = 0) -> Any:
        return steps.padding(tokens, pad)

    def causal_mask(size: int, device: Device = None) -> Any:
        return steps.causal(size, device)

    def decoder_mask(tokens: Tensor, pad: int = 0) -> Any:
        return steps.decoder(tokens, pad)

    def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Any:
        return steps.additive(mask, dtype)

    return {
        "padding_mask": padding_mask,
        "causal_mask": causal_mask,
        "decoder_mask": decoder_mask,
        "to_additive": to_additive,
    }
