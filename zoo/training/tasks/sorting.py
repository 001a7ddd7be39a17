"""Sorting the letters of English words: what a model can do once it compares and counts what it sees."""

from __future__ import annotations

from zoo.training.tasks.reverse import Reverse


class Sort(Reverse):
    """word -> dorw, over the words of `Reverse`, with the same words held out.

    Where a letter stands in the source does not matter, only which there are, and how often: a probe of the
    attention without positions.
    """

    def answer(self, text: str) -> str:
        """The letters in the order of the alphabet."""
        return "".join(sorted(text))
