"""The base of checks: a property that a part should have, and its result."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from zoo.core.errors import ZooError, message_of

if TYPE_CHECKING:
    from zoo.analysis.checks.part import Part

Test = Callable[["Part"], None]

HOLDS, FAILS, OPEN = "ok", "failed", "not applicable"
UNMADE = "It cannot be made."
LONGEST = 300
"""Characters of somebody else's error that are repeated."""


class DoesNotHold(Exception):
    """The property does not hold; the text is a sentence that says what was seen."""


class DoesNotApply(Exception):
    """The property means nothing for this part; the text is a sentence that says why."""


@dataclass(frozen=True)
class Property:
    """A property that a part should satisfy.

    Attributes:
        title: what holds, in a few words.
        test: raises DoesNotHold or DoesNotApply; anything else that it raises comes from the part.
    """

    title: str
    test: Test


class Properties(list[Property]):
    """The properties of one kind of part, in the order in which they are looked at."""

    def __call__(self, title: str) -> Callable[[Test], Test]:
        """A decorator that adds a function as the property called `title`."""

        def add(test: Test) -> Test:
            self.append(Property(title, test))
            return test

        return add


@dataclass(frozen=True)
class Finding:
    """The result of checking one property.

    Attributes:
        title: that of the property.
        status: HOLDS, FAILS or OPEN.
        reason: a sentence, where it does not hold or does not apply.
    """

    title: str
    status: str
    reason: str = ""


def look(one: Property, part: Part) -> Finding:
    """Return what came of it. Nothing that the part raises gets out; random numbers start from one seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        try:
            one.test(part)
        except DoesNotApply as why:
            return Finding(one.title, OPEN, str(why))
        except DoesNotHold as why:
            return Finding(one.title, FAILS, str(why))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's code
            return Finding(one.title, FAILS, describe_error(error, part.file))
    return Finding(one.title, HOLDS)


def describe_error(error: BaseException, file: str = "") -> str:
    """An error in a sentence, with the last line of `file` that it came through."""
    if isinstance(error, (ZooError, DoesNotHold)):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if file and frame.filename == file]
    where = f" (line {lines[-1]} of {Path(file).name})" if lines else ""
    text = _text_of(error)
    if isinstance(error, NotImplementedError):
        return f"It is not written yet{where}: {text}." if text else f"It is not written yet{where}."
    return f"It raised {type(error).__name__}{where}{': ' if text else ''}{text}."


def _text_of(error: BaseException) -> str:
    """Return what it says, on one line, without the full stop."""
    text = " ".join(message_of(error).split()).rstrip(".")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def look_at_all(properties: Iterable[Property], part: Part) -> list[Finding]:
    """Return what came of each; where the first (that the part can be made) does not hold, the others do not apply."""
    first, *others = properties
    made = look(first, part)
    if made.status == FAILS:
        return [made, *(Finding(one.title, OPEN, UNMADE) for one in others)]
    return [made, *(look(one, part) for one in others)]
