"""Linear decay."""

from __future__ import annotations

from zoo.parts.schedule.base import Schedule


class LinearSchedule(Schedule):
    """A linear warm-up, then linear decay that reaches 0 one step after the last, and stays there."""

    def after(self, step: int) -> float:
        """(steps - step) / (steps - warmup)."""
        return self.left(step)
