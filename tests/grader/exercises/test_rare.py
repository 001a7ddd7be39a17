"""Mistakes that few inputs show (`rare.py`): limits, first rows, dropout along an axis, settings changed for good."""

from __future__ import annotations

import pytest

from grader.engine.local import LocalSubmission
from grader.engine.settings import CHANGED_SETTING
from tests.grader.grades import failures, graded, without_names
from tests.grader.rare import CASES, changed

EVERY = 15  # all but every so many are slow
MARKED = [
    pytest.param(*case, id="-".join(case[:2]), marks=[] if i % EVERY == 4 else [pytest.mark.slow])
    for i, case in enumerate(CASES)
]


@pytest.mark.parametrize(("name", "what", "old", "new"), MARKED)
def test_rare_mistake_is_caught(name: str, what: str, old: str, new: str) -> None:
    submission = LocalSubmission.from_source(changed(name, what, old, new), filename=f"{name}.py")
    with without_names():
        found = failures(graded(name, submission))
    assert found
    if "for good" in what:
        assert set().union(*found.values()) == {CHANGED_SETTING.id}
