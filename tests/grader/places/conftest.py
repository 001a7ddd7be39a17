"""Searches have three times the time: what a test is to show does not turn on how busy the machine is."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

THIRD = SimpleNamespace(process_time=lambda: time.process_time() / 3, monotonic=time.monotonic)


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (
        "grader.places.wrong_results",
        "grader.places.recorded_runs",
        "grader.places.undoing",
        "grader.engine.naming",
    ):
        monkeypatch.setattr(f"{module}.time", THIRD)
