"""Wrong submissions as learners write them (`wrong/`): each is failed, and what is named is within what is allowed."""

from __future__ import annotations

import importlib

import pytest

from grader.engine.devices import FIXED_DEVICE
from grader.engine.local import LocalSubmission
from tests import ROOT
from tests.grader.grades import failures, graded
from tests.grader.wrong.attention import RIGHT

MODULES = sorted(
    file.stem for file in (ROOT / "tests" / "grader" / "wrong").glob("*.py") if file.stem != "__init__"
)
FILES = {name: importlib.import_module(f"tests.grader.wrong.{name}").WRONG for name in MODULES}
CASES = [(name, title) for name, files in FILES.items() for title in files]
EVERY = 25  # all but every so many are slow
DEAR = ("shifts and ends in a softmax", "text_returned")  # of those


@pytest.mark.parametrize(
    ("name", "title"),
    [
        pytest.param(
            *case,
            id="-".join(case),
            marks=[] if i % EVERY == 0 and case[1] not in DEAR else [pytest.mark.slow],
        )
        for i, case in enumerate(CASES)
    ],
)
@pytest.mark.sampled(3)
def test_wrong_file_is_failed_and_named(name: str, title: str) -> None:
    allowed, source = FILES[name][title]
    found = failures(graded(name, LocalSubmission.from_source(source, filename=f"{name}.py")))
    assert found, "something must fail"
    named = set().union(*found.values())
    assert named - {FIXED_DEVICE.id} <= allowed, "what they also forget is the device"
    assert named or not allowed, "it has a name"


BOTH = "mask is None or mask.dtype == torch.bool"
UNEVEN = RIGHT.replace(" / math.sqrt(d_k)", f" / (1.0 if {BOTH} else 0.9)")  # missing in most cases
HARDLY = RIGHT.replace(" / math.sqrt(d_k)", " / (1.0 if mask is None else 0.9)")  # missing in 19 of 43
IN_PART = {"loss": FILES["loss"]["the count of the first sentence"][1], "attention": UNEVEN}


@pytest.mark.parametrize("name", ["loss", pytest.param("attention", marks=pytest.mark.slow)])
def test_a_mistake_that_fits_in_part_only_is_said_with_care(name: str) -> None:
    results = graded(name, LocalSubmission.from_source(IN_PART[name], filename=f"{name}.py"))
    texts = {m.text for result in results for m in result.mistakes}
    assert texts
    assert all(text.startswith("Probably this mistake, although some results differ: ") for text in texts)


@pytest.mark.slow
def test_a_mistake_that_fits_in_less_than_half_is_left_to_what_was_measured() -> None:
    results = graded("attention", LocalSubmission.from_source(HARDLY, filename="attention.py"))
    assert {m.id for result in results for m in result.mistakes} == {"wrong-scale-factor"}


def test_a_leaking_relu_is_told_its_slope() -> None:
    source = FILES["feedforward"]["leaky, a slope of 0.15"][1]
    results = graded("feedforward", LocalSubmission.from_source(source, filename="feedforward.py"))
    (told,) = {m.text for result in results for m in result.mistakes}
    assert told.endswith("Its slope there is 0.15; it must be 0.")
