"""Known mistakes of `exercises/attention.py`, by theme. Importing a theme registers its mistakes."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.attention.mistakes import (
    behaviour,
    dropout,
    heads,
    mask_axes,
    mask_fill,
    masks,
    projections,
    returns,
    scale,
    softmax,
)
from grader.exercises.attention.mistakes.collection import mistake
from grader.exercises.attention.reference import Steps

__all__ = ["MISTAKES", "THEMES"]

THEMES = (scale, softmax, masks, mask_axes, mask_fill, projections, heads, returns, dropout, behaviour)
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
