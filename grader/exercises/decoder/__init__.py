"""A decoder layer around its parts, and a stack of layers."""

from grader.api import Exercise

EXERCISE = Exercise(
    "decoder",
    "A decoder layer around its parts, and a stack of layers",
    components=("DecoderLayer", "Decoder"),
    tests=("test_layer.py", "test_stack.py", "test_training.py"),
    package=__name__,
)
