"""Keyword arguments that a call may lack, of functions of torch and of the file's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from grader.edits.code import Code
from grader.edits.keywords import Keywords

TEXT = """import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import softmax as soft
from somewhere import cross_entropy


def scaled(x, by=2, *, shift=0):
    return x * by + shift


class Part(nn.Module):
    def forward(self, x, pad=0):
        return self.helper(x)

    def helper(self, x, pad=0):
        return x
"""


def added(call: str, *names: str) -> set[str]:
    """The calls with one keyword more, of which these names may be the value."""
    return {ast.unparse(one) for one in _more(call, *names)}


def _more(call: str, *names: str) -> Iterator[ast.Call]:
    code = Code(f"{TEXT}\ndef run({', '.join(names)}):\n    {call}\n", right="7")
    function = code.tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    assert isinstance(function.body[0], ast.Expr)
    return Keywords(code).more(function.body[0].value)


@pytest.mark.parametrize(
    ("call", "names", "new"),
    [
        ("F.nll_loss(x, y, reduction='sum')", ("pad",), "F.nll_loss(x, y, reduction='sum', ignore_index=pad)"),
        ("torch.nn.functional.nll_loss(x, y)", ("pad",), "torch.nn.functional.nll_loss(x, y, ignore_index=pad)"),
        ("soft(x)", (), "soft(x, dim=-1)"),
        ("nn.MultiheadAttention(8, 2)", (), "nn.MultiheadAttention(8, 2, batch_first=True)"),
        ("nn.Embedding.from_pretrained(t)", (), "nn.Embedding.from_pretrained(t, freeze=False)"),
        ("scaled(x, 3)", ("y",), "scaled(x, 3, shift=y)"),
        ("self.helper(x)", ("x", "pad"), "self.helper(x, pad=pad)"),
    ],
)  # fmt: skip
def test_a_keyword_of_the_signature_is_added(call: str, names: tuple[str, ...], new: str) -> None:
    assert new in added(call, *names)


@pytest.mark.parametrize(
    "call",
    ["scaled(x, 3, shift=1)", "scaled(*x)", "cross_entropy(x, y)", "torch._dynamo.optimize(x)", "f()()"],
)
def test_nothing_is_added_where_all_is_given_or_the_signature_is_not_known(call: str) -> None:
    assert added(call, "y") == set()


def test_the_name_of_the_argument_comes_first() -> None:
    assert ast.unparse(next(_more("self.helper(x)", "x", "y", "pad"))) == "self.helper(x, pad=pad)"


FIELDS = """class Cache(NamedTuple):
    keys: list = []
    size: int = 0

def forward(x, have):
    cache = Cache()
    return rows(x)

def rows(x, start=0):
    return x
"""


def own(line: int) -> list[tuple[int, str]]:
    """The file's line with one argument more in a call, and the lines that these changes are of."""
    code = Code(FIELDS)
    (node,) = (one for one in ast.walk(code.tree) if isinstance(one, ast.Call) and one.lineno == line)
    return [(at, text.splitlines()[line - 1].strip()) for at, text in Keywords(code).own(node)]


def test_a_default_that_all_share_is_made_anew_and_is_where_the_mistake_is() -> None:
    assert own(6)[:1] == [(2, "cache = (Cache(keys=[]))")]


def test_an_argument_that_can_be_left_out_is_given() -> None:
    assert (7, "return (rows(x, start=have))") in own(7)
    assert (6, "cache = (Cache(size=have))") in own(6)
