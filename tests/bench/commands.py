"""Whole processes: start-up of the command line, and a grade."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from grader.catalog import get_exercises
from tests import ROOT
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


def zoo(*arguments: str) -> Action:
    """The command as people start it."""
    return process([str(Path(sys.executable).parent / "zoo"), *arguments], cwd=ROOT)


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
)
