"""The projections of an attention among a learner's parameters."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.core.submission import ParameterInfo
from grader.engine.projections import ROLES, missing, projections

WIDTH = 6


def numbers(weights: list[Tensor], biases: list[Tensor], together: list[int]) -> Tensor:
    """All of them in one vector. Args: together: after how many weights their biases follow, each time."""
    starts = [sum(together[:i]) for i in range(len(together))]
    parts = [
        part
        for start, count in zip(starts, together, strict=True)
        for some in (weights, biases)
        for part in some[start : start + count]
    ]
    return torch.cat([one.flatten() for one in parts])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("together", [[4], [1, 1, 1, 1]], ids=str)
def test_all_weights_and_biases_may_be_one_vector(together: list[int], turned: bool) -> None:
    weights, biases = [torch.randn(WIDTH, WIDTH) for _ in ROLES], [torch.randn(WIDTH) for _ in ROLES]
    kept = [one.T.contiguous() if turned else one for one in weights]
    theta = numbers(kept, biases, together)
    wanted = {f"{role}.weight": one for role, one in zip(ROLES, weights, strict=True)}
    wanted |= {f"{role}.bias": one for role, one in zip(ROLES, biases, strict=True)}
    found = [
        one.read({"theta": theta}) for one in projections({"theta": ParameterInfo(theta, True)}, WIDTH, 2)
    ]
    assert any(
        one.keys() == wanted.keys() and all(torch.equal(one[name], wanted[name]) for name in wanted)
        for one in found
    )


def test_a_reading_that_leaves_no_bias_out_comes_first() -> None:
    """Biases often start at 0: with a reading that does not know them, results are right until they have learned."""
    shapes = {"qkv": (3, 2, 3, WIDTH), "qkv_bias": (3, 2, 3), "merge": (2, 3, WIDTH), "merge_bias": (WIDTH,)}
    own = {name: ParameterInfo(torch.randn(shape), True) for name, shape in shapes.items()}
    found = projections(own, WIDTH, 2)
    assert {f"{role}.bias" for role in ROLES} <= found[0].index.keys()
    assert any("q.bias" not in one.index for one in found)


def test_heads_that_are_made_from_the_last_to_the_first_are_in_the_order_of_their_numbers() -> None:
    own = {
        f"head_{i}.{part}": ParameterInfo(torch.full(shape, float(i)), True)
        for i in (1, 0)
        for part, shape in (("q", (3, WIDTH)), ("k", (3, WIDTH)), ("v", (3, WIDTH)), ("out", (WIDTH, 3)))
    }
    values = {name: one.value for name, one in own.items()}
    assert not projections(own, WIDTH, 2)[0].read(values)["q.weight"][0].any()


def test_lengths_beside_directions_are_no_projections() -> None:
    parts = {f"head_{i}.{kind}{n}": (2, (1, WIDTH)[n]) for i in range(3) for kind in "QKV" for n in (0, 1)}
    own = {name: ParameterInfo(torch.randn(shape), True) for name, shape in parts.items()}
    assert missing(projections(own, WIDTH, 3)[0], WIDTH)


@pytest.mark.parametrize("size", [4 * WIDTH * WIDTH + WIDTH, 5 * (WIDTH + 1) * WIDTH])
def test_a_vector_of_another_size_holds_no_projections(size: int) -> None:
    found = projections({"theta": ParameterInfo(torch.randn(size), True)}, WIDTH, 2)
    assert missing(found[0], WIDTH)
