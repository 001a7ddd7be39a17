"""Known mistakes of `exercises/kv_cache.py`, by theme."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.kv_cache import attention, cache, devices, projections
from grader.mistakes.kv_cache.collection import mistake
from grader.reference.kv_cache import Steps

THEMES = (cache, attention, projections, devices)  # importing a theme fills the collection
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
