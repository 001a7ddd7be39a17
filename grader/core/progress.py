"""The progress of long tests."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A callback for the progress of a long test."""

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what` are done."""
