"""The grader: runs hidden tests against what a learner wrote, and names the mistake.

    import grader

    grade = grader.grade_file("attention.py")

Importing this imports no torch; `grader.library` has what is offered here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.library import Grade, GraderBrokenError, Result, grade_file

__all__ = ["Grade", "GraderBrokenError", "Result", "grade_file"]


def __getattr__(name: str) -> Any:
    """Import `grader.library` when one of its names is first used; the worker, which imports this too, uses none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("grader.library"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
