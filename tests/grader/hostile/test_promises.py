"""The page of promises says what the hostile submissions say."""

from __future__ import annotations

from tests import ROOT
from tests.bench import costs
from tests.grader.hostile import ACTS, HOSTILE, LIVE, WANTING
from tests.grader.hostile.table import table

PAGE = ROOT / "grader" / "PROMISES.md"


def shown(module: str) -> str:
    """The part of the page that a module makes."""
    _, _, after = PAGE.read_text(encoding="utf-8").partition(f"<!-- made by `python -m {module}` -->\n")
    made, end, _ = after.partition("\n<!-- end -->")
    assert end
    return made


def test_its_table_is_that_of_the_submissions() -> None:
    assert shown("tests.grader.hostile.table") == table()


def test_its_costs_are_those_that_were_measured() -> None:
    assert shown("tests.bench.costs") == costs.table()


def test_each_submission_is_there_once_and_has_a_control() -> None:
    assert len(HOSTILE) == len(ACTS) + len(WANTING) + len(LIVE) > 45
    assert len({one.what for one in HOSTILE.values()}) == len(HOSTILE)
    assert all(
        one.control and one.exercise and one.control != one.source
        for one in (*WANTING.values(), *LIVE.values())
    )
    assert all("strict" in one.stopped_by for one in HOSTILE.values())
