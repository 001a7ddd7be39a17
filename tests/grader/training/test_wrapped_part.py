"""A learner's class in the judge's model holds the weights that it is given, wherever it keeps them."""

from __future__ import annotations

import pytest
import torch

from grader.core.failures import Failed
from grader.exercises.norm.reference import FIRST_CALLS, REFERENCE, namespace, parameters, wanted
from grader.exercises.norm.suite.scenarios import NAME, grading, sized
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Sandbox
from grader.training.spotcheck import SpotChecked
from grader.training.wrapped_part import wrapped_part
from tests.grader.right import right_files

D_MODEL = 6
RIGHT = right_files("norm")


def plug(sandbox: Sandbox, text: str) -> SpotChecked:
    submission = RemoteSubmission(sandbox.worker("cpu"), text.encode(), "norm.py")
    submission.first_calls = FIRST_CALLS
    return wrapped_part(
        submission,
        NAME,
        (D_MODEL,),
        {},
        namespace(REFERENCE)[NAME](D_MODEL),
        grading(submission, 0).layout(sized(D_MODEL)),
        {"gain": torch.arange(1.0, D_MODEL + 1), "shift": torch.linspace(-1, 1, D_MODEL)},
        title="a layer norm",
        steps=3,
    )


@pytest.mark.parametrize("style", RIGHT)
@pytest.mark.sampled(4)
def test_weights_come_where_they_belong(sandbox: Sandbox, style: str) -> None:
    part = plug(sandbox, RIGHT[style])
    assert part.training
    x = torch.randn(2, 5, D_MODEL, requires_grad=True)
    expected = torch.nn.functional.layer_norm(
        x, (D_MODEL,), torch.arange(1.0, D_MODEL + 1), torch.linspace(-1, 1, D_MODEL)
    )
    output = part(x)  # the first call is always checked, and its gradients
    torch.testing.assert_close(output, expected)
    output.square().sum().backward()
    part.settle()
    assert part.checked == 1


def test_what_agrees_in_no_way_is_still_watched(sandbox: Sandbox) -> None:
    wrong = RIGHT["gain_and_bias_in_turns"].replace("self.turns[1::2]", "1 + self.turns[1::2]")
    part = plug(sandbox, wrong)
    with pytest.raises(Failed, match="gave another output"):
        part(torch.randn(2, 5, D_MODEL))


def test_an_answer_of_another_type_is_no_fault_of_the_graders(sandbox: Sandbox) -> None:
    sly = RIGHT["gain_and_bias_in_turns"].replace(
        "        return F.layer_norm",
        "        if not self.training:\n            return x > 0\n        return F.layer_norm",
    )
    assert "x > 0" in sly
    with pytest.raises(Failed, match="gave another output"):
        plug(sandbox, sly)(torch.randn(2, 5, D_MODEL))


def test_parameters_that_are_missing_are_named(sandbox: Sandbox) -> None:
    lacking = RIGHT["gain_and_bias_in_turns"].replace("[1.0, 0.0]", "[1.0]")
    with pytest.raises(Failed, match="shift cannot be found"):
        plug(sandbox, lacking)


def test_the_judge_has_values_of_its_own() -> None:
    assert {name: tuple(p.shape) for name, p in parameters(D_MODEL).items()} == {
        one.name: one.shape for one in wanted(D_MODEL)
    }
