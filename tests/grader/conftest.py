"""One sandbox for the tests that only need workers: torch is imported once for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("process") as shared:
        yield shared
