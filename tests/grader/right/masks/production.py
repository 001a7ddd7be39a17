"""Mask construction for the sequence-to-sequence library."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce

import torch
from torch import Tensor


class MaskKind(enum.Enum):
    PADDING = "padding"
    CAUSAL = "causal"


@dataclass(frozen=True)
class MaskRequest:
    """Everything that a builder has to know."""

    rows: int
    columns: int
    device: torch.device | str | None = None
    tokens: Tensor | None = field(default=None, repr=False)
    pad: int = 0

    @classmethod
    def of_tokens(cls, tokens: Tensor, pad: int) -> MaskRequest:
        batch, length = tokens.shape
        return cls(rows=length, columns=length, device=tokens.device, tokens=tokens, pad=pad)

    @property
    def is_square(self) -> bool:
        return self.rows == self.columns


Builder = Callable[[MaskRequest], Tensor]
_REGISTRY: dict[MaskKind, Builder] = {}


def register(kind: MaskKind) -> Callable[[Builder], Builder]:
    def keep(builder: Builder) -> Builder:
        if kind in _REGISTRY:
            raise KeyError(f"{kind} is registered twice")
        _REGISTRY[kind] = builder
        return builder

    return keep


def _over_keys(allowed: Tensor) -> Tensor:
    """[B, T] -> [B, 1, 1, T]: the same for all heads and queries."""
    assert allowed.dim() == 2, f"expected [B, T], got {tuple(allowed.shape)}"
    return allowed.unsqueeze(1).unsqueeze(2)


def _over_batch(allowed: Tensor) -> Tensor:
    """[T, T] -> [1, 1, T, T]: the same for all sentences and heads."""
    assert allowed.dim() == 2, f"expected [T, T], got {tuple(allowed.shape)}"
    return allowed.expand(1, 1, *allowed.shape)


@register(MaskKind.PADDING)
def _build_padding(request: MaskRequest) -> Tensor:
    if request.tokens is None:
        raise ValueError("a padding mask needs tokens")
    return _over_keys(request.tokens.ne(request.pad))


@register(MaskKind.CAUSAL)
def _build_causal(request: MaskRequest) -> Tensor:
    queries = torch.arange(request.rows, device=request.device).unsqueeze(1)
    keys = torch.arange(request.columns, device=request.device).unsqueeze(0)
    return _over_batch(keys <= queries)


def build(kinds: Iterable[MaskKind], request: MaskRequest) -> Tensor:
    """All kinds at once: a key must be allowed by each of them."""
    masks = [_REGISTRY[kind](request) for kind in kinds]
    return reduce(torch.logical_and, masks)


@dataclass(frozen=True)
class AdditiveForm:
    keep: float = 0.0
    drop: float = float("-inf")
    dtype: torch.dtype = torch.float32

    def __call__(self, mask: Tensor) -> Tensor:
        assert mask.dtype == torch.bool, "only boolean masks have an additive form"
        kept = torch.full_like(mask, self.keep, dtype=self.dtype)
        dropped = torch.full_like(mask, self.drop, dtype=self.dtype)
        return torch.where(mask, kept, dropped)


def padding_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    request = MaskRequest.of_tokens(tokens, pad)
    return build([MaskKind.PADDING], request)


def causal_mask(size: int, device: torch.device | str | None = None) -> Tensor:
    request = MaskRequest(rows=size, columns=size, device=device)
    assert request.is_square
    return build([MaskKind.CAUSAL], request)


def decoder_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    request = MaskRequest.of_tokens(tokens, pad)
    return build([MaskKind.CAUSAL, MaskKind.PADDING], request)


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    form = AdditiveForm(dtype=dtype)
    return form(mask)
