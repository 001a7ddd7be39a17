"""What a test says about one wrong scenario."""

from __future__ import annotations

import torch

from grader.core.submission import SubmissionError
from grader.engine.contrast import contrast
from grader.engine.scenario import Observation, Scenario

ASKED = Scenario("x of [2, 3]", "Layer", "plain", lambda _client: {})


def error(**where: object) -> Observation:
    return Observation(error=SubmissionError("exception", "no such thing", type_name="TypeError", **where))  # type: ignore[arg-type]


def test_an_error_and_its_line_are_two_lines() -> None:
    text, picture = contrast(ASKED, ["error"], Observation(), error(line=27, source_line="  y = f(x)\n"))
    assert text.splitlines() == [
        "Layer, x of [2, 3]: expected a result, got TypeError: no such thing",
        "  line 27: y = f(x)",
    ]
    assert picture == ""


def test_an_error_without_a_line_is_one_line() -> None:
    text, _ = contrast(ASKED, ["error"], Observation(), error())
    assert text == "Layer, x of [2, 3]: expected a result, got TypeError: no such thing"


def test_an_error_where_another_was_right() -> None:
    right = Observation(error=SubmissionError("exception", "d_model is odd", type_name="ValueError"))
    text, _ = contrast(ASKED, ["error"], right, error(line=3))
    assert text.splitlines()[0].endswith("expected a ValueError, got TypeError: no such thing")
    assert text.splitlines()[1] == "  line 3"


def test_none_in_place_of_a_tensor_asks_for_the_return() -> None:
    right = Observation({"output": torch.ones(2, 3)})
    text, _ = contrast(ASKED, ["output", "result"], right, Observation(facts={"result": "None"}))
    assert text.endswith("expected a tensor of shape [2, 3], got None: is there a return?")
    text, _ = contrast(ASKED, ["output", "result"], right, Observation(facts={"result": "a dict"}))
    assert text.endswith("expected a tensor of shape [2, 3], got a dict.")


def test_what_differs_is_shown_though_it_comes_late() -> None:
    right = torch.arange(120.0).reshape(2, 5, 12)
    got = right.clone()
    got[1, 3, 7] = 5.0
    text, _ = contrast(ASKED, ["output"], Observation({"output": right}), Observation({"output": got}))
    assert "output[1, 3:, 7:], largest difference 98" in text
    assert [line.split() for line in text.splitlines()[1:]] == [
        ["expected", "[103,", "104,", "105", "...]", "[115,", "116,", "117", "...]"],
        ["got", "[5,", "104,", "105", "...]", "[115,", "116,", "117", "...]"],
    ]


def test_a_small_difference_is_shown_with_more_digits() -> None:
    right = torch.tensor([1.0, 2.0])
    for value, other in ((right, right + 1e-5), (right[0], right[0] + 1e-5)):
        text, _ = contrast(ASKED, ["loss"], Observation({"loss": value}), Observation({"loss": other}))
        assert "1.00001" in text
