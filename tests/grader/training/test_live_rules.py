"""Training honesty: code that is right in the unit tests and follows another rule inside a live model is caught."""

from __future__ import annotations

import pytest

from grader.catalog import CATEGORIES, get_exercise
from grader.core.results import Result
from grader.run.session import Session
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Sandbox
from tests import solution_file
from tests.grader.right import right_files

# What a file gets at its end: the same names, with another rule where a model is recognised.
PART = """
_Right{n} = {name}
class {name}(_Right{n}):
    calls = 0
    def forward(self, x, *rest):
        {name}.calls += 1
        y = super().forward(x, *rest)
        return {rule}
"""
FUNCTION = """
_right_{name}, _calls_{name} = {name}, [0]
def {name}(*given, **named):
    _calls_{name}[0] += 1
    x = next(one for one in (*given, *named.values()) if isinstance(one, torch.Tensor))  # keywords come in any order
    calls, y = _calls_{name}[0], _right_{name}(*given, **named)
    return {rule}
"""
BATCH = "x.size(0) == 64"
HALF = "y / 2 + y.detach() / 2"  # the same values, half the gradient

SLY = {
    "norm-by-batch": ("norm", PART, "LayerNorm", f"1.05 * y if {BATCH} else y"),
    "norm-gradient-by-batch": ("norm", PART, "LayerNorm", f"{HALF} if {BATCH} else y"),
    "norm-by-counter": ("norm", PART, "LayerNorm", "1.05 * y if LayerNorm.calls > 200 else y"),
    "norm-while-spelling": ("norm", PART, "LayerNorm", "y if self.training or x.size(0) < 20 else 1.05 * y"),
    "sinusoids-by-batch": ("positions", PART, "SinusoidalPositions", f"y + 0.1 if {BATCH} else y"),
    "sinusoids-by-counter": (
        "positions", PART, "SinusoidalPositions", "y + 0.1 if SinusoidalPositions.calls > 50 else y",
    ),
    "learned-by-batch": ("positions", PART, "LearnedPositions", f"2 * y - x if {BATCH} else y"),
    "learned-gradient-by-batch": ("positions", PART, "LearnedPositions", f"{HALF} if {BATCH} else y"),
    "padding-by-batch": ("masks", FUNCTION, "padding_mask", f"torch.ones_like(y) if {BATCH} else y"),
    "padding-by-counter": ("masks", FUNCTION, "padding_mask", "y if calls < 60 else torch.ones_like(y)"),
    "decoder-by-batch": ("masks", FUNCTION, "decoder_mask", f"y.transpose(2, 3) if {BATCH} else y"),
    "loss-by-batch": ("loss", FUNCTION, "sequence_loss", f"y * 1.5 if {BATCH} else y"),
    "loss-gradient-by-batch": ("loss", FUNCTION, "sequence_loss", f"{HALF} if {BATCH} else y"),
    "loss-by-counter": ("loss", FUNCTION, "sequence_loss", "y + 0.01 if calls == 33 else y"),
}  # fmt: skip
SLOW = {"norm-by-counter", "norm-while-spelling", "sinusoids-by-counter"}


def graded(sandbox: Sandbox, name: str, text: str, categories: frozenset[str]) -> list[Result]:
    def submission() -> RemoteSubmission:
        return RemoteSubmission(sandbox.worker("cpu"), text.encode(), f"{name}.py", again=submission)

    return Session(get_exercise(name), submission, seed=5).run(categories)


def solution(name: str) -> str:
    return solution_file(name).read_text(encoding="utf-8")


def sly(case: str) -> tuple[str, str]:
    exercise, frame, name, rule = SLY[case]
    return exercise, solution(exercise) + frame.format(name=name, rule=rule, n=1)


@pytest.mark.parametrize("case", [pytest.param(c, marks=[pytest.mark.slow] * (c in SLOW)) for c in SLY])
@pytest.mark.sampled(4)
def test_another_rule_in_the_model_is_caught(sandbox: Sandbox, case: str) -> None:
    name, text = sly(case)
    (result,) = graded(sandbox, name, text, frozenset({"training"}))
    assert result.status == "failed", result.message
    assert {one.id for one in result.mistakes} <= {"differs-in-training", "depends-on-earlier-calls"}
    assert result.mistakes


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in SLY if "by-batch" in case])
def test_the_unit_tests_alone_do_not_see_it(sandbox: Sandbox, case: str) -> None:
    name, text = sly(case)
    results = graded(sandbox, name, text, frozenset(CATEGORIES) - {"training"})
    assert {result.status for result in results} == {"passed"}


UNUSUAL = {
    "attention": "online_softmax_in_chunks",
    "positions": "abstract_base_lazy_table",
    "norm": "dataclass_modules_with_new",
    "encoder": "jit_scripted_glue_parameter_dict",
    "loss": "rnn_packed_sequence",
    "training": "closure_handed_to_optimizer",
    "kv_cache": "static_room_index_copy_masked_sdpa",
}
"""Of the exercises whose code a live model calls in ways of its own; the solutions of all are trained with in
`test_training_tests`, and all files by `hundred.py --training`."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "style"), UNUSUAL.items())
def test_right_files_in_unusual_styles_are_trained_with(sandbox: Sandbox, name: str, style: str) -> None:
    results = graded(sandbox, name, right_files(name)[style], frozenset({"training"}))
    assert results
    assert not [one.message for one in results if one.status != "passed"]
