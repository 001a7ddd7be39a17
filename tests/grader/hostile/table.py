"""What each level stops, as a table for docs/sandbox.md, which `python -m tests.docs.tables` writes there.

It is what tests assert of every submission here: `test_acts`, `test_files` and `test_live` fail where it is not so.
"""

from __future__ import annotations

from tests.grader.hostile import HOSTILE
from tests.grader.hostile.hostile import Hostile

LEVELS = ("strict", "process")


def table() -> str:
    """One row a submission, and a last one with their numbers."""
    rows = ["| what it tries | strict | process |", "|---|---|---|"]
    every = list(HOSTILE.values())
    rows += [_row(one) for one in every]
    counts = [sum(level in one.stopped_by for one in every) for level in LEVELS]
    return "\n".join([*rows, f"| **of {len(every)}** | **{counts[0]}** | **{counts[1]}** |"])


def _row(one: Hostile) -> str:
    told = ["stopped" if level in one.stopped_by else "**not stopped**" for level in LEVELS]
    return f"| {one.what} | {told[0]} | {told[1]} |"


if __name__ == "__main__":
    print(table())
