"""Known mistakes of `exercises/attention.py`, by theme. Importing a theme registers its mistakes."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.attention import (
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
from grader.mistakes.attention.collection import mistake
from grader.reference.attention import Steps

__all__ = ["MISTAKES", "THEMES"]

THEMES = (scale, softmax, masks, mask_axes, mask_fill, projections, heads, returns, dropout, behaviour)
MISTAKES: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
