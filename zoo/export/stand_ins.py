"""Stand-ins for the wrappers of a user's own parts in a file: they call the part, and check nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class OwnPart(nn.Module):
    """Calls the part; of a tuple, the first is the result."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args: Any) -> Tensor:
        """The output of the part: [B, T, D], of a head [B, T, V]."""
        result = self.inner(*args)
        first: Tensor = result[0] if isinstance(result, tuple) else result
        return first


class OwnEmbeddings(nn.Module):
    """Calls the `src` and `tgt` of the part."""

    inner: Any

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, tokens: Tensor, side: str) -> Tensor:
        """Tokens [B, T] of `side`, "src" or "tgt" -> [B, T, D]."""
        return self.src(tokens) if side == "src" else self.tgt(tokens)

    def src(self, tokens: Tensor) -> Tensor:
        """[B, S] -> [B, S, D]."""
        vectors: Tensor = self.inner.src(tokens)
        return vectors

    def tgt(self, tokens: Tensor) -> Tensor:
        """[B, L] -> [B, L, D]."""
        vectors: Tensor = self.inner.tgt(tokens)
        return vectors


class OwnMask:
    """Calls the `encode` and `decode` of the part."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """The part's form of `keep`."""
        mask: Tensor = self.inner.encode(keep, dtype)
        return mask

    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        """The keep mask that `mask` encodes."""
        keep: Tensor = self.inner.decode(mask, num_keys)
        return keep


class OwnMasking:
    """Calls the `src` and `tgt` of the part."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def src(self, tokens: Tensor) -> Tensor | None:
        """tokens [B, S] -> [B, 1, 1, S] or None."""
        keep: Tensor | None = self.inner.src(tokens)
        return keep

    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor | None:
        """tokens [B, L] -> [B, 1, num_queries, L] or None."""
        keep: Tensor | None = self.inner.tgt(tokens, num_queries)
        return keep


def readable(_tensor: Tensor) -> bool:
    """Return whether code may look at values: not while a model is compiled or exported."""
    return not torch.compiler.is_compiling()
