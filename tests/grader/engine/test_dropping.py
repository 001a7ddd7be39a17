"""What is said of dropout: in particular whether each number is dropped for itself."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.engine.dropping import (
    ON_AVERAGE,
    alike_along,
    chosen,
    drawn_again,
    dropping_facts,
    mean_after,
    said_of_factor,
)

AXES = ("sentences", "positions", "features")


def gone(*shape: int, seed: int = 0, rate: float = 0.25) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < rate


def test_numbers_dropped_for_themselves_are_never_taken_for_others() -> None:
    for seed in range(300):
        shape = ((40, 6, 16), (24, 4, 4), (8, 5, 3), (3, 70, 2), (2, 2, 2))[seed % 5]
        shown = gone(*shape, seed=seed + 1000, rate=0.8)
        drawn = gone(*shape, seed=seed, rate=(0.1, 0.25, 0.5, 0.9)[seed % 4])
        assert alike_along(drawn, AXES) == "nowhere"
        assert alike_along(drawn, AXES, shown) == "nowhere"


@pytest.mark.parametrize("dim", range(3))
def test_one_choice_for_all_is_seen_along_its_axis(dim: int) -> None:
    shape = [40, 6, 16]
    one = [1 if i == dim else n for i, n in enumerate(shape)]
    for seed in range(20):
        drawn = gone(*one, seed=seed).expand(shape)
        assert alike_along(drawn, AXES) == f"along the {AXES[dim]}"
        assert alike_along(drawn, AXES, gone(*shape, seed=seed, rate=0.7)) == f"along the {AXES[dim]}"


def test_a_choice_of_two_axes_names_both() -> None:
    assert alike_along(gone(40, 1, 1).expand(40, 12, 16), AXES) == "along the positions and the features"


@pytest.mark.parametrize(("dim", "size"), [(0, 2), (1, 3), (2, 4), (2, 8)])
def test_blocks_that_share_a_choice_are_seen_along_their_axis(dim: int, size: int) -> None:
    shape = [120, 6, 16]
    for seed in range(20):
        few = [-(-n // size) if i == dim else n for i, n in enumerate(shape)]
        drawn = gone(*few, seed=seed, rate=(0.1, 0.25)[seed % 2])
        blocks = drawn.repeat_interleave(size, dim).narrow(dim, 0, shape[dim])
        assert alike_along(blocks, AXES) == f"for blocks along the {AXES[dim]}"
    halves = gone(120, 6, 8).repeat(1, 1, 2)
    assert alike_along(halves, AXES) == "for blocks along the features"
    every_ninth = gone(9, 6, 16)[torch.arange(120) % 9]
    assert alike_along(every_ninth, AXES) == "for blocks along the sentences"


def test_how_large_numbers_are_does_not_decide_on_them() -> None:
    for seed in range(50):
        before = torch.randn(100, 6, 16, generator=torch.Generator().manual_seed(seed)).exp()
        drawn = gone(100, 6, 16, seed=seed + 1)
        assert chosen(drawn, AXES, before)["chosen by"] == "chance"
        largest = before + torch.rand(before.shape) > before.quantile(0.75)
        assert chosen(largest, AXES, before)["chosen by"] == "how large the numbers are"
        small = (before - 1).abs() + gone(100, 6, 16, seed=seed) < 0.3
        assert chosen(small, AXES, before - 1)["chosen by"] == "how large the numbers are"


def test_nothing_or_all_dropped_is_no_choice() -> None:
    for drawn in (torch.zeros(9, 9, 9).bool(), torch.ones(9, 9, 9).bool()):
        assert alike_along(drawn, AXES) == "nowhere"


def test_facts_look_at_what_is_shown_alone() -> None:
    drawn = gone(40, 6, 16)
    kept = (~drawn).double() / 0.75
    shown = gone(40, 6, 16, seed=9, rate=0.5)
    right = {
        "share of the branch dropped": "0.25",
        "factor of what is kept": "1.33",
        "dropped": "number by number",
        "one choice for all": "nowhere",
        "chosen by": "chance",
        ON_AVERAGE: "as large as without",
    }
    assert dropping_facts(kept, 0.25) == right
    assert dropping_facts(torch.where(shown, kept, 7.0), 0.25, shown) == right


def test_calls_are_told_apart() -> None:
    assert drawn_again(torch.ones(3), torch.ones(3)) == "the same numbers"
    assert drawn_again(torch.ones(3), torch.zeros(3)) == "other numbers"
    assert drawn_again(None, torch.zeros(3)) == "other numbers"
    assert drawn_again(torch.ones(3), torch.zeros(3), torch.ones(3)) == "the same numbers"


@pytest.mark.parametrize(
    ("rate", "digits", "said"), [(0.68, 2, "3.13"), (0.36, 3, "1.562"), (0.5, 3, "2.000")]
)
def test_rounding_does_not_decide_how_a_right_factor_is_said(rate: float, digits: int, said: str) -> None:
    for off in (-1e-5, 0.0, 1e-5):
        assert said_of_factor(1 / (1 - rate) + off, rate, digits) == said
    assert said_of_factor(1.0, rate, 2) == "1.00"


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5])
def test_a_mean_that_chance_may_give_is_as_before(rate: float) -> None:
    """And one that is off by a sixth is not."""
    for seed in range(200):
        drawn = gone(400, 6, 13, seed=seed, rate=rate)
        assert mean_after(drawn, 1 / (1 - rate)) == "as large as without"
        assert mean_after(drawn, 1 / (1 - rate) - 0.15) == "smaller"
        assert mean_after(drawn, 1 / (1 - rate) + 0.15) == "larger"


def test_fewer_numbers_dropped_than_the_factor_says() -> None:
    kept = (~gone(400, 6, 16, rate=0.22)).double() / 0.75
    assert dropping_facts(kept, 0.25)[ON_AVERAGE] == "larger"
    in_whole = (~gone(400, 6, 1, rate=0.22)).double().expand(400, 6, 16) / 0.75
    assert (
        dropping_facts(in_whole, 0.25)[ON_AVERAGE] == "as large as without"
    )  # too few choices to be sure of it
