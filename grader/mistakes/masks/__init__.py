"""Known mistakes of `exercises/masks.py`, by theme. Importing a theme registers its mistakes."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.masks import additive, causal, decoder, form, padding
from grader.mistakes.masks.collection import mistake
from grader.reference.masks import Steps

__all__ = ["MISTAKES", "THEMES"]

THEMES = (form, padding, causal, decoder, additive)
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
