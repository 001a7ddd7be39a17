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
