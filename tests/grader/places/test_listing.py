"""What each line of a file computed."""

from __future__ import annotations

import torch

from grader.engine.local import LocalSubmission
from grader.places.alignment import RightValues
from grader.places.listing import notes

SOURCE = """import torch


def total(x, names):
    for step in range(5):
        y = torch.ones(step + 1) + x
    z, w = y * 2, None
    ids = torch.tensor([1, 2])
    label = "a" * 100
    half = 0.1234567
    return helper(z), ids


def helper(z):
    return z.sum()


def one(x):
    return (x + 1).double().sum()
"""


def listed(name: str, *args: object, names: RightValues | None = None) -> dict[int, tuple[str, ...]]:
    submission = LocalSubmission.from_source(SOURCE, filename="file.py")
    function = submission.function(name)
    submission.record()
    function.call(args)
    return {line: note.values for line, note in notes(submission.recorded(), names).items()}


def test_each_line_has_what_it_made() -> None:
    found = listed("total", torch.zeros(1), [1, 2])
    assert found[4] == ("x [1]", "names [1, 2]")
    assert found[6] == ("y [1], ..., [5]",)
    assert found[7] == ("z [5]", "w None")
    assert found[8] == ("ids [2] int64",)
    assert found[9] == (f"label '{'a' * 23}...",)
    assert found[10] == ("half 0.123457",)
    assert found[11] == ("returns ([], [2] int64)",)
    assert found[15] == ("returns []",)


def test_right_values_have_their_names() -> None:
    x, names = torch.tensor([1.5, 2.5, 7.0]), RightValues()
    names.add("the input", x)
    names.add("the sum", (x + 1).double())
    found = listed("one", x, names=names)
    assert found[18] == ("x [3] = the input",)
    assert found[19] == ("returns [] float64",)


def test_a_line_that_runs_often_says_so() -> None:
    submission = LocalSubmission.from_source(SOURCE, filename="file.py")
    function = submission.function("one")
    submission.record()
    for _ in range(3):
        function.call([torch.zeros(2)])
    assert notes(submission.recorded())[19].times == 3
