"""Known mistakes of `exercises/decoding.py`, by theme."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.decoding.mistakes import beam, common, greedy, scores
from grader.exercises.decoding.reference import Steps

MISTAKES: tuple[Mistake[Steps], ...] = (
    *greedy.MISTAKES,
    *beam.MISTAKES,
    *scores.MISTAKES,
    *common.MISTAKES,
)
