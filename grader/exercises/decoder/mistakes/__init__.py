"""Known mistakes of `exercises/decoder.py`: its own, by theme, then those that it shares with the encoder."""

from __future__ import annotations

from grader.api import Mistake
from grader.exercises.decoder.mistakes import attentions, masks, query, stack, stack_masks, sublayers
from grader.exercises.decoder.mistakes.collection import mistake
from grader.exercises.encoder_and_decoder.mistakes import COMMON
from grader.exercises.encoder_and_decoder.reference import Steps

THEMES = (attentions, query, sublayers, masks, stack, stack_masks)  # importing a theme fills the collection
MISTAKES: tuple[Mistake[Steps], ...] = (*mistake.mistakes, *COMMON)
