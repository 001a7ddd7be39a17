"""An encoder layer around its parts, and a stack of layers."""

from grader.api import Exercise

EXERCISE = Exercise(
    "encoder",
    "An encoder layer around its parts, and a stack of layers",
    components=("EncoderLayer", "Encoder"),
    tests=("test_layer.py", "test_stack.py", "test_training.py"),
    package=__name__,
)
