"""A fault: a realistic mistake in the zoo or the grader, as a small patch to one file."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """A text that occurs once in a file, and what stands there instead.

    Attributes:
        name: the room, then the fault.
        file: from the root of the repository.
        old, new: the text, and what replaces it.
        breaks: what the fault breaks.
    """

    name: str
    file: str
    old: str
    new: str
    breaks: str
