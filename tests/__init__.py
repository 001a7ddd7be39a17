"""The tests, and where the files are that they read."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def solution_file(exercise: str) -> Path:
    """The shipped solution of an exercise of ours."""
    return ROOT / "grader" / "exercises" / exercise / "solution.py"


def template_file(exercise: str) -> Path:
    """The file of an exercise of ours as the grader ships it."""
    return ROOT / "grader" / "exercises" / exercise / "template.py"
