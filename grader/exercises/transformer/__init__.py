"""The whole model: embeddings, masks, encode, decode."""

from grader.api import Exercise

EXERCISE = Exercise(
    "transformer",
    "The whole model: embeddings, masks, encode, decode",
    components=("Transformer",),
    tests=("test_class.py", "test_training.py"),
    package=__name__,
)
