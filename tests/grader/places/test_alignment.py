"""Values are the same up to layout, and no further."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from grader.exercises.feedforward.reference import REFERENCE, namespace
from grader.places.alignment import Collector, RightValues, batch_first, labelled, same_layout

B, T, H, D = 3, 5, 2, 4
MERGED = torch.randn(B, T, H * D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
SPLIT = MERGED.view(B, T, H, D)

SAME = {
    "itself": MERGED,
    "heads split": SPLIT.transpose(1, 2),
    "heads split, keys transposed": SPLIT.permute(0, 2, 3, 1),
    "batch last": MERGED.movedim(0, -1),
    "an axis of one": MERGED.unsqueeze(1),
    "sentences flattened": MERGED.flatten(0, 1),
    "batch and heads in one": SPLIT.transpose(1, 2).flatten(0, 1),
    "side by side with itself": torch.cat([MERGED, MERGED], -1),
    "rounded to float32": MERGED.float().double(),
}
OTHER = {
    "heads merged without a transpose": SPLIT.transpose(1, 2).reshape(B, T, H * D),
    "heads and columns in turns": SPLIT.transpose(2, 3).reshape(B, T, H * D),
    "reversed": MERGED.flip(1),
    "one sentence twice": MERGED[[0, 1, 1]],
    "twice as large": 2 * MERGED,
    "one number off": MERGED.index_fill(0, torch.tensor([0]), 1.0),
}


def values(right: Tensor = MERGED) -> RightValues:
    found = RightValues()
    found.add("projection", right)
    return found


@pytest.mark.parametrize("case", SAME)
def test_another_layout_is_the_same(case: str) -> None:
    found = values().find(SAME[case])
    assert found is not None
    assert found.name == "projection"


@pytest.mark.parametrize("case", OTHER)
def test_other_numbers_in_a_place_are_not(case: str) -> None:
    assert values().find(OTHER[case]) is None


def test_a_head_alone_is_a_part() -> None:
    head = SPLIT[:, :, 1]
    assert values(SPLIT).find(head) is None
    assert values(SPLIT).find_part(head) is not None
    assert values(SPLIT).find_part(head + 1) is None


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_value_with_room_left_in_it_is_a_part(axis: int) -> None:
    room = torch.zeros_like(MERGED).narrow(axis, 0, 2)
    for whole in (torch.cat([MERGED, room], axis), torch.cat([room, MERGED], axis)):
        assert values().find(whole) is None
        assert values().find_part(whole) is not None
    assert values().find_part(torch.cat([MERGED, room + 1], axis)) is None
    assert values().find_part(torch.cat([MERGED.narrow(axis, 0, 2), room], axis)) is None


def test_hiding_with_a_large_number_is_hiding() -> None:
    hidden = MERGED.masked_fill(MERGED > 1, -math.inf)
    for number in (-1e9, torch.finfo(torch.float32).min):
        assert values(hidden).find(MERGED.masked_fill(MERGED > 1, number)) is not None
    assert values(hidden).find(MERGED.masked_fill(MERGED > 1, -10.0)) is None


def test_plain_values_are_right_as_a_whole() -> None:
    found = RightValues()
    found.add("", [[3, 4], [0.1 + 0.2, "a"]], function="")
    assert found.has_plain([[3, 4], [0.3, "a"]])
    assert not found.has_plain([[3, 4], [0.3, "a"]], "f")  # no function gave it
    assert not found.has_plain([[3, 5], [0.3, "a"]])
    assert not found.has_plain([3, 4])


def test_the_steps_of_the_reference_name_what_they_give() -> None:
    found = RightValues()
    network = namespace(labelled(REFERENCE, found))["FeedForward"](4, 6)
    with Collector(found):
        network(torch.randn(2, 3, 4))
    names = [one.name for one in found.values if one.name]
    assert names == ["x W1 + b1", "hidden layer", "output"]


def test_heads_may_come_before_the_batch_and_copies_may_not() -> None:
    heads = torch.randn(B, H, T, D, dtype=torch.float64)
    folded = heads.transpose(0, 1).reshape(H * B, T, D)
    assert same_layout(folded, heads, 1e-9)
    assert batch_first(folded, heads, 1e-9) is False
    assert batch_first(heads.reshape(B * H, T, D), heads, 1e-9) is True
    assert batch_first(folded + 1, heads, 1e-9) is None
    ids = torch.randn(B, T, dtype=torch.float64)
    beams = ids[:, None].expand(B, H, T)
    assert same_layout(ids.repeat_interleave(H, 0), beams, 1e-9)
    assert not same_layout(ids.repeat(H, 1), beams, 1e-9)


def test_rows_that_a_mask_picks_are_a_part() -> None:
    right, values = torch.randn(3, 4, 5).double(), RightValues()
    values.add("q", right)
    picked = right[torch.tensor([[True, False, True, True], [True] * 4, [False] * 4])]
    found = values.find_part(picked)
    assert found is not None
    assert found.name == "q"
    assert values.find_part(picked.flip(0)) is None
    assert values.find_part(picked + 0.1) is None
