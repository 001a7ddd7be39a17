"""Padding masks, causal masks, and the additive form."""

from grader.api import Exercise

EXERCISE = Exercise(
    "masks",
    "Padding masks, causal masks, and the additive form",
    components=("padding_mask", "causal_mask", "decoder_mask", "to_additive"),
    tests=("test_functions.py", "test_training.py"),
    package=__name__,
)
