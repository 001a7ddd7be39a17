"""Known mistakes of `exercises/transformer.py`, by theme."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.transformer.mistakes import (
    devices,
    embedding,
    masks,
    output,
    parts,
    target_masks,
    wiring,
)
from grader.exercises.transformer.mistakes.collection import mistake
from grader.exercises.transformer.reference import Steps

THEMES = (
    parts,
    embedding,
    masks,
    target_masks,
    wiring,
    output,
    devices,
)  # importing a theme fills the collection
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
