"""Searches have more time: what a test is to show does not turn on how busy the machine is."""

from __future__ import annotations

import pytest

from grader.engine.work_clock import SLOWEST, USUAL_S


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.engine.work_clock.USUAL_S", USUAL_S / 1.5)
    monkeypatch.setattr("grader.engine.work_clock.SLOWEST", 3 * SLOWEST)
