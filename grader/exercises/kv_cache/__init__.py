"""Attention step by step, with a cache."""

from grader.api import Exercise

EXERCISE = Exercise(
    "kv_cache",
    "Attention step by step, with a cache",
    components=("CachedAttention",),
    tests=("test_class.py", "test_training.py"),
    package=__name__,
)
