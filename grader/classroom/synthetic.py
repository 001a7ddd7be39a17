"""Classes that do not exist: files in the layouts of platforms, for trying `zoo class` and for its tests.

Right files are the shipped solutions, rewritten without changing what they compute. Wrong files have a known
mistake as an edit of the source. Some are broken, unwritten or hostile. Everything follows from the seed.
"""

from __future__ import annotations

import ast
import builtins
import csv
import io
import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from grader.catalog import Exercise, get_exercise
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


@dataclass(frozen=True)
class Written:
    """What was written: how many files of each kind."""

    folder: Path
    roster: Path
    kinds: dict[str, int]


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
) -> Written:
    """Write a class's submissions to `folder`/submissions, and its roster to `folder`/roster.csv.

    Args:
        folder: must not exist, or be empty.
        students: how many.
        seed: everything drawn follows from it.
        layout: one of `LAYOUTS`.
        exercises: what each student hands in.
        attempts: at most so many of each student for each exercise.
        hostile, broken: shares of such files.

    Raises:
        ZooError: the folder has something in it, or cannot be written.
    """
    if layout not in LAYOUTS:
        raise ZooError(f"There is no layout '{layout}'. Known: {', '.join(LAYOUTS)}.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ZooError(f"'{folder}' exists and is not an empty folder.")
    draw = random.Random(seed)
    kinds: dict[str, int] = {}
    sources = [_Sources(get_exercise(name)) for name in exercises]
    place = folder / "submissions"
    metadata = []
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Email"]]
    try:
        place.mkdir(parents=True)
        for number in range(students):
            first, last = draw.choice(_FIRST), draw.choice(_LAST)
            name = f"{first} {last}"
            login = f"s{number:05d}"
            rows.append(
                [f"{last}, {first}", str(10_000 + number), f"S{number}", login, "A", f"{login}@uni.example"]
            )
            for source in sources:
                fixed = draw.random() < 0.6  # in the last attempt
                tries = draw.randint(1, attempts)
                for attempt in range(1, tries + 1):
                    kind, text = source.draw(draw, hostile, broken, fixed and attempt == tries)
                    kinds[kind] = kinds.get(kind, 0) + 1
                    path = place / _path(layout, name, login, number, source.exercise.file, attempt, tries)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(text.encode("latin-1" if "\xff" in text else "utf-8"))
            metadata.append(
                f"submission_{10_000 + number}:\n  :submitters:\n  - :name: {name}\n    :sid: 'S{number}'\n"
                f"    :email: {login}@uni.example\n  :created_at: 2026-03-0{1 + number % 5} 12:00:00.000000000 Z\n"
                "  :score: 0.0\n"
            )
        if layout == "gradescope":
            (place / "submission_metadata.yml").write_text("---\n" + "".join(metadata), encoding="utf-8")
        table = io.StringIO(newline="")
        csv.writer(table).writerows(rows)
        roster = folder / "roster.csv"
        roster.write_text(table.getvalue(), encoding="utf-8", newline="")
    except OSError as error:
        raise ZooError(f"'{folder}' cannot be written: {error.strerror}.") from error
    return Written(place, roster, dict(sorted(kinds.items())))


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

    def draw(self, draw: random.Random, hostile: float, broken: float, fixed: bool) -> tuple[str, str]:
        """A kind, and a file of it."""
        luck = draw.random()
        if luck < hostile:
            return "hostile", draw.choice(HOSTILE)
        if luck < hostile + broken:
            return "broken", draw.choice(BROKEN)
        if luck < hostile + broken + 0.03:
            return "unwritten", self.exercise.template_text()
        if fixed or not self._edits or luck > 0.6:
            return "right", restyled(self._solution, draw)
        text = self._solution
        for _name, old, new in draw.sample(self._edits, draw.choice((1, 1, 1, 2))):
            text = text.replace(old, new)
        return "wrong", restyled(text, draw)


def restyled(source: str, draw: random.Random) -> str:
    """The same program written in another way: other names of local variables, no comments, other line breaks."""
    tree = ast.parse(source)
    if draw.random() < 0.5:
        tree = _Bare().visit(tree)
    if draw.random() < 0.7:
        tree = _Renamed(draw.choice(("_", "1", "_t", "_new"))).visit(tree)
    if draw.random() < 0.3:
        tree.body.append(ast.parse("if __name__ == '__main__':\n    print('ok')").body[0])
    text = ast.unparse(ast.fix_missing_locations(tree)) if draw.random() < 0.8 else source
    return f"# attempt {draw.randrange(10**6)}\n{text}\n"


class _Bare(ast.NodeTransformer):
    """Without docstrings."""

    def _strip(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        body = getattr(node, "body", [])
        if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            node.body = body[1:]  # type: ignore[attr-defined]
        return node

    visit_FunctionDef = visit_ClassDef = visit_Module = _strip


class _Renamed(ast.NodeTransformer):
    """With another ending on the names that functions give to their local variables."""

    def __init__(self, ending: str) -> None:
        self._ending = ending
        self._local: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        given = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        stored = {
            one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        before, self._local = self._local, stored - given - set(dir(builtins))
        self.generic_visit(node)
        self._local = before
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._local:
            node.id += self._ending
        return node
