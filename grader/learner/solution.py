"""The source of a solution."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from grader.catalog import Exercise
from zoo.core.errors import PluginError


def solution_text(exercise: Exercise) -> str:
    """The shipped solution's source, read and not run. Raises PluginError if it is not installed."""
    try:
        spec = importlib.util.find_spec(exercise.solution)
        return Path((spec.origin if spec is not None else None) or "").read_text(encoding="utf-8")
    except (ImportError, OSError, ValueError) as error:
        raise PluginError(
            f"The solution of exercise '{exercise.name}' ({exercise.solution}) is not installed."
        ) from error
