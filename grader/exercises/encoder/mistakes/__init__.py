"""Known mistakes of `exercises/encoder.py`."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.layers.mistakes import COMMON
from grader.exercises.layers.reference import Steps

MISTAKES: tuple[Mistake[Steps], ...] = COMMON
