"""Searches for lines have as much time as in the tests of places."""

from __future__ import annotations

from tests.grader.places.conftest import _unhurried  # noqa: F401  a fixture
