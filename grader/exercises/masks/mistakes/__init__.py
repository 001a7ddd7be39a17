"""Known mistakes of `exercises/masks.py`, by theme. Importing a theme registers its mistakes."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.masks.mistakes import additive, causal, decoder, form, padding
from grader.exercises.masks.mistakes.collection import mistake
from grader.exercises.masks.reference import Steps

__all__ = ["MISTAKES", "THEMES"]

THEMES = (form, padding, causal, decoder, additive)
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
