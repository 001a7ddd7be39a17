"""Layer norm, and the two places where it can stand."""

from grader.api import Exercise

EXERCISE = Exercise(
    "norm",
    "Layer norm, and the two places where it can stand",
    components=("LayerNorm", "PreNorm", "PostNorm"),
    tests=("test_layer_norm.py", "test_places.py", "test_training.py"),
    package=__name__,
)
