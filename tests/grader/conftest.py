"""Sandboxes that tests share which only need a worker: torch is imported once for all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from grader.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """At level "process"."""
    with Sandbox("process") as shared:
        yield shared


@pytest.fixture(scope="session")
def _best_sandbox() -> Iterator[Sandbox]:
    with Sandbox() as shared:
        yield shared


@pytest.fixture
def commands_share_a_sandbox(monkeypatch: pytest.MonkeyPatch, _best_sandbox: Sandbox) -> None:
    """Every command that is run in this process takes the one, at the best level that there is."""
    monkeypatch.setattr("grader.sandbox.sandbox.Sandbox", lambda _: contextlib.nullcontext(_best_sandbox))


@pytest.fixture(autouse=True)
def _shorter_search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second line is looked for a quarter as long, except by slow tests: right or not, that takes all of its time."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr("grader.places.undoing.SECOND_S", 0.1)
        monkeypatch.setattr("grader.places.cures.SECOND_S", 0.1)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few changes are tried: where none of them helps, that takes all the time there is."""
    monkeypatch.setattr("grader.places.undoing.ALL_S", 0.5)
    monkeypatch.setattr("grader.places.undoing.LEAST_S", 0.5)
