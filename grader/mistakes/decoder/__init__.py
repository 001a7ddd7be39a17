"""Known mistakes of `exercises/decoder.py`: its own, by theme, then those that it shares with the encoder."""

from __future__ import annotations

from grader.mistakes import Mistake
from grader.mistakes.decoder import attentions, masks, query, stack, stack_masks, sublayers
from grader.mistakes.decoder.collection import mistake
from grader.mistakes.layers import COMMON
from grader.reference.layers import Steps

THEMES = (attentions, query, sublayers, masks, stack, stack_masks)  # importing a theme fills the collection
MISTAKES: tuple[Mistake[Steps], ...] = (*mistake.mistakes, *COMMON)
