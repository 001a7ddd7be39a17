"""Lines that compute with an argument, wherever it gets to."""

from __future__ import annotations

import pytest

from grader.edits.source_tree import Source

FILE = """\
class Part:
    def __init__(self, width, share=0.0):
        super().__init__()
        self.share = share
        self.inner = Inner(width, share)

    def forward(self, x):
        if self.share == 0:
            return x
        rest = 1 - self.share
        return helper(x, by=self.share) * rest


class Inner:
    def __init__(self, width, p):
        self.drop = torch.nn.Dropout(p)


def helper(x, by):
    factor = by
    return x * factor
"""


@pytest.mark.parametrize(
    ("text", "component", "lines"),
    [
        (FILE, "Part", {10: set(), 16: set(), 21: {"x"}}),
        ("def f(x, share):\n    x /= share\n    return -share", "f", {2: {"x"}, 3: set()}),
        ("def f(x, share):\n    return f(x, share) if share > 1 else x", "f", {}),
        ("def f(x, share):\n    return x\n\ndef g(x, share):\n    return x * share", "f", {}),
        ("def f(x, *, share: float = 1):\n    y: float = share\n    return x ** y", "f", {3: {"x"}}),
    ],
)
def test_it_is_followed(text: str, component: str, lines: dict[int, set[str]]) -> None:
    found = Source(text).uses(component, "share")
    assert {one.line: set(one.beside) - {"torch"} for one in found} == lines


def test_options_are_arguments_with_a_float_for_a_default() -> None:
    assert Source(FILE).float_options("Part") == ["share"]
    text = "def f(x, n=2, *, p: float = 0.5, on=True):\n    pass\n"
    assert Source(text).float_options("f") == ["p"]
    assert Source(text).float_options("g") == []
