"""What is called or read in place of something of its kind is undone by a change of its line."""

from __future__ import annotations

import ast

import pytest

from grader.edits.code import Code
from grader.edits.edits import Edits
from grader.edits.instead import called_instead
from tests.grader.edits.tried import is_python, plain, texts_of

HEAD = "import torch\nfrom torch import nn\n\n\n"
CASES = {
    "another method": (
        "class A:\n    def padding(self, ids):\n        return ids\n\n    def causal(self, ids):\n"
        "        return ids\n\n    def f(self, ids):\n        return self.padding(ids)\n",
        "self.padding(ids)", "self.causal(ids)",
    ),
    "another function": (
        "def last(x):\n    return x\n\n\ndef first(x):\n    return x\n\n\ndef f(x):\n    return last(x)\n",
        "return last(x)", "return first(x)",
    ),
    "an argument of this name": (
        "def f(mask, dtype):\n    return torch.zeros(2, dtype=mask.dtype)\n", "=mask.dtype", "=dtype",
    ),
    "a local made of it": (
        "class A:\n    def f(self, x, n):\n        past = self.data[:n]\n        return torch.cat([self.data, x])\n",
        "[self.data, x]", "[past, x]",
    ),
    "before a call": (
        "def f(x, w):\n    return torch.addmm(x, w.clamp(min=0))\n",
        "torch.addmm(x, w.clamp(min=0))", "torch.addmm(x, w).clamp(min=0)",
    ),
    "after a call": ("def f(norm, x, y):\n    return norm(y).add(x)\n", "norm(y).add(x)", "norm(y.add(x))"),
    "rows for columns": (
        "def f(rule, n):\n    return [[rule(q, k) for q in range(n)] for k in range(n)]\n",
        "[[rule(q, k) for q in range(n)] for k in range(n)]", "[[rule(q, k) for k in range(n)] for q in range(n)]",
    ),
    "what nothing reads": (
        "def f(n, parts, words):\n    if parts == 0:\n        return n\n    return 2 * n\n",
        "parts == 0", "parts == 0 and words == 0",
    ),
    "a remainder that nothing reads": (
        "def f(n, heads):\n    size, rest = divmod(n, heads)\n    if not size:\n        return n\n    return size\n",
        "not size", "rest",
    ),
    "a list in another order": (
        "def f(ids, pad, n):\n    return [pad] * n + ids\n", "[pad] * n + ids", "ids + [pad] * n",
    ),
    "replaced, not added": (
        "class A:\n    def f(self, x):\n        self.done += x\n", "self.done += x", "self.done = x",
    ),
    "the whole of a share": (
        "def f(right, smoothing):\n    return Term(1.0, right)\n", "1.0", "1.0 - smoothing",
    ),
    "what was sorted": (
        "def f(rows, more):\n    best = rows[:2]\n    best.sort()\n    return rows[0]\n",
        "return rows[0]", "return best[0]",
    ),
    "rounds over something else": (
        "def f(keys, values, scores):\n    for score, key in zip(scores, keys):\n        print(score, key)\n"
        "    return [one for one in values]\n",
        "zip(scores, keys)", "zip(scores, values)",
    ),
    "what a share leaves, divided by": (
        "def f(x, rate):\n    return x * (1.0 - rate)\n", "(1.0 - rate)", "(1 / (1.0 - rate))",
    ),
    "at the other end": (
        "def f(x, n, row):\n    x[n - len(row) :] = row\n", "n - len(row) :", ": len(row)",
    ),
    "split otherwise, and turned": (
        "def f(x, b, h, t):\n    return x.view(b, h, t, -1).permute(0, 1, 3, 2)\n",
        "view(b, h, t, -1)", "view(b, t, h, -1).transpose(1, 2)",
    ),
    "a part less on both sides": (
        "def f(x, y):\n    x[: len(y) - 1] = y[:-1]\n", "x[: len(y) - 1] = y[:-1]", "x[: len(y)] = y",
    ),
    "in both places": (
        "def f(x, y, n):\n    return x[: n + 1], y[: n + 1]\n", "x[: n + 1], y[: n + 1]", "x[:n], y[:n]",
    ),
    "modules in a list": (
        "class A(nn.Module):\n    def __init__(self, make):\n        self.parts = list(make())\n",
        "list(make())", "nn.ModuleList(list(make()))",
    ),
    "a text of right code": ("def f(norm):\n    return norm == 'after'\n", "'after'", "'before'"),
    "an index for a local": (
        "def f(ids, best, eos):\n    best = best.argmax()\n    return ids[:, -1] != eos\n", "ids[:, -1] !=", "best !=",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wrong", "right"), CASES.values(), ids=list(CASES))
def test_it_is_undone(text: str, wrong: str, right: str) -> None:
    whole = HEAD + text
    lines = range(1, len(whole.splitlines()) + 1)
    if wrong == "'after'":
        tried = Edits(whole, right="def f(norm):\n    return norm == 'before'\n").among(lines, [])
        assert plain(whole.replace(wrong, right)) in {plain(new) for _, new in tried if is_python(new)}
    else:
        assert plain(whole.replace(wrong, right)) in texts_of(whole, *lines)


def test_what_takes_other_arguments_is_not_called_instead() -> None:
    text = (
        "def f(x):\n    return g(x)\n\n\ndef g(x):\n    return x\n\n\ndef h(x, y):\n    return x + y\n"
        "\n\ndef k(x, y=0):\n    return x + y\n"
    )
    code = Code(text)
    (call,) = [one for one in code.nodes[2] if isinstance(one, ast.Call)]
    assert [ast.unparse(one) for one in called_instead(call, code)] == ["k(x)"]
