"""Known mistakes that encoder and decoder share, by theme."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.encoder_and_decoder.mistakes import (
    devices,
    dropout,
    norms,
    parts,
    placement,
    promises,
    stacks,
)
from grader.exercises.encoder_and_decoder.mistakes.collection import mistake
from grader.exercises.encoder_and_decoder.reference import Steps

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
