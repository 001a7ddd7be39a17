"""Changes of whole statements and blocks, each among those that are tried early."""

from __future__ import annotations

import ast

import pytest

from grader.edits.edits import Edits

EARLY = 400  # changes of a short file
TWO = "def f(x, y, act):\n    if act:\n        y = g(y + x)\n"
LAZY = (
    "class M:\n    def __init__(self):\n        self.built = False\n\n    def build(self):\n        self.w = 1\n\n"
    "    def forward(self, x):\n        if not self.built:\n            self.build()\n        return x * self.w\n"
)
LOOP = "def f(parts, x):\n    made = []\n    for part in parts:\n        def go(y):\n            return part(y)\n"
CASES = {
    "two statements for a wrong reason": (
        "def f(make, n):\n    one = make()\n    check(one)\n    return [make() for _ in range(n)]\n",
        "    one = make()\n    check(one)\n", "    pass\n",
    ),
    "statistics without gradient": (
        "def f(x):\n    with torch.no_grad():\n        mean = x.mean()\n    return x - mean\n",
        "torch.no_grad()", "__import__('contextlib').nullcontext()",
    ),
    "a step in one branch alone": (
        f"{TWO}    return y\n", "g(y + x)\n", "g(y + x)\n    else:\n        y = y + x\n",
    ),
    "a step before the other branch": (
        f"{TWO}    else:\n        y = y * 2\n    return y\n",
        "    else:\n", "    else:\n        y = y + x\n",
    ),
    "a step in one case of an expression": (
        "def f(x, y, act):\n    return g(y + x) if act else y\n", "else y", "else y + x",
    ),
    "never noted, in what is called": (LAZY, "self.w = 1\n", "self.w = 1\n        self.built = True\n"),
    "never noted": (LAZY, "self.build()\n", "self.build()\n            self.built = True\n"),
    "asked of the first alone": (
        "def f(rows):\n    while rows:\n        if rows[0].ended:\n            break\n",
        "rows[0].ended", "all((one.ended for one in rows))",
    ),
    "a function that a loop makes": (
        f"{LOOP}        made.append(go)\n    return made\n", "def go(y):", "def go(y, part=part):",
    ),
    "some sizes for a shape": (
        "def f(x):\n    noise = torch.rand(x.shape[0], 1, x.shape[-1])\n    return torch.rand((x.size(0), 1))\n",
        "(x.size(0), 1)", "(x.shape)",
    ),
    "a mode that an argument decides": (
        "class M:\n    def forward(self, x, training=True):\n        return drop(x, training)\n",
        "drop(x, training)", "drop(x, self.training)",
    ),
    "divided by another number": (
        "def f(x, w, n):\n    return (x * w).sum() / n\n", "/ n", "/ w.sum()",
    ),
    "what can be read once only": (
        "def f(rows):\n    kept = filter(None, rows)\n    return [*kept], [*kept]\n",
        "filter(None, rows)", "list(filter(None, rows))",
    ),
    "one of several that is no parameter": (
        "class M(nn.Module):\n    def __init__(self, n):\n        self.a, self.b = nn.Parameter(zeros(n)), zeros(n)\n",
        "), zeros(n)", "), nn.Parameter(zeros(n))",
    ),
    "a constant of the class for an argument": (
        "class M:\n    END = 2\n\n    def f(self, token, end):\n        return token == self.END\n",
        "== self.END", "== end",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_undone_early(name: str) -> None:
    text, old, new = CASES[name]
    text = f"import torch\nfrom torch import nn\n{text}"
    assert text.count(old) == 1
    wanted = ast.dump(ast.parse(text.replace(old, new)))
    lines = range(1, len(text.splitlines()) + 1)
    tried = [one for _, (_, one) in zip(range(EARLY), Edits(text).among(lines, [], lines), strict=False)]
    assert wanted in map(_dumped, tried)


def _dumped(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return ""


def test_an_attribute_that_several_values_set_is_noted_by_nothing() -> None:
    text = LAZY.replace("self.w = 1", "self.w = 1; self.built = self.w > 0")
    tried = [one for _, one in Edits(text).among([9], [], [])]
    assert not any("self.built = True" in one for one in tried)
