"""Known mistakes of `exercises/loss.py`, by theme. Importing a theme registers its mistakes."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.loss import behaviour, devices, logarithms, mean, shift, smoothing
from grader.mistakes.loss.collection import mistake
from grader.reference.loss import Steps

__all__ = ["MISTAKES", "THEMES"]

THEMES = (shift, logarithms, mean, smoothing, behaviour, devices)
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
