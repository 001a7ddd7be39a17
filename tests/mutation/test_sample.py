"""A sample of mutants: at least so many are killed, explained and shown at their line as when this was last raised."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation.__main__ import counts, main, table

EACH = 13  # mutants of each of the twelve exercises
# The bars are 99 %, 95 %, 90 % and at most 3 %.
KILLED, EXPLAINED, RIGHT, WRONG = 0.98, 0.95, 0.90, 0.06


@pytest.mark.slow(always=True)
def test_a_sample(tmp_path: Path) -> None:
    """In one process at a time: where tests share the cores, another would only take those of other tests."""
    options = ["--sample", str(EACH), "--names", "--only-mutants", "--jobs", "1"]
    rows = main([*options, "--output", str(tmp_path / "rows.csv")])
    found = counts(rows)
    print(table(rows))
    assert found.mutants == 12 * EACH
    broken = [row for row in rows if row.why == "lost" or row.said.startswith("GRADER BROKE")]
    assert not [(row.exercise, row.base, row.change, row.said) for row in broken]
    assert found.killed >= KILLED
    assert found.explained >= EXPLAINED
    assert found.right >= RIGHT
    assert found.wrong <= WRONG
