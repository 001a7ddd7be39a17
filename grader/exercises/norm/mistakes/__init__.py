"""Known mistakes of `exercises/norm.py`, by theme."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.norm.mistakes import devices, layer_norm, parameters, places, places_parts
from grader.exercises.norm.mistakes.collection import mistake
from grader.exercises.norm.reference import Steps

THEMES = (parameters, layer_norm, places, places_parts, devices)  # importing a theme fills the collection
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
