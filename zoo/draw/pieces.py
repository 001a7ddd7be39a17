"""One part by itself, made from its name as a user types it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zoo.core.blueprint import choose, layer_kinds
from zoo.core.describe import brief
from zoo.core.errors import CombinationError, ZooError
from zoo.core.plugins import get_registry

MOST_POSITIONS, LONGEST_SENTENCE = 512, 64
"""That can be drawn."""
HEADS = 4
"""Of the two models that are compared."""
MOST_LAYERS = 6
"""Different layers whose rows fit a picture."""
DIFFER = frozenset({
    "attention", "encoding", "norm", "norm-type", "feedforward", "embedding", "head", "masking", "mask", "loss",
    "schedule",
})  # fmt: skip
"""Axes whose variants compute something else with the same parameters, or are curves."""
INSTEAD = {
    "assembly": "models of different stacks have no numbers in common. `zoo draw model --assembly=...` shows each.",
    "decoding": "it decides which answer is taken. `zoo predict --decoding=...` shows answers.",
}
"""Of the other axes: why there is nothing to draw, and what shows the difference."""


def make_part(axis: str, text: str, *args: Any, **known: Any) -> Any:
    """Make the part `text` of `axis`.

    Args:
        args: what the axis hands to every variant.
        known: what a variant may need beyond that; only what it declares is passed.

    Raises:
        UnknownNameError: no such variant or option.
        CombinationError: it cannot be made with these arguments.
    """
    variant, options = get_registry().resolve(axis, text)
    given = {name: value for name, value in options.items() if value is not None}
    needs = {name: known[name] for name in variant.capabilities.get("needs", ()) if name in known}
    try:
        return variant.load()(*args, **given, **needs)
    except (TypeError, ValueError) as error:
        raise CombinationError(f"{axis}={text}: {error}") from error


def check_positions(length: int, d_model: int, num_heads: int, head: int) -> None:
    """Raises ZooError for sizes of which no encoding can be drawn; imports no torch."""
    if not 2 <= length <= MOST_POSITIONS:
        raise ZooError(f"length={length} cannot be drawn: expected 2 to {MOST_POSITIONS}.")
    if d_model % num_heads:
        raise ZooError(f"d_model={d_model} is not divisible by num_heads={num_heads}.")
    if not 1 <= head <= num_heads:
        raise ZooError(f"There is no head {head}: there are {num_heads}, counted from 1.")


def check_lengths(lengths: Sequence[int], target_lengths: Sequence[int]) -> None:
    """Raises ZooError for lengths of sentences that make no batch, or one too large to draw; imports no torch."""
    if len(lengths) != len(target_lengths) or not lengths:
        raise ZooError(
            f"There are {len(lengths)} source and {len(target_lengths)} target lengths: give one of each per sentence."
        )
    for length in (*lengths, *target_lengths):
        if not 1 <= length <= LONGEST_SENTENCE:
            raise ZooError(f"A length of {length} cannot be drawn: expected 1 to {LONGEST_SENTENCE}.")


def check_pair(axis: str, a: str, b: str, head: int = 1) -> None:
    """Raises ZooError unless two variants of an axis can be compared by a picture; imports no torch."""
    if not 1 <= head <= HEADS:
        raise ZooError(f"There is no head {head}: the models have {HEADS}, counted from 1.")
    registry = get_registry()
    registry.axis(axis)
    kinds = layer_kinds(*(choose(registry, axis, name) for name in (a, b)))
    if len(kinds) > MOST_LAYERS:
        first, second = next(pair for pair, _ in kinds if pair[0] != pair[1])
        raise ZooError(
            f"These patterns have {len(kinds)} different layers, and {MOST_LAYERS} can be drawn: expected shorter "
            f"ones, or one variant each, such as `zoo draw diff {axis} {brief(axis, first)} {brief(axis, second)}`."
        )
    if axis not in DIFFER:
        instead = INSTEAD.get(
            axis,
            "models with equal parameters compute the same with either. "
            f"`zoo compare --{axis}={a},{b} --train` trains with each.",
        )
        raise ZooError(f"There is nothing to draw for the axis {axis}: {instead}")
