"""Schedules of the learning rate: what holds for all, and each against its formula."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import pytest
import torch

from zoo.core.blueprint import make_blueprint
from zoo.core.errors import ZooError
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.models.builder import build_schedule
from zoo.parts.schedule.base import Schedule
from zoo.parts.schedule.constant import ConstantSchedule
from zoo.parts.schedule.cosine import CosineSchedule
from zoo.parts.schedule.linear import LinearSchedule
from zoo.parts.schedule.noam import NoamSchedule

LENGTHS = [(1, 1), (1, 40), (2, 1), (5, 5), (5, 9), (10, 3), (300, 40), (300, 299), (7, 0)]

every_schedule = pytest.mark.parametrize("variant", get_registry().variants("schedule"), ids=lambda v: v.name)


def shares(schedule: Schedule, steps: int) -> list[float]:
    return [schedule(step) for step in range(steps)]


@every_schedule
@pytest.mark.parametrize(("steps", "warmup"), LENGTHS)
def test_every_step_has_a_share_from_0_to_1_and_the_highest_is_reached(
    variant: Variant, steps: int, warmup: int
) -> None:
    got = shares(variant.load()(steps, warmup), steps)
    assert all(type(share) is float and 0 < share <= 1 for share in got)
    assert max(got) == 1


@every_schedule
@pytest.mark.parametrize(("steps", "warmup"), LENGTHS)
def test_it_warms_up_in_a_straight_line(variant: Variant, steps: int, warmup: int) -> None:
    schedule, cut = variant.load()(steps, warmup), min(steps, warmup)
    assert shares(schedule, cut) == [(step + 1) / cut for step in range(cut)]


@every_schedule
@pytest.mark.parametrize(("steps", "warmup"), [*LENGTHS, (0, 0), (0, 3)])
def test_after_the_last_step_it_is_still_a_share_and_does_not_rise(
    variant: Variant, steps: int, warmup: int
) -> None:
    got = shares(variant.load()(steps, warmup), 2 * steps + 2)
    assert all(math.isfinite(share) and 0 <= share <= 1 for share in got)
    assert all(b <= a for a, b in itertools.pairwise(got[steps:]))


@pytest.mark.parametrize("warmup", [3, 10, 12])
@pytest.mark.parametrize(("name", "last"), [("linear", 0), ("cosine:floor=0.25", 0.25), ("constant", 1)])
def test_torchs_scheduler_goes_one_step_further_and_may_go_on(name: str, last: float, warmup: int) -> None:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=2.0)
    schedule = build_schedule(make_blueprint(schedule=name), 10, warmup)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
    for step in range(1, 15):
        optimizer.step()
        scheduler.step()
        assert scheduler.get_last_lr() == [2 * (schedule(step) if step < 10 else last)]


@every_schedule
def test_it_does_not_jump(variant: Variant) -> None:
    got = shares(variant.load()(10_000, 1_000), 10_000)
    assert max(abs(b - a) for a, b in itertools.pairwise(got)) <= 1.001e-3  # as steep as the warm-up


@every_schedule
def test_it_remembers_nothing(variant: Variant) -> None:
    schedule = variant.load()(20, 5)
    assert [schedule(step) for step in reversed(range(20))] == shares(schedule, 20)[::-1]


def test_linear() -> None:
    got = shares(LinearSchedule(10, 4), 11)
    assert got == pytest.approx([0.25, 0.5, 0.75, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6, 0])


@pytest.mark.parametrize(("d_model", "warmup"), [(512, 4000), (64, 7), (3, 1)])
def test_noam_as_a_share_of_the_papers_highest_rate_is_the_papers(d_model: int, warmup: int) -> None:
    schedule, highest = NoamSchedule(10 * warmup, warmup), (d_model * warmup) ** -0.5
    for step in range(0, 10 * warmup, max(1, warmup // 7)):
        s = step + 1
        rate = d_model**-0.5 * min(s**-0.5, s * warmup**-1.5)
        assert highest * schedule(step) == pytest.approx(rate, rel=1e-12)
    assert highest * schedule(warmup - 1) == pytest.approx(highest)


def test_noam_without_a_warm_up_starts_at_the_top() -> None:
    assert shares(NoamSchedule(4, 0), 4) == pytest.approx([1, 2**-0.5, 3**-0.5, 0.5])


@pytest.mark.parametrize("floor", [0.0, 0.1, 1.0])
def test_cosine(floor: float) -> None:
    schedule = CosineSchedule(50, 10, floor)
    for step in range(10, 50):
        wave = 0.5 * (1 - floor) * (1 + math.cos(math.pi * (step - 10) / 40))
        assert schedule(step) == pytest.approx(floor + wave)
    assert schedule(10) == 1
    assert schedule(30) == pytest.approx((1 + floor) / 2)
    assert schedule(50) == pytest.approx(floor)  # one step after the last
    assert min(shares(schedule, 50)[10:]) >= floor


def test_constant() -> None:
    assert shares(ConstantSchedule(6, 2), 6) == [0.5, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("floor", [-0.1, 1.1, math.nan])
def test_the_floor_is_a_share(floor: float) -> None:
    with pytest.raises(ValueError, match="expected a share of the highest rate, from 0 to 1"):
        CosineSchedule(10, 2, floor)


def test_options_reach_the_schedule() -> None:
    schedule = build_schedule(make_blueprint(schedule="cosine:floor=0.25"), 10, 2)
    assert schedule(10) == pytest.approx(0.25)
    with pytest.raises(ZooError, match="expected a number from 0 to 1"):
        make_blueprint(schedule="cosine:floor=2")


def test_none_of_them_imports_torch() -> None:
    check = (
        "import sys\n"
        "from zoo.core.plugins import get_registry\n"
        "for variant in get_registry().variants('schedule'):\n"
        "    variant.load()(10, 2)(5)\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
