"""Which values a hidden test of layers and stacks compares, by name."""

from __future__ import annotations

CHANGED = "changed in place"


def results(name: str) -> bool:
    """Return what comes out."""
    return name in ("output", "result")


def calls(name: str) -> bool:
    """Return how often parts or layers are called, how many are made, and with what."""
    return name.startswith(("calls of", "layers made", "query, key", "key and value", "memory of"))


def masks(name: str) -> bool:
    """Return what comes out, and which masks were handed on."""
    return results(name) or "mask of " in name


def values(name: str) -> bool:
    """Everything but changes in place."""
    return name != CHANGED
