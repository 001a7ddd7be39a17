"""Code that stands twice, and what one copy has otherwise."""

from __future__ import annotations

import pytest

from grader.edits.code import Code
from grader.edits.copies import MOST_STATEMENTS, Copies
from grader.edits.edits import Edits
from grader.edits.parsed import nodes_of
from tests.grader.edits.tried import is_python, lines, plain

TWICE = """
def run(self, x, y, mask, step):
    if self.training:
        q = self.first(x)
        q = q + self.a
        q = q.relu()
        assert q.shape == x.shape
        k = self.second(y)
        k = k + self.b
        assert k.shape == y.shape
        rate = x * step
    else:
        u = self.first(x)
        u = drop(u)
        u = u + x
        v = self.second(y)
        v = v + y
        v = drop(v)
        rate = x * mask
    return rate
"""


def tried(text: str) -> dict[int, set[str]]:
    """By line, all files in which it is as in a copy."""
    copies, found = Copies(Code(text)), dict[int, set[str]]()
    for node in nodes_of(Code(text).tree):
        for line, new in copies.of(node):
            assert is_python(new), new
            found.setdefault(line, set()).add(plain(new))
    return found


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (9, "k = k + self.b", "k = k + self.b\n        k = k.relu()"),  # as after `q + self.a`
        (6, "q = q.relu()", "pass"),
        (18, "v = v + y\n        v = drop(v)", "v = drop(v)\n        v = v + y"),
        (11, "rate = x * step", "rate = x * mask"),
    ],
)
def test_one_copy_is_made_like_the_other(line: int, old: str, new: str) -> None:
    assert plain(TWICE.replace(old, new)) in tried(TWICE)[line]


def test_what_is_not_known_there_is_not_put_there() -> None:
    other = "def other(self, x, y, mask):\n    if x:\n"
    apart = TWICE.replace("x, y, mask, step):", "x, y, step):").replace("    else:\n", other)
    for text, count in ((TWICE, 2), (apart, 1)):
        assert max(new.count("x * mask") for some in tried(text).values() for new in some) == count


def test_long_files_have_no_copies() -> None:
    body = "    x = x + 1\n    y = x * 2\n" * MOST_STATEMENTS
    assert tried(f"def run(x):\n{body}    return y\n") == {}


def test_items_go_through_the_same_call() -> None:
    text = "def run(self, x, y):\n    return [split(self.q(x)), self.k(y), self.v(x)]\n"
    assert plain(text.replace("self.k(y)", "split(self.k(y))")) in _all(text, 2)
    assert plain(text.replace("split(self.q(x))", "self.q(x)")) in _all(text, 2)


ROUNDS = """
def run(rows, bias):
    best = float("-inf")
    out = 0
    for row in rows:
        if row == 0:
            continue
        out = out + row
        out = out + bias
        best = max(best, row)
    return out, best
"""


def test_what_belongs_in_a_loop_or_after_it() -> None:
    inside = ROUNDS.replace('    best = float("-inf")\n', "").replace(
        "rows:\n", 'rows:\n        best = float("-inf")\n'
    )
    assert plain(inside) in _all(ROUNDS, 3)
    after = ROUNDS.replace("        out = out + bias\n", "").replace(
        "    return", "    out = out + bias\n    return"
    )
    assert plain(after) in _all(ROUNDS, 9)
    assert "pass" in lines(ROUNDS, 6)


def _all(text: str, line: int) -> list[str]:
    return [plain(new) for _, new in Edits(text).among([line], []) if is_python(new)]


def test_a_name_that_was_left_as_it_was_is_changed_as_the_others_are() -> None:
    text = (
        "def f(k, v, old_k, old_v):\n    k_all = cat([old_k, k])\n    v_all = cat([old_k, v])\n"
        "    return k_all, v_all, old_v\n"
    )
    assert plain(text.replace("[old_k, v]", "[old_v, v]")) in tried(text)[3]
    own = (
        "def f(self, x, y):\n    x = self.norm1(x + self.drop1(x))\n    y = self.norm2(y + self.drop1(y))\n"
        "    return self.drop2(x)\n"
    )
    assert plain(own.replace("self.drop1(y)", "self.drop2(y)")) in tried(own)[3]
