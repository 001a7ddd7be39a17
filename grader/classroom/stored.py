"""Grades and files as the gradebook stores them: to text, and back to objects."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from grader.core.failures import Named
from grader.core.results import Grade, Result
from grader.core.spots import Spot

_OWN_WORDS = {
    "message",
    "picture",
    "text",
    "source",
    "other_source",
    "value",
    "expected",
    "last_value",
    "region",
}


def read_grade(packed: bytes, hide: Callable[[str], str] = str) -> Grade:
    """The grade of a stored report (`gradings.report`); of an older version, as far as it goes.

    Args:
        packed: the report.
        hide: applied to all text in it that may have a student's own words.
    """
    report = json.loads(zlib.decompress(packed))
    for one in report["results"]:
        for text in (one, *one["mistakes"], *(text.get("where") or {} for text in (one, *one["mistakes"]))):
            text.update({name: hide(text[name]) for name in _OWN_WORDS & text.keys() if text[name]})
    results = [
        _placed(Result, {**one, "mistakes": tuple(_placed(Named, each) for each in one["mistakes"])})
        for one in report["results"]
    ]
    given = {**_known(Grade, report), "components": tuple(report["components"]), "results": tuple(results)}
    return Grade(**given)


def read_source(content: bytes | None) -> str:
    """The text of a stored file (`sources.content`), as an editor shows it; "" where it was too large to be stored."""
    text = (content or b"").decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _placed(kind: Any, given: Mapping[str, Any]) -> Any:
    """A result or a mistake, with its place."""
    spot, found = given.get("where"), None
    if spot is not None:
        lists = {name: tuple(value) for name, value in spot.items() if isinstance(value, list)}
        found = Spot(**{"end_line": spot["line"], **_known(Spot, spot), **_known(Spot, lists)})
    return kind(**{**_known(kind, given), "where": found})


def _known(kind: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a class of today has."""
    return {name: value for name, value in given.items() if name in kind.__dataclass_fields__}
