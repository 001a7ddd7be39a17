"""Known mistakes of `exercises/transformer.py`, by theme."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.transformer import devices, embedding, masks, output, parts, target_masks, wiring
from grader.mistakes.transformer.collection import mistake
from grader.reference.transformer import Steps

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
