"""What is taken for something like it is undone by a change of its line."""

from __future__ import annotations

import pytest

from grader.edits.code import Code
from grader.edits.edits import Edits
from tests.grader.edits.tried import plain, texts_of

HEAD = "import math\nimport torch\nfrom torch import nn\n\n\n"
CASES = {
    "a whole root": ("def f(d):\n    return math.isqrt(d)\n", "math.isqrt", "math.sqrt"),
    "a loss of log-probabilities": (
        "def f(x, y):\n    return nn.NLLLoss()(x, y)\n", "nn.NLLLoss", "nn.CrossEntropyLoss",
    ),
    "a mask of whole numbers": (
        "def f(n):\n    return torch.ones(n, n, dtype=torch.uint8)\n", "torch.uint8", "torch.bool",
    ),
    "the first one for all": ("def f(ended):\n    return ended[0]\n", "ended[0]", "all(ended)"),
    "the first one for all, as a condition": (
        "def f(ended):\n    if ended[0]:\n        return 1\n    return 2\n", "ended[0]", "all(ended)",
    ),
    "where the last one ended": (
        "def f(one):\n    first = one.last\n    return range(first, 9)\n", "one.last", "one.last + 1",
    ),
    "the first length for the longest": (
        "def f(words):\n    return len(words[0])\n", "len(words[0])", "max(map(len, words))",
    ),
    "a switch": (
        "def f(x):\n    return nn.Linear(x, x, bias=False)\n", "bias=False", "bias=True",
    ),
    "a value under another name": (
        "def f(x, norm, part):\n    h = norm(x)\n    h = x + part(h)\n    h = norm(x)\n"
        "    x = x + part(h)\n    return x\n",
        "h = x + part(h)", "x = x + part(h)",
    ),
    "a name that nothing makes": (
        "def f(x, g):\n    flat = g(x)\n    return hidden + 1\n", "flat = g(x)", "hidden = g(x)",
    ),
    "a method by which the best is chosen": (
        "class Beam:\n    def score(self, penalty):\n        return self.total / penalty\n\n\n"
        "def f(found, penalty):\n    return max(found, key=lambda one: one.total)\n",
        "one.total)", "one.score(penalty))",
    ),
    "two values exchanged": (
        "def f(order, size):\n    token = order // size\n    parent = order % size\n    return token, parent\n",
        "token = order // size\n    parent = order % size", "token = order % size\n    parent = order // size",
    ),
    "what all others go through": (
        "def f(self, query, key):\n    q = self.split(self.q(query)).cos()\n    k = self.k(key)\n    return q @ k\n",
        "k = self.k(key)", "k = self.split(self.k(key)).cos()",
    ),
    "first values": (
        "def f(self):\n    nn.init.ones_(self.bias)\n", "ones_", "zeros_",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wrong", "right"), CASES.values(), ids=list(CASES))
def test_it_is_undone(text: str, wrong: str, right: str) -> None:
    whole = HEAD + text
    assert plain(whole.replace(wrong, right)) in texts_of(whole, *range(1, len(whole.splitlines()) + 1))


def test_only_what_nothing_reads_gets_another_name() -> None:
    text = "def f(x):\n    y = x + 1\n    z = y + 1\n    return z\n"
    assert not any(Code(text).lost.values())
    in_branches = (
        "def f(x, many):\n    if many:\n        x = x + 1\n    else:\n        y = x * 2\n    return y\n"
    )
    code = Code(in_branches)
    (names,) = [one for one in code.lost.values() if one]
    assert names == ["y"]


WIRED = {
    "a field that is off": (
        "class Options:\n    bias: bool = False\n", "= False", "= True",
    ),
    "shapes for values": (
        "def f(a, b):\n    return a.shape == b.shape\n", "a.shape == b.shape", "a.equal(b)",
    ),
    "sizes for values": (
        "def f(a, b):\n    return a.size() == b.size()\n", "a.size() == b.size()", "a.equal(b)",
    ),
    "a chain of conditions": (
        "def f(x, way):\n    if way == 'a':\n        x = 1\n    if way == 'b':\n        x = 2\n"
        "    else:\n        x = 3\n    return x\n",
        "    if way == 'b'", "    elif way == 'b'",
    ),
    "a result that is not returned": (
        "def make(size):\n    if size < 1:\n        raise ValueError(size)\n"
        "    made = nn.Linear(size, size)\n", "(size, size)\n", "(size, size)\n    return made\n",
    ),
    "what one branch alone returns": (
        "def f(x, way):\n    if way:\n        x = x + 1\n    else:\n        x = x - 1\n        return x\n",
        "        return x\n", "        return x\n    return x\n",
    ),
    "a name that is an attribute": (
        "class A:\n    def f(self, x):\n        return x + table\n", "+ table", "+ self.table",
    ),
    "a method read as an attribute": (
        "class A:\n    def keep(self):\n        return 1\n\n    def f(self, x):\n        return x * self.keep\n",
        "    def keep", "    @property\n    def keep",
    ),
    "two optional arguments": (
        "def f(x, pad: int = 0, rate: float = 0.5):\n    return x\n",
        "pad: int = 0, rate: float = 0.5", "rate: float = 0.5, pad: int = 0",
    ),
    "the wrong method of a base": (
        "class A:\n    def before(self, x):\n        return x\n\n    def after(self, x):\n        return x\n\n\n"
        "class B(A):\n    def before(self, x):\n        return x + 1\n",
        "class B(A):\n    def before", "class B(A):\n    def after",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wrong", "right"), WIRED.values(), ids=list(WIRED))
def test_it_is_undone_wherever_it_is(text: str, wrong: str, right: str) -> None:
    whole = HEAD + text
    assert plain(whole.replace(wrong, right)) in {plain(new) for _, new in Edits(whole).wired()}


def test_shapes_that_are_checked_are_left_alone() -> None:
    text = "def f(a, b):\n    assert a.shape == b.shape\n    return a + b\n"
    assert not list(Edits(HEAD + text).wired())


def test_functions_that_give_something_are_left_alone() -> None:
    for text in ("def f(x):\n    y = x\n    yield y\n", "def f(x):\n    y = x\n    raise ValueError(y)\n"):
        assert not list(Edits(HEAD + text).wired())
