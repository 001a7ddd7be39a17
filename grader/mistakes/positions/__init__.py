"""Known mistakes of `exercises/positions.py`, by theme. Importing a theme registers its mistakes."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.positions import adding, devices, length, sinusoids, training
from grader.mistakes.positions.collection import mistake
from grader.reference.positions import Steps

__all__ = ["MISTAKES", "THEMES"]

THEMES = (sinusoids, adding, length, training, devices)
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
