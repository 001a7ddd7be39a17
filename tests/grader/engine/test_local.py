"""Trusted code run in this process behaves as it would in a worker."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from torch import Tensor, nn

from grader.core.submission import Opaque, SubmissionError
from grader.engine.local import LocalSubmission


class Doubled(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((size,), 2.0))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


def test_a_call_gives_value_and_gradients() -> None:
    instance = LocalSubmission({"Doubled": Doubled}).construct("Doubled", [3])
    instance.load({"weight": torch.tensor([1.0, 2.0, 3.0])})
    x = torch.tensor([[1.0, 1.0, 2.0]])
    outcome = instance.call([x], grad=[0])
    assert outcome.value.tolist() == [[1.0, 2.0, 6.0]]
    assert outcome.devices == ("cpu",)
    gradients = instance.backward(outcome, [torch.ones(1, 3)])
    assert gradients.inputs[0].tolist() == [[1.0, 2.0, 3.0]]
    assert gradients.parameters["weight"].tolist() == [1.0, 1.0, 2.0]
    assert x.grad is None


def test_a_change_in_place_is_seen_and_does_not_reach_the_judge() -> None:
    def shift(x: Tensor, y: Tensor) -> Tensor:
        x.add_(1)
        y.add_(0)
        return x + y

    x, y = torch.full((2,), math.nan), torch.full((2,), math.nan)
    x[0] = 0.0
    for grad in ([], [0, 1]):
        outcome = LocalSubmission({"shift": shift}).function("shift").call([x, y], grad=grad)
        assert outcome.changed == (0,)
        assert x[0] == 0


def test_the_same_tensor_stays_the_same_tensor_and_an_equal_one_does_not() -> None:
    function = LocalSubmission({"same": lambda a, b, c: (a is b, b is c)}).function("same")
    x = torch.ones(2)
    assert function.call([x, x, x.clone()]).value == (True, False)
    assert function.call([x, x, x.clone()], grad=[1]).value == (True, False)


def test_what_is_no_plain_value_is_named() -> None:
    value = LocalSubmission({"odd": lambda: [object(), torch.ones(2).to_sparse(), {"a": None}]}).function(
        "odd"
    )
    assert value.call([]).value == [Opaque("object"), Opaque("sparse tensor"), {"a": None}]


@pytest.mark.parametrize(
    ("body", "kind", "line"),
    [
        ("raise NotImplementedError('part: to do')", "not_written", 3),
        ("return [][1]", "exception", 3),
        ("import sys; sys.exit(3)", "exception", 3),
        ("raise MemoryError", "limit", 3),
    ],
)
def test_what_it_raises_is_described(body: str, kind: str, line: int) -> None:
    function = LocalSubmission.from_source(f"\ndef part(x):\n    {body}\n").function("part")
    with pytest.raises(SubmissionError) as caught:
        function.call([1])
    assert (caught.value.kind, caught.value.line, caught.value.fatal) == (kind, line, False)
    assert caught.value.source_line == body


def test_a_file_that_is_not_python_is_shown_with_a_caret() -> None:
    with pytest.raises(
        SubmissionError, match=r"attention\.py, line 2: .*\n    x = = 1\n        \^"
    ) as caught:
        LocalSubmission.from_source("y = 1\nx = = 1\n")
    assert (caught.value.kind, caught.value.line) == ("syntax", 2)


def test_names_that_are_not_there() -> None:
    submission = LocalSubmission({"Doubled": Doubled, "number": 3})
    assert submission.has("Doubled")
    assert not submission.has("number")
    assert not submission.has("other")
    with pytest.raises(SubmissionError, match="There is no 'other'"):
        submission.function("other")
    with pytest.raises(SubmissionError, match="neither a function nor a class"):
        submission.construct("number", [])
    with pytest.raises(SubmissionError, match=r"nn\.Module"):
        LocalSubmission({"Plain": dict}).construct("Plain", [])


def test_warnings_are_the_codes_own_business() -> None:
    def warn() -> None:
        warnings.warn("old", DeprecationWarning, stacklevel=1)

    assert LocalSubmission({"warn": warn}).function("warn").call([]).value is None


def test_a_seed_is_repeatable() -> None:
    submission = LocalSubmission({"draw": lambda: torch.rand(3)})
    drawn = []
    for _ in range(2):
        submission.seed(5)
        drawn.append(submission.function("draw").call([]).value)
    assert torch.equal(*drawn)


def test_a_wrong_name_or_shape_is_not_loaded() -> None:
    instance = LocalSubmission({"Doubled": Doubled}).construct("Doubled", [3])
    with pytest.raises(SubmissionError, match=r"expected \[3\], got \[2\]"):
        instance.load({"weight": torch.ones(2)})
    with pytest.raises(SubmissionError, match="no parameter"):
        instance.load({"bias": torch.ones(2)})
    instance.load({"count": torch.ones(1)})
    assert instance.buffers()["count"].value.item() == 1
    instance.to(torch.float64)
    assert instance.parameters()["weight"].value.dtype == torch.float64


def test_what_is_given_by_keyword_comes_in_the_reverse_order() -> None:
    """So code that takes its place for its name, as `first, second = words.values()`, does not pass by luck."""
    text = "def f(**words):\n    return list(words.values())\n"
    one, two = torch.ones(1), torch.zeros(2)
    found = LocalSubmission.from_source(text).function("f").call([], {"one": one, "two": two}).value
    assert [x.tolist() for x in found] == [two.tolist(), one.tolist()]
