"""Known mistakes of `exercises/decoding.py`, by theme."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.decoding import beam, common, greedy, scores
from grader.reference.decoding import Steps

MISTAKES: tuple[Mistake[Steps], ...] = (
    *greedy.MISTAKES,
    *beam.MISTAKES,
    *scores.MISTAKES,
    *common.MISTAKES,
)
