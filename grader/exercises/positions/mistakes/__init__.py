"""Known mistakes of `exercises/positions.py`, by theme. Importing a theme registers its mistakes."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.positions.mistakes import adding, devices, length, sinusoids, training
from grader.exercises.positions.mistakes.collection import mistake
from grader.exercises.positions.reference import Steps

__all__ = ["MISTAKES", "THEMES"]

THEMES = (sinusoids, adding, length, training, devices)
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
