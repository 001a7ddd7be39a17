"""Scaled dot-product attention and multi-head attention."""

from grader.api import Exercise

EXERCISE = Exercise(
    "attention",
    "Scaled dot-product attention and multi-head attention",
    components=("scaled_dot_product_attention", "MultiHeadAttention"),
    tests=("test_function.py", "test_class.py", "test_training.py"),
    package=__name__,
)
