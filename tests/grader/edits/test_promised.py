"""What breaks a promise of a name, or of None, is undone by a change of its line."""

from __future__ import annotations

import pytest

from grader.edits.edits import Edits
from tests.grader.edits.tried import plain, texts_of

RIGHT = "class A:\n    def f(self, x, memory, mask=None):\n        return x\n\n\ndef g(a, b):\n    return a\n"
CASES = {
    "an attribute of another argument": (
        "class A:\n    def __init__(self, rows, columns):\n        self.rows = columns\n", "= columns", "= rows",
    ),
    "an attribute of a number": (
        "class A:\n    def __init__(self, rows):\n        self.rows = 4\n", "= 4", "= rows",
    ),
    "the second of several": (
        "def f(q, k, v):\n    q, k, v = g(q), g(k), g(k)\n    return q @ k @ v\n", "g(k), g(k)", "g(k), g(v)",
    ),
    "the dtype of an argument": (
        "def f(x):\n    kind = torch.float32\n    return x.double().to(kind)\n", "torch.float32", "x.dtype",
    ),
    "nothing for nothing": (
        "def f(mask, row):\n    if mask is None:\n        return torch.zeros(1)\n    return mask[row]\n",
        "return torch.zeros(1)", "return None",
    ),
    "always, and not the first time alone": (
        "def f(cache, new):\n    if cache is None:\n        cache = new\n    return cache\n",
        "if cache is None", "if True",
    ),
    "gradients off for good": (
        "def f(w):\n    w.requires_grad = False\n    w.uniform_()\n", "w.uniform_()\n",
        "w.uniform_()\n    w.requires_grad_()\n",
    ),
    "gradients off for good, in a call": (
        "def f(w):\n    w.requires_grad_(False)\n    w.uniform_()\n    return w\n", "    return w\n",
        "    w.requires_grad_()\n    return w\n",
    ),
    "arguments of a helper": (
        "def f(x):\n    return band(x, 0, 1)\n\n\ndef band(x, below, above):\n    return x.tril(above).triu(below)\n",
        "below, above):", "above, below):",
    ),
}  # fmt: skip
DECLARED = {
    "a method's": (RIGHT.replace("x, memory, mask=None", "memory, x, mask=None"), RIGHT),
    "a function's, with types": (RIGHT.replace("a, b", "b: int, a: float"), RIGHT.replace("a, b", "a: float, b: int")),
    "over several lines": (
        RIGHT.replace("self, x, memory, mask", "\n        self,\n        memory,\n        x,\n        mask"), RIGHT,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wrong", "right"), CASES.values(), ids=list(CASES))
def test_it_is_undone(text: str, wrong: str, right: str) -> None:
    assert plain(text.replace(wrong, right)) in texts_of(text, *range(1, len(text.splitlines()) + 1))


@pytest.mark.parametrize(("text", "right"), DECLARED.values(), ids=list(DECLARED))
def test_arguments_are_put_in_the_order_of_right_code_first_of_all(text: str, right: str) -> None:
    found = [(at, plain(new), len(new.splitlines())) for at, new in Edits(text, right=RIGHT).wired()]
    assert found[0][1:] == (plain(right), len(text.splitlines()))
    assert text.splitlines()[found[0][0] - 1].strip().startswith(("def", "memory"))


def test_arguments_in_order_are_left_alone() -> None:
    for text in (RIGHT, RIGHT.replace("a, b", "a, c"), RIGHT.replace("a, b", "a, b, c")):
        assert not list(Edits(text, right=RIGHT).wired())


def test_a_loop_is_not_made_to_go_on_to_its_end() -> None:
    text = "def f(xs):\n    for x in xs:\n        y = x + 1\n        if y > 3:\n            break\n"
    going_on = {plain(text.replace("break", one)) for one in ("continue", "pass")}
    assert going_on.isdisjoint(texts_of(text, 5))
    more = text + "        print(y)\n"
    assert {plain(more.replace("break", one)) for one in ("continue", "pass")} <= texts_of(more, 5)
