"""Known mistakes of `exercises/kv_cache.py`, by theme."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.kv_cache.mistakes import attention, cache, devices, projections
from grader.exercises.kv_cache.mistakes.collection import mistake
from grader.exercises.kv_cache.reference import Steps

THEMES = (cache, attention, projections, devices)  # importing a theme fills the collection
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
