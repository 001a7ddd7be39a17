"""Examples of mistakes from a class, grouped by function and by the code that makes them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.classroom.gradebook import Gradebook
from grader.classroom.names import Names
from grader.classroom.stored import read_grade, read_source
from grader.core.results import Result, clean
from grader.core.spots import Spot

BEFORE, AFTER = 3, 2  # lines of the file around the one of an example
_BEFORE_COMMENT = re.compile(r"""(?:[^#'"]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|['"])*""")
_VARIABLE = re.compile(r"(?<![.\w])[^\W\d]\w*(?![\w(]|\s*\()")


@dataclass
class Example:
    """One way in which a mistake is written: in one function, alike but for names of variables and spaces.

    Attributes:
        region: the function or method, or "".
        code: what they have in common, without names of variables.
        student, path, attempt: of the file that is shown; the path is "" where names are hidden.
        line, end_line: of that file, from 1; 0 if the place is not known.
        column, end_column: as in `grader.core.spots.Spot`.
        before: number of the first line of `lines`.
        lines: of the file, around the place.
        value, expected: what the line computes, and what belongs there; "" where not known.
        files, students: how many have it so.
    """

    region: str
    code: str
    student: str
    path: str
    attempt: int
    line: int = 0
    end_line: int = 0
    column: int | None = None
    end_column: int | None = None
    before: int = 1
    lines: list[str] = field(default_factory=list)
    value: str = ""
    expected: str = ""
    files: int = 0
    students: int = 0


@dataclass
class Unnamed:
    """A hidden test that files fail without a mistake that has a name, at one place of the code.

    Attributes:
        exercise, test, title: of the test.
        message: of the first of these files.
        files, students: how many.
        example: one of them.
    """

    exercise: str
    test: str
    title: str
    message: str
    files: int
    students: int
    example: Example


Key = tuple[str, str]


@dataclass
class Examples:
    """Examples by exercise and mistake, most frequent first, and failures without a name."""

    named: Mapping[Key, Sequence[Example]]
    unnamed: Sequence[Unnamed]


@dataclass(frozen=True)
class Use:
    """A graded attempt: the student's number, which attempt it is, and the file."""

    number: int
    attempt: int
    path: str
    sha256: str


class _Groups:
    """Examples in the making: by what they are of, by function and line."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._found: dict[tuple[str, ...], dict[Key, tuple[Example, set[str], set[int]]]] = defaultdict(dict)

    def add(self, what: tuple[str, ...], spot: Spot | None, source: str, uses: Iterable[Use]) -> None:
        code = "" if spot is None else _structure(_code(source, spot))
        region = "" if spot is None else spot.region
        groups = self._found[what]
        for use in uses:
            if (region, code) not in groups:
                groups[region, code] = self._example(spot, source, use, region, code), set(), set()
            example, files, students = groups[region, code]
            files.add(use.sha256)
            students.add(use.number)
            example.files, example.students = len(files), len(students)

    def _example(self, spot: Spot | None, source: str, use: Use, region: str, code: str) -> Example:
        shown = Example(region, code, self._names.label(use.number), self._names.path(use.path), use.attempt)
        if spot is None:
            return shown
        lines = source.split("\n")
        first, last = max(1, spot.line - BEFORE), min(len(lines), spot.end_line + AFTER)
        shown.line, shown.end_line = spot.line, spot.end_line
        shown.column, shown.end_column = spot.column, spot.end_column
        shown.before = first
        shown.lines = self._names.hide("\n".join(lines[first - 1 : last])).split("\n")
        shown.value, shown.expected = spot.value, spot.expected
        return shown

    def of(self, what: tuple[str, ...]) -> list[Example]:
        found = [one for one, _, _ in self._found[what].values()]
        return sorted(found, key=lambda one: (-one.students, -one.files, one.region, one.code))

    def kinds(self) -> list[tuple[str, ...]]:
        return [*self._found]


def without_comment(line: str) -> str:
    """A line of code without the comment at its end; a # in a string begins none."""
    found = _BEFORE_COMMENT.match(line)
    return found[0] if found else line


def _code(source: str, spot: Spot) -> str:
    """Return the wrong code: the marked part of the first line, or the line."""
    lines = source.split("\n")
    line = without_comment(lines[spot.line - 1] if spot.line <= len(lines) else spot.source)
    if spot.column is None or spot.end_column is None or spot.why == "omitted":
        return line
    return line[spot.column - 1 : spot.end_column - 1 if spot.end_line == spot.line else None]


def _structure(code: str) -> str:
    """Code in which names of variables and spaces make no difference."""
    return "".join(_VARIABLE.sub("v", code).split())


def _nothing_there(result: Result) -> bool:
    """Return whether a test failed because the file could not be loaded, or has not what it looks for."""
    missing = result.message.startswith("There is no ") or "ot written yet" in result.message
    return result.name in ("load", "rules") or missing


def collect(book: Gradebook, names: Names, uses: Mapping[int, Sequence[Use]]) -> Examples:
    """Look through stored reports.

    Args:
        book: the gradebook.
        names: of the students.
        uses: by number of a grading, the attempts that it is of.
    """
    named, unnamed = _Groups(names), _Groups(names)
    messages: dict[tuple[str, ...], str] = {}
    for row in book.all(
        "SELECT g.id, g.exercise, g.report, f.content FROM gradings g JOIN sources f USING (sha256) "
        "WHERE g.report IS NOT NULL AND NOT g.passed ORDER BY g.id"
    ):
        if row["id"] not in uses:
            continue
        grade, source = read_grade(row["report"]), read_source(row["content"])
        for mistake in grade.mistakes:
            named.add((row["exercise"], mistake.id), mistake.where, source, uses[row["id"]])
        for result in grade.results:
            if result.status == "failed" and not result.mistakes and not _nothing_there(result):
                what = (row["exercise"], result.name, result.title)
                messages.setdefault(what, clean(names.hide(result.message), 400))
                unnamed.add(what, result.where, source, uses[row["id"]])
    return Examples(
        {(what[0], what[1]): named.of(what) for what in named.kinds()},
        sorted(
            (
                Unnamed(what[0], what[1], what[2], messages[what], one.files, one.students, one)
                for what in unnamed.kinds()
                for one in unnamed.of(what)
            ),
            key=lambda one: (-one.students, one.exercise, one.test),
        ),
    )
