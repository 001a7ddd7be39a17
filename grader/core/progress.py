"""How long work reports its progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """How a long test comes along."""

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what` are done."""
