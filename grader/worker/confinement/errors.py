"""Errors of the confinement. Standard library only."""

from __future__ import annotations


class ConfinementError(OSError):
    """The kernel did not take a part of the confinement. The process must not run a submission then."""
