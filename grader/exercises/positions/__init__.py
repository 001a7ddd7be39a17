"""Sinusoidal and learned positions."""

from grader.api import Exercise

EXERCISE = Exercise(
    "positions",
    "Sinusoidal and learned positions",
    components=("SinusoidalPositions", "LearnedPositions"),
    tests=("test_classes.py", "test_training.py"),
    package=__name__,
)
