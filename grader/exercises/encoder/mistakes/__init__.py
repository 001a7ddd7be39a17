"""Known mistakes of `exercises/encoder.py`."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.encoder_and_decoder.mistakes import COMMON
from grader.exercises.encoder_and_decoder.reference import Steps

MISTAKES: tuple[Mistake[Steps], ...] = COMMON
