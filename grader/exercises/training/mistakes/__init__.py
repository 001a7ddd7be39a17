"""Known mistakes of `exercises/training.py`, by function."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.training.mistakes import devices, rate, step, words
from grader.exercises.training.reference import Steps

MISTAKES: tuple[Mistake[Steps], ...] = (*rate.MISTAKES, *step.MISTAKES, *words.MISTAKES, *devices.MISTAKES)
