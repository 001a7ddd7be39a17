"""Copying English words: what a model can do as soon as its positions and its attention over the source work."""

from __future__ import annotations

from zoo.training.tasks.reverse import Reverse


class Copy(Reverse):
    """word -> word, over the words of `Reverse`, with the same words held out."""

    def answer(self, text: str) -> str:
        """The word itself."""
        return text
