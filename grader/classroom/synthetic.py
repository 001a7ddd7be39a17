"""Classes that do not exist: files in the layouts of platforms, for trying `zoo class` and for its tests.

Right files are the shipped solutions, rewritten without changing what they compute. Wrong files have a known
mistake as an edit of the source. Some are broken, unwritten or hostile, and some students hand in a copy of another
one's file with other names and comments. Everything follows from the seed.
"""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from grader.catalog import Exercise, get_exercise
from grader.classroom.restyling import disguised, helpers, restyled
from zoo.core.errors import ZooError

LAYOUTS = ("folders", "flat", "moodle", "canvas", "gradescope")
EXERCISES = ("masks", "positions", "norm", "feedforward", "loss", "attention")
_FIRST = (
    "Ada",
    "Ben",
    "Chen",
    "Dana",
    "Émile",
    "Fatima",
    "Hana",
    "Jürgen",
    "Kofi",
    "Mei",
    "Omar",
    "Priya",
    "Søren",
)
_LAST = (
    "Abe",
    "Brandt",
    "Costa",
    "Diaz",
    "Evans",
    "García",
    "Haddad",
    "Ito",
    "Khan",
    "Müller",
    "Okafor",
    "Rossi",
)

EDITS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "masks": (
        ("inverted padding", "tokens != pad", "tokens == pad"),
        ("future allowed", ".tril()", ".triu()"),
        ("shape without heads", "[:, None, None, :]", "[:, None, :]"),
        ("no padding in the decoder", " & padding_mask(tokens, pad)", ""),
        ("additive inverted", "masked_fill(~mask,", "masked_fill(mask,"),
        ("large negative", "-torch.inf", "-1e9"),
    ),
    "attention": (
        ("no scale", " / math.sqrt(query.size(-1))", ""),
        ("scale without root", "math.sqrt(query.size(-1))", "query.size(-1)"),
        ("mask inverted", "masked_fill(~keep, torch", "masked_fill(keep, torch"),
        ("softmax over queries", "scores.softmax(dim=-1)", "scores.softmax(dim=-2)"),
        (
            "heads not transposed back",
            "heads.transpose(1, 2).flatten(2)",
            "heads.reshape(query.size(0), query.size(1), -1)",
        ),
        ("dropout left out", "self.dropout(weights) @ v", "weights @ v"),
    ),
    "norm": (
        ("unbiased variance", "centred.square().mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True)"),
        ("no eps", "torch.rsqrt(variance + self.eps)", "torch.rsqrt(variance)"),
        ("eps outside the root", "torch.rsqrt(variance + self.eps)", "1 / (torch.sqrt(variance) + self.eps)"),
        ("no mean", "wide - wide.mean(dim=-1, keepdim=True)", "wide"),
        (
            "no residual",
            "x + self.dropout(self.sublayer(self.norm(x)",
            "self.dropout(self.sublayer(self.norm(x)",
        ),
    ),
    "positions": (
        ("sine and cosine swapped", "angle.sin()", "angle.cos()"),
        ("wrong base", "10000 **", "1000 **"),
        ("one position too far", "self.table[: x.size(1)]", "self.table[1 : x.size(1) + 1]"),
        (
            "learned table is fixed",
            "nn.Parameter(0.02 * torch.randn(max_len, d_model))",
            "0.02 * torch.randn(max_len, d_model)",
        ),
    ),
    "feedforward": (
        ("no activation", "self.up(x).relu()", "self.up(x)"),
        ("GELU", "self.up(x).relu()", "nn.functional.gelu(self.up(x))"),
        ("no dropout", "self.dropout(self.up(x).relu())", "self.up(x).relu()"),
    ),
    "loss": (
        ("padding counts", "ignore_index=pad,", ""),
        ("smoothing left out", "label_smoothing=smoothing,", ""),
        ("not shifted", "[torch.full_like(target[:, :1], sos), target[:, :-1]]", "[target]"),
        ("sum, not mean", "ignore_index=pad,", "ignore_index=pad, reduction='sum',"),
    ),
}
"""By exercise: name of the mistake, text of the solution, and what is written instead."""

HOSTILE = (
    "while True:\n    pass\n",
    "import os\nos._exit(0)\n",
    "import os\nopen(os.path.expanduser('~/.bashrc'), 'a').write('# here')\n",
    "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()\nf()\n",
    "x = []\nwhile True:\n    x.append(bytearray(10**8))\n",
    "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)\n",
    "import subprocess\nsubprocess.run(['kill', '-9', '-1'])\n",
)
BROKEN = (
    "",
    "def f(:\n",
    "\0\1\2",
    "import not_a_module_of_anybody\n",
    "print('hello')\n",
    "x = 1/0\n",
    "# \xff\n",
)


_LOADED = ("right", "wrong")
OWN = 0.4  # share of the files that have code of their own beside the exercise's


@dataclass(frozen=True)
class Entry:
    """One file of a class, and the truth about it.

    Attributes:
        path: below the folder of submissions.
        student: its login; `name` is the full name.
        exercise, attempt: which.
        kind: "right", "wrong", "unwritten", "broken" or "hostile".
        edits: names of the mistakes that were put into it.
        text: what is written.
        copied_from: the path of another student's file that this one is a disguised copy of, or "".
    """

    path: str
    student: str
    name: str
    exercise: str
    attempt: int
    kind: str
    edits: tuple[str, ...]
    text: str
    copied_from: str = ""


@dataclass(frozen=True)
class Written:
    """The files that were written.

    Attributes:
        folder: of the submissions.
        roster: the CSV file of the students.
        truth: a CSV file that says of each submission what it is; see `Entry`.
        kinds: how many files of each kind.
        copies: how many files are copies of another student's.
    """

    folder: Path
    roster: Path
    truth: Path
    kinds: dict[str, int]
    copies: int


def write_class(
    folder: Path,
    *,
    students: int,
    seed: int = 0,
    layout: str = "folders",
    exercises: Sequence[str] = EXERCISES[:1],
    attempts: int = 1,
    hostile: float = 0.02,
    broken: float = 0.05,
    copied: float = 0.03,
) -> Written:
    """Write a class's submissions to `folder`/submissions, its roster to `folder`/roster.csv, and to
    `folder`/truth.csv what each file is.

    Args:
        folder: must not exist, or be empty.
        students: how many.
        seed: everything drawn follows from it.
        layout: one of `LAYOUTS`.
        exercises: what each student hands in.
        attempts: at most so many of each student for each exercise.
        hostile, broken: shares of such files.
        copied: share of the students who hand in, at last, another student's file with other names and comments.

    Raises:
        ZooError: the folder has something in it, or cannot be written.
    """
    if layout not in LAYOUTS:
        raise ZooError(f"There is no layout '{layout}'. Known: {', '.join(LAYOUTS)}.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ZooError(f"'{folder}' exists and is not an empty folder.")
    draw = random.Random(seed)
    sources = [_Sources(get_exercise(name)) for name in exercises]
    entries: list[Entry] = []
    people: list[tuple[str, str]] = []
    for number in range(students):
        first, last = draw.choice(_FIRST), draw.choice(_LAST)
        people.append((first, last))
        for source in sources:
            fixed = draw.random() < 0.6  # in the last attempt
            tries = draw.randint(1, attempts)
            for attempt in range(1, tries + 1):
                kind, edits, text = source.draw(draw, hostile, broken, fixed and attempt == tries)
                name, login = f"{first} {last}", f"s{number:05d}"
                path = _path(layout, name, login, number, source.exercise.file, attempt, tries)
                entries.append(Entry(path, login, name, source.exercise.name, attempt, kind, edits, text))
    entries = _with_copies(entries, random.Random(f"copies {seed}"), copied)
    return _write(folder, layout, people, entries)


def _write(folder: Path, layout: str, people: Sequence[tuple[str, str]], entries: Sequence[Entry]) -> Written:
    """Write the files. Raises ZooError if the folder cannot be written."""
    place, roster, truth = folder / "submissions", folder / "roster.csv", folder / "truth.csv"
    try:
        place.mkdir(parents=True)
        for one in entries:
            target = place / one.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(one.text.encode("latin-1" if "\xff" in one.text else "utf-8"))
        if layout == "gradescope":
            (place / "submission_metadata.yml").write_text(_metadata(people), encoding="utf-8")
        roster.write_text(_table(_roster(people)), encoding="utf-8", newline="")
        truth.write_text(_table(_truth(entries)), encoding="utf-8", newline="")
    except OSError as error:
        raise ZooError(f"'{folder}' cannot be written: {error.strerror}.") from error
    kinds = Counter(one.kind for one in entries)
    return Written(
        place, roster, truth, dict(sorted(kinds.items())), sum(bool(one.copied_from) for one in entries)
    )


def _with_copies(entries: Sequence[Entry], draw: random.Random, share: float) -> list[Entry]:
    """Give some files code of their own, and replace the last attempts of some students by copies of others'."""
    own: dict[tuple[str, str], str] = {}
    found = []
    for one in entries:
        key = one.student, one.exercise
        if key not in own:
            own[key] = helpers(draw) if draw.random() < OWN else ""
        found.append(replace(one, text=one.text + own[key]) if one.kind in _LOADED else one)
    for exercise in dict.fromkeys(one.exercise for one in entries):
        last = {one.student: place for place, one in enumerate(found) if one.exercise == exercise}
        count = round(share * len(last))
        originals = [
            place for key, place in last.items() if found[place].kind in _LOADED and own[key, exercise]
        ]
        count = min(count, len(originals), len(last) - len(originals))
        others = [place for place in last.values() if place not in originals]
        for copier, original in zip(draw.sample(others, count), draw.sample(originals, count), strict=True):
            of = found[original]
            text = disguised(of.text, draw)
            found[copier] = replace(
                found[copier], kind=of.kind, edits=of.edits, text=text, copied_from=of.path
            )
    return found


def _table(rows: Iterable[Sequence[object]]) -> str:
    table = io.StringIO(newline="")
    csv.writer(table).writerows(rows)
    return table.getvalue()


def _roster(people: Sequence[tuple[str, str]]) -> Iterator[Sequence[object]]:
    """As Canvas exports it."""
    yield "Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Email"
    for number, (first, last) in enumerate(people):
        login = f"s{number:05d}"
        yield f"{last}, {first}", 10_000 + number, f"S{number}", login, "A", f"{login}@uni.example"


def _truth(entries: Iterable[Entry]) -> Iterator[Sequence[object]]:
    yield "path", "student", "name", "exercise", "attempt", "kind", "mistakes", "copied_from"
    for one in entries:
        yield (
            *(one.path, one.student, one.name, one.exercise, one.attempt, one.kind),
            *("; ".join(one.edits), one.copied_from),
        )


def _metadata(people: Sequence[tuple[str, str]]) -> str:
    """As Gradescope exports it."""
    return "---\n" + "".join(
        f"submission_{10_000 + number}:\n  :submitters:\n  - :name: {first} {last}\n    :sid: 'S{number}'\n"
        f"    :email: s{number:05d}@uni.example\n"
        f"  :created_at: 2026-03-0{1 + number % 5} 12:00:00.000000000 Z\n  :score: 0.0\n"
        for number, (first, last) in enumerate(people)
    )


def _path(layout: str, name: str, login: str, number: int, file: str, attempt: int, tries: int) -> str:
    stem = file.removesuffix(".py")
    again = f"-{attempt}" if attempt > 1 else ""
    if layout == "flat":
        return f"{login}_{stem}{again}.py"
    if layout == "moodle":
        return f"{name}_{20_000 + number}_assignsubmission_file_/{stem}{again}.py"
    if layout == "canvas":
        plain = "".join(c for c in "".join(reversed(name.split())) if c.isalnum()).lower()
        return f"{plain}_{10_000 + number}_{900_000 + 10 * number + attempt}_{stem}{again}.py"
    if layout == "gradescope":
        return f"submission_{10_000 + number}/{stem}{again}.py"
    return f"{login}/attempt{attempt}/{file}" if tries > 1 else f"{login}/{file}"


class _Sources:
    """Files for one exercise."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self._solution = (resources.files(exercise.package) / "solution.py").read_text(encoding="utf-8")
        self._edits = [edit for edit in EDITS.get(exercise.name, ()) if edit[1] in self._solution]

    def draw(
        self, draw: random.Random, hostile: float, broken: float, fixed: bool
    ) -> tuple[str, tuple[str, ...], str]:
        """A kind, the names of the edits, and a file of it."""
        luck = draw.random()
        if luck < hostile:
            return "hostile", (), draw.choice(HOSTILE)
        if luck < hostile + broken:
            return "broken", (), draw.choice(BROKEN)
        if luck < hostile + broken + 0.03:
            return "unwritten", (), self.exercise.template_text()
        if fixed or not self._edits or luck > 0.6:
            return "right", (), restyled(self._solution, draw)
        text = self._solution
        edits = draw.sample(self._edits, draw.choice((1, 1, 1, 2)))
        for _name, old, new in edits:
            text = text.replace(old, new)
        return "wrong", tuple(name for name, _old, _new in edits), restyled(text, draw)
