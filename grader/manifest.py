"""The exercises that come with the grader, in the order in which a learner does them. Metadata only."""

from __future__ import annotations

from itertools import pairwise

from grader.exercise import Exercise

# Name, title, what the learner writes, the suite's files (training tests come last by themselves).
_LIST: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "masks",
        "Padding masks, causal masks, and the additive form",
        ("padding_mask", "causal_mask", "decoder_mask", "to_additive"),
        ("test_functions.py", "test_training.py"),
    ),
    (
        "attention",
        "Scaled dot-product attention and multi-head attention",
        ("scaled_dot_product_attention", "MultiHeadAttention"),
        ("test_function.py", "test_class.py", "test_training.py"),
    ),
    (
        "positions",
        "Sinusoidal and learned positions",
        ("SinusoidalPositions", "LearnedPositions"),
        ("test_classes.py", "test_training.py"),
    ),
    ("feedforward", "The feed-forward network", ("FeedForward",), ("test_class.py", "test_training.py")),
    (
        "norm",
        "Layer norm, and the two places where it can stand",
        ("LayerNorm", "PreNorm", "PostNorm"),
        ("test_layer_norm.py", "test_places.py", "test_training.py"),
    ),
    (
        "encoder",
        "An encoder layer around its parts, and a stack of layers",
        ("EncoderLayer", "Encoder"),
        ("test_layer.py", "test_stack.py", "test_training.py"),
    ),
    (
        "decoder",
        "A decoder layer around its parts, and a stack of layers",
        ("DecoderLayer", "Decoder"),
        ("test_layer.py", "test_stack.py", "test_training.py"),
    ),
    (
        "transformer",
        "The whole model: embeddings, masks, encode, decode",
        ("Transformer",),
        ("test_class.py", "test_training.py"),
    ),
    (
        "loss",
        "The shifted target, and the loss with label smoothing",
        ("shift_right", "sequence_loss"),
        ("test_functions.py", "test_training.py"),
    ),
    (
        "decoding",
        "Greedy decoding and beam search",
        ("greedy_decode", "beam_search"),
        ("test_greedy.py", "test_beam.py", "test_training.py"),
    ),
    (
        "training",
        "The learning rate, a training step, the data",
        ("noam", "train_step", "reverse_words"),
        ("test_rate.py", "test_words.py", "test_step.py", "test_training.py"),
    ),
    (
        "kv_cache",
        "Attention step by step, with a cache",
        ("CachedAttention",),
        ("test_class.py", "test_training.py"),
    ),
)
_NEXT = dict(pairwise(name for name, *_ in _LIST))

EXERCISES: tuple[Exercise, ...] = tuple(
    Exercise(
        name=name,
        title=title,
        file=f"{name}.py",
        components=components,
        suite=f"grader.suites.{name}",
        tests=tests,
        reference=f"grader.reference.{name}",
        solution=f"grader.solutions.{name}",
        template=f"grader.templates:{name}.py",
        hints=f"grader.hints.{name}:HINTS",
        next=_NEXT.get(name, ""),
    )
    for name, title, components, tests in _LIST
)
