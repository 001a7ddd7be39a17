"""Limits in seconds of `work_clock` leave as much work to a busy processor as to an idle one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from grader.engine import work_clock
from grader.engine.work_clock import AGAIN_S, SLOWEST, USUAL_S, WorkClock, clock


class Processor:
    """Its CPU time, and how many times as long as usual it takes for the piece of work that is measured."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.slowness = 100.0, 1.0
        monkeypatch.setattr(work_clock, "time", SimpleNamespace(process_time=lambda: self.now))
        monkeypatch.setattr(work_clock, "_work", lambda: self.run(USUAL_S * self.slowness))

    def run(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Processor:
    return Processor(monkeypatch)


@pytest.mark.parametrize(("slowness", "counted"), [(1.0, 1.0), (2.5, 2.5), (0.5, 1.0), (50.0, SLOWEST)])
def test_time_counts_less_where_work_takes_longer(
    processor: Processor, slowness: float, counted: float
) -> None:
    processor.slowness = slowness
    one = WorkClock()
    begun = one.seconds()
    processor.run(6.0)
    assert one.seconds() - begun == pytest.approx(6.0 / counted)
    assert one.slowness() == pytest.approx(counted)


def test_it_follows_a_processor_that_others_use_now_and_then_and_never_goes_back(
    processor: Processor,
) -> None:
    one, seen = WorkClock(), list[float]()
    for slowness in (1.0, 3.0, 1.0, 4.0):
        processor.slowness = slowness
        processor.run(2 * AGAIN_S)
        one.seconds()
        assert one.slowness() == pytest.approx(slowness)
        for _ in range(5):
            processor.run(AGAIN_S / 10)
            seen.append(one.seconds())
    assert seen == sorted(seen)


def test_measuring_is_not_counted_and_not_repeated_at_once(processor: Processor) -> None:
    one = WorkClock()
    first = one.seconds()
    for _ in range(100):
        assert one.seconds() == pytest.approx(first)
    assert processor.now == pytest.approx(100.0 + USUAL_S)


def test_the_real_one_leaves_random_numbers_and_gradients_as_they_are() -> None:
    state = torch.get_rng_state()
    one = WorkClock()
    assert 1.0 <= one.slowness() <= SLOWEST
    assert torch.equal(state, torch.get_rng_state())
    assert torch.is_grad_enabled()
    assert clock.seconds() >= 0.0
