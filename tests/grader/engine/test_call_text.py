"""Calls written as text."""

from __future__ import annotations

import pytest
import torch

from grader.core.submission import SubmissionError
from grader.engine.call_text import Caller, parsed
from grader.engine.local import LocalSubmission
from zoo.core.errors import ZooError

SOURCE = """import torch
from torch import nn

seen = []


class Double(nn.Module):
    def __init__(self, inner=None, *, by=2.0):
        super().__init__()
        self.inner, self.by = inner, by

    def forward(self, x):
        seen.append(self.training)
        return self.by * (x if self.inner is None else self.inner(x))

    def half(self, x):
        return x / 2


def shapes(*tensors, names=()):
    return torch.tensor([one.dim() for one in tensors])


def kinds(a, b, c):
    return torch.tensor([a.dtype == torch.int64, b.dtype == torch.bool, int(a.max()) < 10])
"""


def value(text: str) -> torch.Tensor:
    submission = LocalSubmission.from_source(SOURCE, filename="file.py")
    caller = Caller(submission, SOURCE, text, seed=0)
    found = caller._value(parsed(text))
    assert isinstance(found, torch.Tensor)
    return found


def test_functions_modules_methods_and_modules_in_modules_are_called() -> None:
    assert value("shapes(float[2, 3], float64[4], bfloat16[1, 1, 1], names=['a', ('b', -1)])").tolist() == [
        2,
        1,
        3,
    ]
    assert value("kinds(int[2, 50], bool[3], None)").tolist() == [True, True, True]
    single = value("Double()(float[2, 3])")
    assert torch.equal(value("Double(Double(), by=2)(float[2, 3])"), 2 * single)
    assert torch.equal(value("Double().half(float[2, 3])"), single / 4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a valid call"),
        ("shapes(", "is not a valid call"),
        ("shapes", "is not a call"),
        ("[f(1) for f in x]", "is not a call"),
        ("shapes(*[1])", r"has a \* or \*\*"),
        ("shapes(**{})", r"has a \* or \*\*"),
        ("shapes(lambda: 1)", "is not a valid argument"),
        ("shapes(__import__)", "is not a valid argument"),
        ("(lambda: 1)()", "cannot be called"),
        ("shapes(half[2])", "'half' in .* is not a dtype; expected one of float,"),
        ("shapes(float[2, -1])", "has no valid shape"),
        ("shapes(float[1:2])", "has no valid shape"),
        ("shapes(float[100000, 100000])", "expected at most"),
        ("shapes(" + "(" * 3000, "is not a valid call"),
    ],
)
def test_what_is_no_call_is_refused(text: str, said: str) -> None:
    with pytest.raises(ZooError, match=said):
        parsed(text)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(ZooError, match="There is no function or class 'other' in the file"):
        value("other(1)")
    with pytest.raises(ZooError, match="does not give a module"):
        value("shapes(float[2])(float[2])")
    with pytest.raises(SubmissionError):
        value("Double()(1, 2, 3)")
