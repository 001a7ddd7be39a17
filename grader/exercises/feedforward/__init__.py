"""The feed-forward network."""

from grader.api import Exercise

EXERCISE = Exercise(
    "feedforward",
    "The feed-forward network",
    components=("FeedForward",),
    tests=("test_class.py", "test_training.py"),
    package=__name__,
)
