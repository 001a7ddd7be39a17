"""The shifted target, and the loss with label smoothing."""

from grader.api import Exercise

EXERCISE = Exercise(
    "loss",
    "The shifted target, and the loss with label smoothing",
    components=("shift_right", "sequence_loss"),
    tests=("test_functions.py", "test_training.py"),
    package=__name__,
)
