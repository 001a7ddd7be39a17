"""What a scenario can hand over and hear back: dtypes, tensors in pieces, kinds of errors, maps of masks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from grader.core.submission import Submission, SubmissionError
from grader.engine.client import Client
from grader.engine.contrast import contrast
from grader.engine.local import LocalSubmission
from grader.engine.scenario import Observation, Scenario
from grader.engine.wording import values_in_words
from grader.sandbox.process import Limits, Worker
from grader.sandbox.remote import RemoteSubmission

CODE = """
import torch

class TooLong(ValueError):
    pass

def zeros(mask, dtype=torch.float32):
    return torch.zeros(mask.shape, dtype=dtype)

def doubled(x):
    assert not x.is_contiguous()
    return 2 * x

def refuse(x):
    raise TooLong("five are too many")

def joined(x):
    return (x > 0) & x

def stub(x):
    raise NotImplementedError("to be written")
"""


@pytest.fixture(scope="module", params=["here", "worker"])
def submission(request: pytest.FixtureRequest) -> Iterator[Submission]:
    if request.param == "here":
        yield LocalSubmission.from_source(CODE, filename="part.py")
        return
    with Worker(limits=Limits(request_s=60)) as worker:
        yield RemoteSubmission(worker, CODE.encode(), "part.py")


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.bool])
def test_a_dtype_is_an_argument(submission: Submission, dtype: torch.dtype) -> None:
    zeros = submission.function("zeros")
    assert zeros.call([torch.ones(2, 3), dtype]).value.dtype == dtype
    assert zeros.call([torch.ones(2, 3)], {"dtype": dtype}).value.dtype == dtype


@pytest.mark.parametrize("whole", [False, True])
def test_a_tensor_arrives_in_pieces(submission: Submission, whole: bool) -> None:
    client, values = Client(submission), torch.arange(24.0).view(2, 3, 4)
    part = client.part("Scattered", (2, 3, 4), whole, weights={"values": values})
    output = client.call(client.function("doubled"), part)["output"]
    assert isinstance(output, torch.Tensor)
    assert output.dtype == (torch.int64 if whole else torch.float32)
    assert torch.equal(output.double(), 2 * values.double())
    client.close()


def test_an_ordinary_tensor_arrives_in_one_piece(submission: Submission) -> None:
    with pytest.raises(SubmissionError) as caught:
        submission.function("doubled").call([torch.randn(3, 2).T])
    assert caught.value.type_name == "AssertionError"


def test_a_kind_of_value_error_is_one(submission: Submission) -> None:
    with pytest.raises(SubmissionError, match=r"^TooLong: five are too many$") as caught:
        submission.function("refuse").call([torch.ones(1)])
    assert caught.value.type_name == "ValueError"


@pytest.mark.parametrize(("name", "kind"), [("joined", "exception"), ("stub", "not_written")])
def test_what_torch_does_not_implement_is_no_stub(submission: Submission, name: str, kind: str) -> None:
    with pytest.raises(SubmissionError) as caught:
        submission.function(name).call([torch.ones(2)])
    assert caught.value.kind == kind


def test_a_mask_is_said_and_drawn() -> None:
    right, got = torch.ones(2, 2, dtype=torch.bool).tril(), torch.ones(2, 2, dtype=torch.bool)
    scenario = Scenario("size 2", "causal_mask", "plain", lambda _client: {})
    seen = [Observation({"output": x, "allowed keys of sentence 1": x}) for x in (right, got)]
    said, picture = contrast(scenario, ["output", "allowed keys of sentence 1"], *seen)
    assert "expected [True, False] [True, True]" in said
    assert picture.splitlines()[0].endswith("x where the query (row) may attend to the key (column)")
    assert picture.splitlines()[2:] == ["x .      x x", "x x      x x"]


def test_between_a_number_and_infinity_there_is_no_difference() -> None:
    said = values_in_words("output", torch.tensor([0.0, -torch.inf]), torch.tensor([0.0, -1e9]))
    assert "difference" not in said
