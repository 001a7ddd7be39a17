"""Whole processes: start-up of the command line, and a grade."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from grader.catalog import get_exercises
from tests import ROOT, solution_file
from tests.bench.measure import Action, Benchmark, all_seconds, process

BARE = "import click, pluggy, tabulate"
TORCH = "import torch; torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])"
NO_TORCH = """
import sys
from zoo.cli import main
sys.argv = ["zoo", {argument!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert "torch" not in sys.modules, "torch was imported"
"""


WRONG = {
    "known": ("attention", " / math.sqrt(query.size(-1))", ""),
    "unknown": ("attention", "math.sqrt(query.size(-1))", "math.log(2 + query.size(-1))"),
    "decoder": ("decoder", "x, memory, memory, src_mask", "x, memory, memory, tgt_mask"),
}
"""Wrong files: an exercise, and what is replaced in its solution. `unknown`: no known mistake, not even two."""


def zoo(*arguments: str, code: int = 0) -> Action:
    """The command as people start it, which ends with `code`."""
    return process([str(Path(sys.executable).parent / "zoo"), *arguments], cwd=ROOT, code=code)


def python(code: str) -> Action:
    """A bare process that runs `code`."""
    return process([sys.executable, "-c", code], cwd=ROOT)


def start(argument: str) -> tuple[Action, Action]:
    """`zoo ARGUMENT` against the imports it cannot do without; first, that it imports no torch."""
    subprocess.run(
        [sys.executable, "-c", NO_TORCH.format(argument=argument)],
        check=True,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    return zoo(argument), python(BARE)


def grade(exercise: str) -> tuple[Action, Action]:
    """A grade without the training test, against a process that any grade would need."""
    return zoo("grade", f"grader/exercises/{exercise}/solution.py", "--skip", "training"), python(TORCH)


def grade_wrong(exercise: str, old: str, new: str) -> tuple[Action, Action]:
    """As `grade`, of the solution with a mistake."""
    text = solution_file(exercise).read_text(encoding="utf-8")
    if old not in text:
        raise ValueError(f"The solution of {exercise} has no {old!r}.")

    def action() -> None:
        with tempfile.TemporaryDirectory(prefix="zoo-bench-") as folder:
            file = Path(folder) / f"{exercise}.py"
            file.write_text(text.replace(old, new), encoding="utf-8")
            zoo("grade", str(file), "--exercise", exercise, "--skip", "training", code=1)()

    return action, python(TORCH)


BENCHMARKS = (
    Benchmark("help", f"zoo --help / {BARE}", 2.0, 15, partial(start, "--help"), all_seconds),
    Benchmark("list", f"zoo list / {BARE}", 2.0, 15, partial(start, "list"), all_seconds),
    *(
        Benchmark(
            f"grade-{one.name}",
            f"zoo grade grader/exercises/{one.name}/solution.py --skip training / import torch and build one optimizer",
            1.6,
            5,
            partial(grade, one.name),
            all_seconds,
        )
        for one in get_exercises().values()
    ),
    *(
        Benchmark(
            f"grade-wrong-{name}",
            f"zoo grade of the solution of {exercise} with `{new}` for `{old}`, --skip training / import torch and "
            "build one optimizer",
            2.5,
            5,
            partial(grade_wrong, exercise, old, new),
            all_seconds,
        )
        for name, (exercise, old, new) in WRONG.items()
    ),
)
