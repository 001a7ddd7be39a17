"""Linear decay."""

from __future__ import annotations

from zoo.schedules.base import Schedule


class LinearSchedule(Schedule):
    """A linear warm-up, then linear decay that would reach 0 one step after the last."""

    def after(self, step: int) -> float:
        """(steps - step) / (steps - warmup)."""
        return (self.steps - step) / (self.steps - self.warmup)
