"""The place of a mistake that a file's own test meets while the file is loaded."""

from __future__ import annotations

import pytest

from grader.author.matrix import WITHOUT_TRAINING
from grader.catalog import get_exercise
from grader.engine.local import LocalSubmission
from grader.run.session import Session
from tests import solution_file
from tests.grader.places.placed import line_of

OWN_TEST = """
import torch

x = torch.ones(2, 3, 4)
made = FeedForward(4, 8)
y = made(x)
assert y.shape == x.shape
print(y.sum())
"""


def shown(text: str) -> set[int]:
    """The lines that the failure to load the file shows."""

    def opened(changed: str = text) -> LocalSubmission:
        return LocalSubmission.from_source(changed, filename="feedforward.py")

    first, *rest = Session(get_exercise("feedforward"), opened, source=text, seed=1, open_changed=opened).run(
        WITHOUT_TRAINING
    )
    assert (first.name, first.status) == ("load", "failed")
    assert {one.status for one in rest} == {"skipped"}
    assert first.where is not None
    return {line for line in (first.where.line, first.where.other) if line}


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("nn.Linear(d_ff, d_model)", "nn.Linear(d_ff, d_ff)", "self.down ="),  # the assertion fails
        ("nn.Linear(d_ff, d_model)", "nn.Linear(d_model, d_ff)", "self.down ="),  # what it calls raises
        ("y = made(x)", "y = made(x, x)", "y = made"),  # the test itself is wrong,
        ("y.shape == x.shape", "y.shape == x", "assert y.shape"),  # or this part of it
        ('"""', '1 / 0\n"""', "1 / 0"),  # no test
    ],
)
@pytest.mark.sampled(3)
def test_the_line_behind_a_failed_test_of_its_own_is_shown(old: str, new: str, part: str) -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8") + OWN_TEST
    wrong = text.replace(old, new, 1)
    assert wrong != text
    assert line_of(wrong, part) in shown(wrong)


def test_what_raises_and_is_needed_has_its_own_line() -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8")
    wrong = text.replace("class FeedForward(nn.Module)", "class FeedForward(nm.Module)")
    assert shown(wrong) == {line_of(wrong, "nm.Module")}


def test_what_is_not_defined_because_it_raises_is_not_blamed() -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8")
    wrong = text.replace("nn.Linear(d_ff, d_model)", "nn.Linear(d_ff, LARGE)") + "\nLARGE = int('x')\n"
    assert line_of(wrong, "int('x')") in shown(wrong)
