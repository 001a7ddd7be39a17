"""Curves: points where the numbers say, round ticks, a sentence; what cannot be drawn is left out."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.pages.curves import (
    BOTTOM,
    COLOURS,
    HEIGHT,
    LEFT,
    POINTS,
    RIGHT,
    TOP,
    WIDTH,
    Curve,
    chart,
    charts,
    norms_chart,
)
from zoo.training.record import Record

NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=32)


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, _, y in (pair.partition(",") for pair in text.split())]


def test_the_corners_are_the_least_and_the_most() -> None:
    found = chart("Loss", "nats", [Curve("one", [1, 2, 3], [4.0, 2.0, 0.0], 0)])
    assert found is not None
    assert points(found.curves[0].points[0]) == [
        (LEFT, TOP),
        ((LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2),
        (WIDTH - RIGHT, HEIGHT - BOTTOM),
    ]
    assert [tick.text for tick in found.up] == ["0", "1", "2", "3", "4"]
    assert found.says == "Loss. one: from 4 at step 1 to 0 at step 3"


@given(st.lists(NUMBERS, min_size=1, max_size=20), st.booleans(), st.booleans())
def test_any_numbers_are_inside_or_left_out(values: list[float], log: bool, share: bool) -> None:
    share = share and not log
    values = [abs(one) % 100 for one in values] if share else values
    found = chart("x", "y", [Curve("one", range(1, len(values) + 1), values, 0)], log=log, share=share)
    good = [one for one in values if math.isfinite(one) and (one > 0 or not log)]
    assert (found is None) == (not good)
    if found is not None:
        (drawn,) = found.curves
        places = [place for text in drawn.points for place in points(text)] + drawn.dots
        assert len(places) == len(good)
        assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in places)
        assert all(TOP - 0.1 <= tick.at <= HEIGHT - BOTTOM + 0.1 for tick in found.up)
        assert len(found.up) <= 12


def test_a_long_training_is_thinned_and_keeps_its_end() -> None:
    steps = range(1, 100_001)
    found = chart("x", "y", [Curve("one", steps, [1.0 / step for step in steps], 0)])
    assert found is not None
    (text,) = found.curves[0].points
    assert len(points(text)) <= POINTS + 1
    assert points(text)[-1] == (WIDTH - RIGHT, pytest.approx(HEIGHT - BOTTOM, abs=0.1))


def test_charts_of_records() -> None:
    one = Record(
        "one",
        [1, 2],
        [2.0, math.nan],
        [0.1, 0.2],
        {f"encoder {i}": [1.0, 2.0] for i in range(20)},
        [(2, 50.0)],
        "BLEU",
    )
    assert [(each.title, each.unit) for each in charts([one, Record("two", [1], [1.0], [0.0])])] == [
        ("Loss", "nats per token"),
        ("Score", "BLEU"),
        ("Learning rate", "learning rate"),
    ]
    norms = norms_chart(one)
    assert norms is not None
    assert len(norms[1]) == COLOURS
    assert (norms[1][0], norms[1][-1]) == ("encoder 0", "encoder 19")
    assert norms_chart(Record("two", [1], [1.0], [0.0])) is None
