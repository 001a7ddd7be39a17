"""One part by itself, made from its name as a user types it."""

from __future__ import annotations

from typing import Any

from zoo.core.errors import CombinationError, ZooError
from zoo.core.plugins import get_registry


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


def check_pair(axis: str, a: str, b: str) -> None:
    """Raises ZooError unless two variants of an axis can be compared by a picture; imports no torch."""
    registry = get_registry()
    registry.axis(axis)
    for name in (a, b):
        registry.resolve(axis, name)
    if axis == "assembly":
        raise ZooError(
            "There is nothing to draw for the axis assembly: models of different stacks have no numbers in common. "
            "`zoo draw model --assembly=...` shows each."
        )
    if axis == "decoding":
        raise ZooError(
            "There is nothing to draw for the axis decoding. It decides which answer is taken; "
            "`zoo predict --decoding` shows answers."
        )
