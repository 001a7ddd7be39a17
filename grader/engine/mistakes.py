"""The collection of known mistakes: one small function each.

A mistake takes the reference's steps and gives them back with exactly one thing wrong. It is run for
real, on the same weights and inputs as the submission; it is the diagnosis when the results are equal.
`docs/write-a-mistake.md` describes how to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from grader.core.failures import Named
from grader.engine.devices import FIXED_DEVICE

Part = str  # a component's name; no part at all means every one
S = TypeVar("S")


@dataclass(frozen=True)
class Mistake(Generic[S]):
    """One known mistake: its name, and the ways people write it."""

    named: Named
    patch: Callable[[S], S | Iterable[S]]
    parts: tuple[Part, ...]

    @property
    def id(self) -> str:
        return self.named.id

    def variants(self, steps: S) -> list[S]:
        """`steps` with this mistake in it, once for each way of writing it."""
        patched = self.patch(steps)
        return list(patched) if isinstance(patched, Iterable) else [patched]


class Collection(Generic[S]):
    """The known mistakes of one exercise, in the order in which they are tried.

    Args:
        parts: that a mistake can be made in unless it says otherwise; every one if none is given.
    """

    def __init__(self, parts: tuple[Part, ...] = ()) -> None:
        self._parts = parts
        self.mistakes: list[Mistake[S]] = []

    def __call__(
        self,
        id: str,
        text: str,
        *,
        formula: str = "",
        hint: str = "",
        source: str = "",
        parts: tuple[Part, ...] | None = None,
    ) -> Callable[[Callable[[S], S | Iterable[S]]], Callable[[S], S | Iterable[S]]]:
        """Decorate the function that makes the mistake. It may give several variants of it."""
        if any(known.id == id for known in self.mistakes):
            raise ValueError(f"two mistakes are called {id!r}; make them variants of one, or rename one")

        def keep(patch: Callable[[S], S | Iterable[S]]) -> Callable[[S], S | Iterable[S]]:
            self.mistakes.append(
                Mistake(
                    Named(id, text, formula, hint, source), patch, self._parts if parts is None else parts
                )
            )
            return patch

        return keep

    def fixed_device(
        self, *, parts: tuple[Part, ...] | None = None
    ) -> Callable[[Callable[[S], S | Iterable[S]]], Callable[[S], S | Iterable[S]]]:
        """Decorate the function that makes a tensor on the CPU wherever the input is."""
        known = FIXED_DEVICE
        return self(known.id, known.text, hint=known.hint, source=known.source, parts=parts)
