"""As for places: searches have more time."""

from __future__ import annotations

from tests.grader.places.conftest import _unhurried  # noqa: F401
