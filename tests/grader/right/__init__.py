"""Correct submissions in styles of their own, as EXERCISE/TITLE.py: no hidden test may fail one.

They are graded, and never imported. Each is written as strangers write, so nothing here formats or lints them.
"""

from __future__ import annotations

from pathlib import Path

from grader.author.proofs import solution_text
from grader.catalog import get_exercise

_FOLDER = Path(__file__).parent


def right_files(exercise: str) -> dict[str, str]:
    """Return the sources of an exercise's correct submissions by title: the solution, then the files, sorted."""
    files = sorted((_FOLDER / exercise).glob("*.py"))
    unusual = {file.stem: file.read_text(encoding="utf-8") for file in files}
    return {"solution": solution_text(get_exercise(exercise)), **unusual}
