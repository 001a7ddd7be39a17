"""Known mistakes of `exercises/norm.py`, by theme."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.norm import devices, layer_norm, parameters, places, places_parts
from grader.mistakes.norm.collection import mistake
from grader.reference.norm import Steps

THEMES = (parameters, layer_norm, places, places_parts, devices)  # importing a theme fills the collection
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
