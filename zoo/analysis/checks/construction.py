"""The first property of every part: it can be constructed with the arguments of its axis."""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn

from zoo.analysis.checks.base import DoesNotHold, Property
from zoo.analysis.checks.part import HANDED, Part

METHODS: Mapping[str, tuple[str, ...]] = {
    "embedding": ("src", "tgt"),
    "masking": ("src", "tgt"),
    "mask": ("encode", "decode"),
    "init": ("matrix", "bias", "table"),
    "schedule": ("__call__",),
    "optimizer": ("step", "zero_grad"),
    "decoding": ("__call__",),
}
"""What must be there to be called, on axes where it is not `forward`."""

PLAIN = ("masking", "mask", "init", "schedule", "optimizer", "decoding")
"""Axes whose parts are no torch modules."""


def constructed(part: Part) -> None:
    """With the arguments that the axis hands over, its own options and what it needs; it is of the right kind."""
    made = part.make()
    if part.axis not in PLAIN and not isinstance(made, nn.Module):
        raise DoesNotHold(f"Expected a class derived from nn.Module, got {type(made).__name__}.")
    for method in METHODS.get(part.axis, ("forward",)):
        found = getattr(made, method, None)
        if not callable(found) or getattr(found, "__name__", "") == "_forward_unimplemented":
            raise DoesNotHold(f"Expected a method '{method}'; there is none.")


CONSTRUCTED = Property("can be constructed with the arguments of its axis", constructed)

assert set(METHODS) <= set(HANDED)
