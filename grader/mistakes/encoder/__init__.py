"""Known mistakes of `exercises/encoder.py`."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.layers import COMMON
from grader.reference.layers import Steps

MISTAKES: tuple[Mistake[Steps], ...] = COMMON
