"""The hostile submissions are complete; `tests/docs/test_tables.py` compares their table with docs/sandbox.md."""

from __future__ import annotations

from tests.grader.hostile import ACTS, HOSTILE, LIVE, WANTING


def test_each_submission_is_there_once_and_has_a_control() -> None:
    assert len(HOSTILE) == len(ACTS) + len(WANTING) + len(LIVE) > 45
    assert len({one.what for one in HOSTILE.values()}) == len(HOSTILE)
    assert all(
        one.control and one.exercise and one.control != one.source
        for one in (*WANTING.values(), *LIVE.values())
    )
    assert all("strict" in one.stopped_by for one in HOSTILE.values())
