"""Inverse square root decay."""

from __future__ import annotations

import math

from zoo.parts.schedule.base import Schedule


class NoamSchedule(Schedule):
    """A linear warm-up, then decay with the inverse square root: Vaswani et al. 2017, section 5.3.

    With s counted from 1, the paper's rate is d_model^-0.5 min(s^-0.5, s warmup^-1.5): linear up to
    s = warmup, where it is highest, (d_model warmup)^-0.5. As a share of that it is
    min(sqrt(warmup / s), s / warmup), so that this rate as the highest gives the paper's.
    """

    def after(self, step: int) -> float:
        """sqrt(warmup / (step + 1)); without a warm-up, as with one of a single step."""
        return math.sqrt(max(self.warmup, 1) / (step + 1))
