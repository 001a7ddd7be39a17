"""Copies of weights, arranged for speed, for as long as the weights do not change."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType

from torch import Tensor, nn

from zoo.parts.onednn import pack

HEAVY = 2**18
"""Elements of a weight from which a product of few rows takes as long as it takes to read the weight."""
PATIENCE = 8
"""Products after which a weight is copied: what was lost if none came after, in products."""


@dataclass
class Held:
    """How often a weight was used, and its copy once there is one; `weight` keeps its memory from being reused."""

    weight: Tensor
    uses: int = 0
    copy: Tensor | None = None


class FixedWeights:
    """A context in which the weights of `zoo.parts.linear` do not change, and so may be rearranged.

    ::

        with torch.no_grad(), FixedWeights():
            for batch in batches:
                model(*batch)

    A weight too large for the caches is read from memory by every product. Once it has been used a few times, a
    copy is made in the order in which it is read fastest, and kept until the end. Only parameters and parts of
    them are copied, not what is computed from them. A change need not be seen: neither a fused optimizer nor what
    writes through `.data` tells of it.
    """

    def __init__(self) -> None:
        self._copies: dict[tuple[object, ...], Held] = {}

    def __enter__(self) -> FixedWeights:
        _ENTERED.set((*_ENTERED.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._copies.clear()
        entered = list(_ENTERED.get())
        if self in entered:  # it is not where a generator ends in another context
            entered.remove(self)
        _ENTERED.set(tuple(entered))

    def arranged(self, weight: Tensor, rows: int) -> Tensor:
        """[out, in], for products of so many rows: itself, or a copy.

        For one row, the copy has whole columns in one piece where a row is the shorter of the two; for more,
        it is oneDNN's own arrangement.
        """
        if weight.numel() < HEAVY or rows == 0 or not _is_parameter(weight):
            return weight
        if rows == 1 and weight.size(0) < weight.size(1):
            return weight
        key = (weight.data_ptr(), weight.shape, weight.stride(), rows == 1)
        held = self._copies.get(key)
        if held is None:
            held = self._copies[key] = Held(weight.detach())
        held.uses += 1
        if held.copy is None and held.uses > PATIENCE:
            held.copy = _by_columns(weight) if rows == 1 else pack(weight, rows)
        return weight if held.copy is None else held.copy


def current() -> FixedWeights | None:
    """That which has been entered last, in this thread."""
    return entered[-1] if (entered := _ENTERED.get()) else None


def _is_parameter(weight: Tensor) -> bool:
    """Whether it is one, or a part of one."""
    return isinstance(weight if weight._base is None else weight._base, nn.Parameter)


def _by_columns(weight: Tensor) -> Tensor:
    """The same, with each column in one piece."""
    return weight.detach().t().contiguous().t()  # [out, in] -> [in, out] -> [out, in]


_ENTERED: ContextVar[tuple[FixedWeights, ...]] = ContextVar("fixed_weights", default=())
