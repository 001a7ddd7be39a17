"""Greedy decoding and beam search."""

from grader.api import Exercise

EXERCISE = Exercise(
    "decoding",
    "Greedy decoding and beam search",
    components=("greedy_decode", "beam_search"),
    tests=("test_greedy.py", "test_beam.py", "test_training.py"),
    package=__name__,
)
