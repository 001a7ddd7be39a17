"""Known mistakes of `exercises/loss.py`, by theme. Importing a theme registers its mistakes."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.loss.mistakes import behaviour, devices, logarithms, mean, shift, smoothing
from grader.exercises.loss.mistakes.collection import mistake
from grader.exercises.loss.reference import Steps

__all__ = ["MISTAKES", "THEMES"]

THEMES = (shift, logarithms, mean, smoothing, behaviour, devices)
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
