"""The learning rate, a training step, the data."""

from grader.api import Exercise

EXERCISE = Exercise(
    "training",
    "The learning rate, a training step, the data",
    components=("noam", "train_step", "reverse_words"),
    tests=("test_rate.py", "test_words.py", "test_step.py", "test_training.py"),
    package=__name__,
)
