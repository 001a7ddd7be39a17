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
    "the last of several in turn": (
        "def f(q, k, v):\n    q, k, v = (g(one) for one in (q, k, q))\n    return q @ k @ v\n",
        "(q, k, q)", "(q, k, v)",
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
    "two fields": (
        "class A:\n    rate: float = 0.0\n    size: int = 1\n",
        "    rate: float = 0.0\n    size: int = 1\n", "    size: int = 1\n    rate: float = 0.0\n",
    ),
    "one object under two names": (
        "class A:\n    def f(self, key):\n        self.keys = self.values = Room(key)\n",
        "self.keys = self.values = Room(key)", "self.keys, self.values = Room(key), Room(key)",
    ),
    "unpacked in another order": (
        "def f(x):\n    time, batch, width = x.shape\n    return width\n", "time, batch, width", "batch, time, width",
    ),
    "another argument of its type": (
        "def f(a: int, b: str, c: int, x: int, eos: int, pad: int):\n    v, w, y, z, u, t = g(a)\n    return g(eos)\n",
        "g(eos)", "g(pad)",
    ),
    "a round that begins anew": (
        "def f(x, parts):\n    for part in parts:\n        out = part(x)\n    return out\n",
        "        out = part(x)\n    return out", "        x = part(x)\n    return x",
    ),
    "filled with a number": (
        "def f(n, sos):\n    return torch.ones((n, 1), dtype=torch.long)\n",
        "torch.ones((n, 1), dtype", "torch.full((n, 1), sos, dtype",
    ),
    "filled with a number, for a field of what is given": (
        "class Ids:\n    sos: int\n    pad: int\n\n\n"
        "class A:\n    def __init__(self, n, ids):\n        self.ids = ids\n"
        "        self.rows = torch.ones((n, 1))\n\n    def f(self):\n        return self.ids.pad\n",
        "torch.ones((n, 1))", "torch.full((n, 1), ids.sos)",
    ),
    "a number for an argument, twice": (
        "def f(width, hidden):\n    return nn.Linear(width, 4 * width), nn.Linear(4 * width, width)\n",
        "4 * width), nn.Linear(4 * width", "hidden), nn.Linear(hidden",
    ),
    "a number for a field": (
        "class A:\n    width: int\n    hidden: int\n\n    def f(self):\n        return self.width, 4 * self.width\n",
        "4 * self.width", "self.hidden",
    ),
    "a text for an argument": (
        "def f(makers, name):\n    return makers['post']()\n", "'post'", "name",
    ),
    "a text for an argument that nothing reads": (
        "def f(norm):\n    return make('post')\n", "'post'", "norm",
    ),
    "what a local was made of": (
        "def f(scores):\n    shares = scores[:, -1].log_softmax(-1)\n    return scores[:, -1].sort()\n",
        "return scores[:, -1]", "return shares",
    ),
    "up to the first": (
        "def f(rows):\n    return list(itertools.takewhile(len, rows))\n", "itertools.takewhile", "filter",
    ),
    "buffers for parameters": (
        "class A:\n    def __init__(self, n):\n        self.register_buffer('a', torch.ones(n))\n"
        "        self.register_buffer('b', torch.zeros(n))\n",
        "buffer('a', torch.ones(n))\n        self.register_buffer('b', torch.zeros(n))",
        "parameter('a', __import__('torch').nn.Parameter(torch.ones(n)))\n"
        "        self.register_parameter('b', __import__('torch').nn.Parameter(torch.zeros(n)))",
    ),
    "all rows repeated, for each": (
        "def f(x, y, k):\n    x = x.repeat(k, 1, 1)\n    y = y.repeat(k, 1)\n    return x, y\n",
        "x.repeat(k, 1, 1)\n    y = y.repeat(k, 1)", "x.repeat_interleave(k, 0)\n    y = y.repeat_interleave(k, 0)",
    ),
    "a flat index by another size": (
        "def f(flat, beams, words):\n    i, j = flat % beams, flat // beams\n    return i, j\n",
        "flat % beams, flat // beams", "flat // words, flat % words",
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
