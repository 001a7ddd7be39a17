"""Layer norm, pre-norm and post-norm."""

from grader.api import Exercise

EXERCISE = Exercise(
    "norm",
    "Layer norm, pre-norm and post-norm",
    components=("LayerNorm", "PreNorm", "PostNorm"),
    tests=("test_layer_norm.py", "test_places.py", "test_training.py"),
    package=__name__,
)
