"""Known mistakes of `exercises/training.py`, by function."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.training import devices, rate, step, words
from grader.reference.training import Steps

MISTAKES: tuple[Mistake[Steps], ...] = (*rate.MISTAKES, *step.MISTAKES, *words.MISTAKES, *devices.MISTAKES)
