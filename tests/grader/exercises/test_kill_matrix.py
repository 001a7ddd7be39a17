"""Every exercise: each known mistake is killed and named, and nothing right is failed."""

from __future__ import annotations

import importlib
import os
import re

import pytest

from grader.author.matrix import variants, wrong_code
from grader.catalog import get_exercise, get_exercises, get_mistakes
from grader.engine.local import LocalSubmission
from tests.grader.grades import RIGHT, failures, graded
from tests.grader.right import right_files

NAMES = list(get_exercises())
EVERY = 36  # right files: all but every so many are graded elsewhere alone; here they pass in noise, in `test_noise`
HERE = pytest.mark.skipif(
    os.environ.get("ZOO_TEST_ONEDNN") != "off", reason="see `python -m tests.elsewhere`"
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(3)
def test_reference_gets_all_points(name: str) -> None:
    reference = importlib.import_module(get_exercise(name).reference)
    results = graded(name, LocalSubmission(reference.namespace(reference.REFERENCE)))
    assert [(r.name, r.message) for r in results if r.status != "passed"] == []
    assert [r.title for r in results if len(r.title) > 44] == [], "a title fits one line of the report"


@pytest.mark.parametrize(("name", "mistake"), [(name, get_mistakes(name)[9].named.id) for name in NAMES])
@pytest.mark.sampled(3)
def test_mistake_is_killed_and_named(name: str, mistake: str) -> None:
    """One of each exercise; `make check-exercises` proves all of them."""
    exercise, known = get_exercise(name), next(m for m in get_mistakes(name) if m.id == mistake)
    for variant in range(variants(exercise, known)):
        found = failures(graded(name, wrong_code(exercise, known, variant)))
        assert list(found.values()) == [{mistake}], f"variant {variant}: one failure, under its own name"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        pytest.param(
            *case,
            id="-".join(case),
            marks=[] if i % EVERY == 0 else [pytest.mark.slow, pytest.mark.elsewhere, HERE],
        )
        for i, case in enumerate(RIGHT)
    ],
)
def test_right_file_passes(name: str, title: str) -> None:
    submission = LocalSubmission.from_source(right_files(name)[title], filename=f"{name}.py")
    assert failures(graded(name, submission)) == {}


@pytest.mark.parametrize("name", NAMES)
def test_mistakes_say_what_and_what_next(name: str) -> None:
    for mistake in get_mistakes(name):
        named = mistake.named
        assert named.text.endswith((".", ")")), named.id
        assert len(named.text) > 30, named.id
        assert named.hint, named.id
        whose = re.search(r"(?<![\w/.-])[A-Za-z][\w.-]*#\d", named.source)
        assert not whose, f"{named.id}: a thread's repository has an owner"
