"""Files of different students that have much of their code in common, found by copydetect (winnowing).

Files are compared as text: names of variables, functions and strings, comments and spaces do not count. Neither does
what is also in the template, in the shipped solution, or in the files of a tenth of the class. Nothing of a submission
is imported or run.

Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003.
"""

from __future__ import annotations

import csv
import importlib
import io
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy

from grader.catalog import get_exercises
from grader.classroom.gradebook import Gradebook
from grader.classroom.names import Names
from grader.classroom.stored import read_source
from zoo.core.errors import ZooError
from zoo.core.files import write_whole

THRESHOLD = 0.65
"""Share of a file's own code from which a pair is listed. The right files of tests/grader/right/, which are written in
different styles, stay below it in ten of twelve exercises; in the other two, some share whole functions."""
RUN = 25  # characters of code without names that must be equal in a row; copydetect's own choice
LEAST = 150  # characters of a file's own code, below which nothing is said about it
LEAST_SHARE = 0.25  # of the file, the same
COMMON, COMMON_SHARE = 10, 0.1  # students, share of them: code that more of them have is nobody's own
MOST = 100_000  # characters of a file that is compared

LIMITS = (
    "A high share shows equal code, not who copied from whom, or that anybody did: an exercise has few right answers, "
    "and students may have one common source.",
    "Short exercises say little: what is left beside the template is a few lines that most people write alike.",
    "A low share proves nothing: code that was reordered, rewritten or translated is not found. Renamed variables and "
    "other comments are.",
    f"Code that more than {COMMON} students and a tenth of the class have in common does not count: a solution that "
    "goes round in the whole class is not found.",
    "Only students of this gradebook are compared, each with the newest attempt.",
)
"""What these numbers cannot show, in sentences."""


class NotInstalledError(ZooError):
    """The package that compares files is not there."""


@dataclass(frozen=True)
class Side:
    """One file of a pair.

    Attributes:
        student: number in the gradebook; `key` and `name` as they are shown (`Names.label`).
        path: of the submission; "" where names are hidden.
        share: how much of the file's own code is also in the other file, 0 to 1.
        lines: of the file, from 1, that are in common.
    """

    student: int
    key: str
    name: str
    path: str
    share: float
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Match:
    """Two files of different students that have much in common.

    Attributes:
        exercise: of both.
        share: the larger of both files' shares: who adds code to a copy does not lower it.
        same: the files are equal, character by character.
        first, second: the sides.
    """

    exercise: str
    share: float
    same: bool
    first: Side
    second: Side


@dataclass
class Similarity:
    """The result of a comparison.

    Attributes:
        matches: most similar first.
        threshold: share from which pairs are listed.
        compared: by exercise: files, and pairs of them.
        left_out: files that were not compared: exercise, name of the student, reason.
    """

    matches: list[Match]
    threshold: float
    compared: dict[str, tuple[int, int]] = field(default_factory=dict)
    left_out: list[tuple[str, str, str]] = field(default_factory=list)

    def as_object(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "threshold": self.threshold,
            "compared": [
                {"exercise": exercise, "files": files, "pairs": pairs}
                for exercise, (files, pairs) in self.compared.items()
            ],
            "pairs": [
                {
                    "exercise": one.exercise,
                    "share": one.share,
                    "same": one.same,
                    **{
                        side: {
                            "student": given.key,
                            "name": given.name,
                            "path": given.path,
                            "share": given.share,
                            "lines": list(given.lines),
                        }
                        for side, given in (("first", one.first), ("second", one.second))
                    },
                }
                for one in self.matches
            ],
            "left_out": [
                dict(zip(("exercise", "student", "reason"), one, strict=True)) for one in self.left_out
            ],
            "limits": list(LIMITS),
        }


@dataclass(frozen=True)
class _File:
    student: int
    exercise: str
    path: str
    sha256: str
    text: str
    stored: bool
    submitted_at: float | None


def compare(
    book: Gradebook,
    names: Names,
    *,
    exercise: str = "",
    threshold: float = THRESHOLD,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Similarity:
    """Compare the newest attempts of all students with each other, exercise by exercise.

    Args:
        book: the gradebook.
        names: of the students.
        exercise: this exercise only; "": all.
        threshold: least share of a pair that is listed, 0 to 1.
        progress: called with how many pairs of an exercise are done, and how many there are.

    Raises:
        NotInstalledError: copydetect is not there.
    """
    library = _library()
    found = Similarity([], threshold)
    for name, files in _newest(book, exercise).items():
        prints = _Prints(library, _known(name), files)
        own: list[_File] = []
        for file in files:
            reason = prints.reason_to_skip(file)
            if reason:
                found.left_out.append((name, names.label(file.student), reason))
            else:
                own.append(file)
        pairs = [pair for pair in combinations(own, 2) if not _together(*pair)]
        found.compared[name] = len(own), len(pairs)
        for done, (one, two) in enumerate(pairs, 1):
            match = prints.match(one, two, names, threshold)
            if match is not None:
                found.matches.append(match)
            if done % 500 == 0 or done == len(pairs):
                progress(done, len(pairs))
    found.matches.sort(
        key=lambda one: (
            *(-one.share, -min(one.first.share, one.second.share)),
            *(one.exercise, one.first.key, one.second.key),
        )
    )
    return found


def _library() -> Any:
    try:
        return importlib.import_module("copydetect")
    except ImportError as error:
        raise NotInstalledError(
            "Similarity needs the package copydetect. Install it: pip install 'transformer-zoo[similar]'. "
            "`--export DIR` works without it."
        ) from error


def _newest(book: Gradebook, exercise: str) -> Mapping[str, list[_File]]:
    """The newest attempt of each student, by exercise."""
    found: dict[str, list[_File]] = defaultdict(list)
    for row in book.all(
        "SELECT s.student, s.exercise, s.path, s.sha256, s.submitted_at, s.time_source, f.content FROM submissions s "
        "JOIN sources f USING (sha256) WHERE (:exercise = '' OR s.exercise = :exercise) AND s.attempt = "
        "(SELECT max(attempt) FROM submissions t WHERE t.student = s.student AND t.exercise = s.exercise) "
        "ORDER BY s.exercise, s.student",
        {"exercise": exercise},
    ):
        when = None if row["time_source"] == "file" else row["submitted_at"]
        found[row["exercise"]].append(
            _File(
                row["student"],
                row["exercise"],
                row["path"],
                row["sha256"],
                read_source(row["content"]),
                row["content"] is not None,
                when,
            )
        )
    return found


def _known(exercise: str) -> tuple[str, ...]:
    """The template and the solution of an exercise, as far as it still exists."""
    found = get_exercises().get(exercise)
    if found is None:
        return ()
    texts = [found.template_text()]
    solution = resources.files(found.package) / "solution.py"
    if solution.is_file():
        texts.append(solution.read_text(encoding="utf-8"))
    return tuple(texts)


def _together(one: _File, two: _File) -> bool:
    """Return whether two students handed in one file as a group: it has one path."""
    return (one.path, one.sha256) == (two.path, two.sha256)


class _Prints:
    """Fingerprints of the files of one exercise."""

    def __init__(self, library: Any, known: Sequence[str], files: Sequence[_File]) -> None:
        self._library = library
        self._known = sorted({number for text in known for number in self._print(text).hashes})
        self._numbers: dict[int, int] = {}  # fingerprints, numbered from 0
        self._places: dict[str, tuple[Any, Any]] = {}  # a file's fingerprints in order, and where they are
        self._last = "", numpy.zeros(0, dtype=bool)
        texts = {file.sha256: file.text for file in files if not _unreadable(file)}
        students = Counter(file.sha256 for file in files)
        first = {sha256: self._print(text, self._known) for sha256, text in texts.items()}
        having = Counter[int]()
        for sha256, one in first.items():
            having.update(dict.fromkeys(one.hashes, students[sha256]))
        most = max(COMMON, COMMON_SHARE * len(files))
        common = sorted(number for number, count in having.items() if count > most)
        if common:
            known_too = sorted({*self._known, *common})
            first = {sha256: self._print(text, known_too) for sha256, text in texts.items()}
        self._prints = first
        for sha256, one in first.items():
            pairs = sorted((place, number) for number, places in one.hash_idx.items() for place in places)
            numbers = [self._numbers.setdefault(number, len(self._numbers)) for _place, number in pairs]
            places = [place for place, _number in pairs]
            self._places[sha256] = numpy.array(numbers, numpy.int64), numpy.array(places, numpy.int64)

    def _print(self, text: str, known: Sequence[int] = ()) -> Any:
        # A window of 1 keeps every fingerprint: which ones a larger one keeps depends on Python's random hashes.
        return self._library.CodeFingerprint(
            "file.py", RUN, 1, boilerplate=known, language="python", fp=io.StringIO(text.strip("\n"))
        )

    def reason_to_skip(self, file: _File) -> str:
        """Why a file is not compared, or ""."""
        if reason := _unreadable(file):
            return reason
        own = int(self._prints[file.sha256].token_coverage)
        whole = len(self._prints[file.sha256].filtered_code)
        if own < max(LEAST, LEAST_SHARE * whole):
            return f"too little code of its own: {own} of {whole} characters"
        return ""

    def match(self, one: _File, two: _File, names: Names, threshold: float) -> Match | None:
        if max(self.shares(one, two)) < threshold:
            return None  # most pairs; the library takes thirty times as long to say so
        first, second = self._prints[one.sha256], self._prints[two.sha256]
        _overlap, shares, slices = self._library.compare_files(first, second)
        shares = [min(1.0, round(float(share), 4)) for share in shares]
        sides = [
            Side(
                file.student,
                names[file.student].key,
                names.label(file.student),
                names.path(file.path),
                share,
                _lines(file.text, where),
            )
            for file, share, where in zip((one, two), shares, slices, strict=True)
        ]
        return Match(one.exercise, max(shares), _plain(one.text) == _plain(two.text), sides[0], sides[1])

    def shares(self, one: _File, two: _File) -> tuple[float, float]:
        """The share of each file's own code that is in the other, as the library counts it."""
        (first, _), (second, _) = self._places[one.sha256], self._places[two.sha256]
        common = second[self._has(one)[second]]
        both = numpy.zeros(len(self._numbers), dtype=bool)
        both[common] = True
        return self._covered(one, both[first]), self._covered(two, both[second])

    def _has(self, one: _File) -> Any:
        """For each fingerprint, whether a file has it; kept for the next pair, which mostly has the same first file."""
        if self._last[0] != one.sha256 or len(self._last[1]) != len(self._numbers):
            has = numpy.zeros(len(self._numbers), dtype=bool)
            has[self._places[one.sha256][0]] = True
            self._last = one.sha256, has
        return self._last[1]

    def _covered(self, file: _File, common: Any) -> float:
        places = self._places[file.sha256][1][common]
        if not len(places):
            return 0.0
        covered = numpy.minimum(numpy.diff(places), RUN).sum() + RUN
        return float(covered / self._prints[file.sha256].token_coverage)


def _unreadable(file: _File) -> str:
    if not file.stored or len(file.text) > MOST:
        return f"more than {MOST:,} characters: look at it yourself"
    return "empty or not text" if "\0" in file.text or not file.text.strip() else ""


def _plain(text: str) -> str:
    return text.strip()


def _lines(text: str, slices: Any) -> tuple[int, ...]:
    """The lines of which at least half is in one of the slices, which count from the first character that is kept."""
    start = len(text) - len(text.lstrip("\n"))
    inside = bytearray(len(text))
    for begin, end in zip(*slices, strict=True):
        begin, end = int(begin) + start, min(int(end) + start, len(text))
        inside[begin:end] = b"\1" * (end - begin)
    found, place = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        written = [i for i, letter in enumerate(line, place) if not letter.isspace()]
        if written and 2 * sum(inside[i] for i in written) >= len(written):
            found.append(number)
        place += len(line) + 1
    return tuple(found)


def sources(book: Gradebook, names: Names, matches: Iterable[Match]) -> Mapping[tuple[int, str], str]:
    """The texts of the files of pairs, by student and exercise."""
    wanted = {(side.student, one.exercise) for one in matches for side in (one.first, one.second)}
    return {
        (file.student, name): names.hide(file.text)
        for name, files in _newest(book, "").items()
        for file in files
        if (file.student, name) in wanted
    }


BASE = "_template_and_solution"  # no student's folder begins with an underscore


def export(book: Gradebook, names: Names, folder: Path, exercise: str = "") -> Mapping[str, int]:
    """Write the newest attempts as Dolos and JPlag read them; how many, by exercise.

    folder/EXERCISE/submissions/STUDENT/FILE.py, folder/EXERCISE/submissions/_template_and_solution/FILE.py, and
    folder/EXERCISE/info.csv with the columns that Dolos documents. Raises OSError.
    """
    counts: dict[str, int] = {}
    file_names = names.files()
    for name, files in _newest(book, exercise).items():
        known = get_exercises().get(name)
        file_name = known.file if known is not None else f"{name}.py"
        place = folder / name
        rows = [("filename", "full_name", "label", "created_at")]
        for file in files:
            if not file.stored:
                continue
            target = place / "submissions" / file_names[file.student] / file_name
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, names.hide(file.text).encode())
            when = (
                ""
                if file.submitted_at is None
                else time.strftime("%Y-%m-%d %H:%M:%S +0000", time.gmtime(file.submitted_at))
            )
            person = names[file.student]
            rows.append(
                (target.relative_to(place).as_posix(), names.label(file.student), person.section, when)
            )
            counts[name] = counts.get(name, 0) + 1
        if name not in counts:
            continue
        base = place / "submissions" / BASE / file_name
        base.parent.mkdir(parents=True, exist_ok=True)
        write_whole(base, "\n\n".join(_known(name)).encode())
        table = io.StringIO(newline="")
        csv.writer(table).writerows(rows)
        write_whole(place / "info.csv", table.getvalue().encode())
    return counts


def commands(folder: Path, exercise: str) -> tuple[str, ...]:
    """The commands that compare an exported exercise with Dolos and with JPlag."""
    import shlex

    known = get_exercises().get(exercise)
    base = f"submissions/{BASE}"
    file = known.file if known is not None else f"{exercise}.py"
    return (
        f"cd {shlex.quote(str(folder / exercise))}",
        f"dolos run -l python -f web -i {base}/{file} info.csv",
        f"java -jar jplag.jar -l python3 -bc {base} submissions",
    )
