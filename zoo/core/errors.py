"""Errors meant for people: their text is the whole message, no traceback is shown with it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from zoo.core.printable import visible


class ZooError(Exception):
    """Something the user gave cannot be used. The text says what was given, what was expected, what to do."""


class UnknownNameError(ZooError):
    """A name that is not registered."""


class CombinationError(ZooError):
    """A combination of parts or sizes that cannot work: why, and what would."""


class PluginError(ZooError):
    """A plugin that cannot be loaded or breaks the rules of the hooks."""


def message_of(error: BaseException) -> str:
    """The text of an exception of anybody's code, safe to print, whatever its `__str__` does."""
    try:
        return visible(str(error))
    except (Exception, SystemExit):  # noqa: BLE001 - a stranger's code
        return "(its message cannot be shown)"


def describe_exception(error: BaseException) -> str:
    """An exception of anybody's code as "ValueError: its message"."""
    return f"{type(error).__name__}: {message_of(error)}"


def unknown_name(
    kind: str, given: str, known: Iterable[str], command: str = "", where: str = ""
) -> UnknownNameError:
    """The error for an unknown name: the nearest names, and the command that lists them all."""
    names = sorted(known)
    lower = {name.lower(): name for name in names}
    near = [lower[one] for one in difflib.get_close_matches(given.lower(), lower, n=3, cutoff=0.6)]
    if near:
        advice = f"Did you mean {' or '.join(near)}?"
    elif len(names) > 100:  # a page of names helps nobody
        advice = f"None of the {len(names)} known names is like it."
    elif names:
        advice = f"Known: {', '.join(names)}."
    else:
        advice = "There is none at all." if where else "None is registered."
    listing = f" `{command}` lists them all." if command else ""
    return UnknownNameError(f"There is no {kind} '{given}'{where}. {advice}{listing}")
