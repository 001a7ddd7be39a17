"""Keys and values that are computed once."""

from __future__ import annotations

from torch import Tensor

FIRST = 16
"""Positions that a growing cache starts with; it doubles when they are used up."""


class KeyValueCache:
    """The projected keys and values of one attention, kept from one decoding step to the next.

    In self-attention it grows by what each step adds. In cross-attention (not `grows`) it holds the memory's
    keys and values, and is complete after the first step.

    For decoding without gradients: it writes in place, so that a backward pass through two steps of it raises
    torch's RuntimeError.
    """

    def __init__(self, grows: bool) -> None:
        """`grows`: whether later steps add to it."""
        self.grows, self.length = grows, 0
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    @property
    def complete(self) -> bool:
        """Return whether it holds all keys and values there will be, so that none need be computed."""
        return not self.grows and self._keys is not None

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add keys and values [B, Hk, T, d]; all there are so far, [B, Hk, Tk, d] each."""
        if not self.grows:
            self._keys, self._values, self.length = k, v, k.size(2)
            return k, v
        start, self.length = self.length, self.length + k.size(2)
        self._keys = _with_room(self._keys, k, start, self.length)
        self._values = _with_room(self._values, v, start, self.length)
        self._keys[:, :, start : self.length] = k
        self._values[:, :, start : self.length] = v
        return self.held()

    def held(self) -> tuple[Tensor, Tensor]:
        """Keys and values so far, [B, Hk, Tk, d] each; something has been appended."""
        assert self._keys is not None
        assert self._values is not None
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order; a row may come up several times."""
        if self._keys is not None and self._values is not None:
            self._keys, self._values = self._keys.index_select(0, rows), self._values.index_select(0, rows)


def _with_room(held: Tensor | None, new: Tensor, used: int, needed: int) -> Tensor:
    """A buffer like `held` with space for `needed` positions."""
    if held is not None and needed <= held.size(2):
        return held
    batch, heads, _, width = new.shape
    buffer = new.new_zeros(batch, heads, max(FIRST, 2 * needed), width)
    if held is not None:
        buffer[:, :, :used] = held[:, :, :used]
    return buffer


class LayerCache:
    """What a decoder layer keeps from one decoding step to the next."""

    def __init__(self) -> None:
        self.self_attention = KeyValueCache(grows=True)
        self.cross_attention = KeyValueCache(grows=False)


def select_rows(caches: list[LayerCache], rows: Tensor, sources_too: bool) -> None:
    """Keep these rows in every cache; those of the memory only where the sources change (`sources_too`)."""
    for cache in caches:
        cache.self_attention.select(rows)
        if sources_too:
            cache.cross_attention.select(rows)
