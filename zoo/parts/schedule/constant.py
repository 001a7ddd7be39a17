"""No decay."""

from __future__ import annotations

from zoo.parts.schedule.base import Schedule


class ConstantSchedule(Schedule):
    """A linear warm-up, then the highest rate to the end."""

    def after(self, step: int) -> float:
        """1."""
        return 1.0
