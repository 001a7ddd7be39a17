"""The results of a grade: plain data for all reports. Imports no torch and no pytest."""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass, field, replace
from typing import Literal

from grader.core.failures import Matrices, Named
from grader.core.spots import Lines, Spot, Spots, in_file

Status = Literal["passed", "failed", "error", "skipped"]

MESSAGE_LIMIT = 2_000
PICTURE_LIMIT = 6_000

_COMMAND = re.compile(r"^(\s*:)(?=:)|(##)(?=\[)", re.MULTILINE)


class GraderBrokenError(Exception):
    """The grader itself cannot do its work. Never the learner's fault."""


def clean(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Text that may hold a submission's own words, safe to print: no control or escape characters but
    line ends, no characters that turn the direction of writing, at most `limit` characters."""
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    text = "".join(c for c in text if c == "\n" or unicodedata.category(c)[0] != "C")
    return text if len(text) <= limit else text[:limit].rstrip() + " ..."


def uncommanded(text: str) -> str:
    """Text without the workflow commands that a runner of GitHub obeys where it reads them in a log."""
    return _COMMAND.sub(lambda found: found[0] + " ", text)


def for_log(text: str) -> str:
    """The text, `uncommanded` where such a runner reads what is printed."""
    return uncommanded(text) if os.environ.get("GITHUB_ACTIONS") == "true" else text


@dataclass(frozen=True)
class Result:
    """The verdict on one hidden test.

    Attributes:
        name: stable name, "class.test_merge".
        title: for people.
        category: one of `grader.catalog.CATEGORIES`.
        status: "passed", "failed", "skipped" (not run, or same cause as another failure), or "error"
            (the grader itself broke, which is never the learner's fault).
        points: earned.
        max_points: what the test is worth.
        message: what was checked and what was seen; "" when passed.
        mistakes: the known mistakes that explain a failure.
        picture: a picture in text, or "".
        duration_s: wall time, with the search for the mistakes, where that was made for this test.
        where: the place in the submission's file that is wrong, if that was found.
        matrices: what differs, for reports that draw.
    """

    name: str
    title: str
    category: str
    status: Status
    points: float
    max_points: float
    message: str = ""
    mistakes: tuple[Named, ...] = ()
    picture: str = ""
    duration_s: float = field(default=0.0, compare=False)
    where: Spot | None = None
    matrices: tuple[Matrices, ...] = ()

    def cleaned(self) -> Result:
        """The same, safe to print."""
        mistakes = tuple(
            replace(m, text=clean(m.text), formula=clean(m.formula), hint=clean(m.hint))
            for m in self.mistakes
        )
        picture = clean(self.picture, PICTURE_LIMIT)
        return replace(self, message=clean(self.message), mistakes=mistakes, picture=picture)

    def placed(self, spots: Spots, lines: Lines) -> Result:
        """The same with those of the places that the file has: by the id of a mistake, "" for the failure as such."""
        found = in_file(spots, lines)
        alone = found.get("") if len(self.mistakes) == 1 else None
        mistakes = tuple(replace(m, where=found.get(m.id, m.where or alone)) for m in self.mistakes)
        where = next((m.where for m in mistakes if m.where is not None), None)
        return replace(self, mistakes=mistakes, where=where or found.get("", self.where))


@dataclass(frozen=True)
class Grade:
    """One file, graded.

    Attributes:
        exercise: name of the exercise.
        title: of the exercise.
        file: the file as it was given.
        components: the functions and classes that were graded.
        device: "cpu" or "cuda".
        sandbox: the level at which the submission was held, "strict" or "process"; "" if it was not run.
        sandbox_reason: why it was not held at "strict", where that was looked for; or "".
        seed: replays the grade.
        results: in the order in which the tests ran.
        duration_s: wall time.
        selection: the options that left tests out, as typed (" --only masking"), or "".
        options: further options that another grade of the file needs (" --no-library-attention"), or "".
        next_exercise: file name of the exercise to do next, or "".
        source: the file's text as it was graded, as it is: not safe to print.
    """

    exercise: str
    title: str
    file: str
    components: tuple[str, ...]
    device: str
    seed: int
    results: tuple[Result, ...]
    duration_s: float
    selection: str = ""
    options: str = ""
    next_exercise: str = ""
    sandbox: str = ""
    sandbox_reason: str = ""
    source: str = field(default="", repr=False)

    def lean(self) -> Grade:
        """The same without what takes room and can be had again: the source, and matrices."""
        return replace(self, source="", results=tuple(replace(one, matrices=()) for one in self.results))

    @property
    def passed(self) -> bool:
        """Return whether every test that was asked for passed."""
        return bool(self.results) and all(result.status == "passed" for result in self.results)

    @property
    def unloaded(self) -> bool:
        """Return whether the file could not be loaded, so that nothing of it was graded."""
        return any(result.name == "load" and result.status == "failed" for result in self.results)

    @property
    def ungraded(self) -> str:
        """Why nothing of the file was graded, in words that follow "it" or "the file"; or ""."""
        if self.unloaded:
            return "cannot be loaded"
        said = {result.message for result in self.results if result.status == "failed"}
        none = said == {f"There is no '{name}' in the file." for name in self.components} != set()
        return f"does not define {' or '.join(self.components)}" if none else ""

    @property
    def points(self) -> float:
        return sum(result.points for result in self.results)

    @property
    def max_points(self) -> float:
        return sum(result.max_points for result in self.results)

    @property
    def mistakes(self) -> tuple[Named, ...]:
        """Every mistake once, in the order of the tests that found them."""
        found: dict[str, Named] = {}
        for result in self.results:
            for mistake in result.mistakes:
                if mistake.id not in found or found[mistake.id].where is None:
                    found[mistake.id] = mistake
        return tuple(found.values())
