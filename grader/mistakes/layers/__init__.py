"""Known mistakes that encoder and decoder share, by theme."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.layers import devices, dropout, norms, parts, placement, promises, stacks
from grader.mistakes.layers.collection import mistake
from grader.reference.layers import Steps

THEMES = (
    parts,
    placement,
    norms,
    dropout,
    stacks,
    promises,
    devices,
)  # importing a theme fills the collection
COMMON: tuple[Mistake[Steps], ...] = tuple(mistake.mistakes)
