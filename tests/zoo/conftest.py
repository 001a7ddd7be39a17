"""What tests of comparisons share."""

from __future__ import annotations

import pytest


@pytest.fixture
def timed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `zoo compare` times in this process is run about once: no test is about the seconds."""
    monkeypatch.setattr("zoo.analysis.benchmarking.ROUNDS", 1)
    monkeypatch.setattr("zoo.analysis.compare.ROUNDS", 1)
    monkeypatch.setattr("zoo.analysis.measure.LEAST_SECONDS", 0.001)
