"""Schedules with one thing wrong each."""

from __future__ import annotations

import torch

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.schedule.linear import LinearSchedule


@wrong("schedule", "gives a share from 0 to 1 at every step", "expected a share from 0 to 1")
class ScheduleBelowZero(LinearSchedule):
    def after(self, step: int) -> float:
        return (self.steps // 2 - step) / self.steps


@wrong("schedule", "gives a share from 0 to 1 at every step", "ZeroDivisionError")
class ScheduleThatNeedsAWarmUp(LinearSchedule):
    def __call__(self, step: int) -> float:
        return min(1.0, (step + 1) / self.warmup)


@wrong("schedule", "gives a share from 0 to 1 at every step", "expected a number, got Tensor")
class ScheduleOfTensors(LinearSchedule):
    def __call__(self, step: int) -> float:
        return torch.tensor(super().__call__(step))  # type: ignore[return-value]


@wrong("schedule", "reaches the highest rate", "of the highest rate")
class ScheduleTooLow(LinearSchedule):
    def __call__(self, step: int) -> float:
        return super().__call__(step) / 3


@wrong("schedule", "gives the same rate for a step, in any order of calls", "in another order")
class ScheduleThatCounts(LinearSchedule):
    calls = -1

    def __call__(self, step: int) -> float:
        self.calls += 1
        return 1 / (1 + self.calls)
