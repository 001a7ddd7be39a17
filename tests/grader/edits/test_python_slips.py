"""What goes wrong in Python and not in mathematics, tried early."""

from __future__ import annotations

import pytest

from grader.edits.edits import Edits
from tests.grader.edits.tried import is_python, plain

TEXT = """
class Place(str, Enum):
    PRE = "pre"

class Rows:
    total: float

    @property
    def score(self):
        return self.total

    def train(self, mode=True):
        self.rate = 0
        return self

    def extend(self, key):
        Rows.length += 1

def guarded(convert):
    def inner(mask, *args, **kwargs):
        return convert(mask, *args)
    return inner

def step(a, b):
    measured = 0
    def run():
        loss = a
        measured = loss
    run()
    for one, other in zip(a, b):
        run()
    if a.place == "pre":
        return copy.copy(a)
    return max(measured, key=attrgetter("total"))
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        return self\n", "        super().train(mode)\n        return self\n"),
        ("Rows.length += 1", "self.length += 1"),
        ("convert(mask, *args)", "convert(mask, *args, **kwargs)"),
        ("        loss = a\n", "        nonlocal measured\n        loss = a\n"),
        ('a.place == "pre"', "a.place.value == 'pre'"),
        ("copy.copy(a)", "copy.deepcopy(a)"),
        ('attrgetter("total")', "attrgetter('score')"),
    ],
)
def test_it_is_tried_in_its_line(old: str, new: str) -> None:
    line = TEXT[: TEXT.index(old)].count("\n") + 1
    edits = Edits(TEXT)
    found = {
        plain(text)
        for at, text in (*edits.wired(), *edits.among([line], []))
        if at == line and is_python(text)
    }
    assert plain(TEXT.replace(old, new, 1)) in found
