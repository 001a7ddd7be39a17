"""The projections of an attention among a learner's parameters."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.core.submission import ParameterInfo
from grader.engine.projections import ROLES, projections

WIDTH = 6


def numbers(weights: list[Tensor], biases: list[Tensor], *, turns: bool) -> Tensor:
    """All of them in one vector."""
    pairs = [one.flatten() for pair in zip(weights, biases, strict=True) for one in pair]
    return torch.cat(pairs if turns else [one.flatten() for one in (*weights, *biases)])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("turns", [False, True])
def test_all_weights_and_biases_may_be_one_vector(turns: bool, turned: bool) -> None:
    weights, biases = [torch.randn(WIDTH, WIDTH) for _ in ROLES], [torch.randn(WIDTH) for _ in ROLES]
    kept = [one.T.contiguous() if turned else one for one in weights]
    theta = numbers(kept, biases, turns=turns)
    wanted = {f"{role}.weight": one for role, one in zip(ROLES, weights, strict=True)}
    wanted |= {f"{role}.bias": one for role, one in zip(ROLES, biases, strict=True)}
    found = [
        one.read({"theta": theta}) for one in projections({"theta": ParameterInfo(theta, True)}, WIDTH, 2)
    ]
    assert any(
        one.keys() == wanted.keys() and all(torch.equal(one[name], wanted[name]) for name in wanted)
        for one in found
    )


@pytest.mark.parametrize("size", [4 * WIDTH * WIDTH + WIDTH, 5 * (WIDTH + 1) * WIDTH])
def test_a_vector_of_another_size_holds_no_projections(size: int) -> None:
    found = projections({"theta": ParameterInfo(torch.randn(size), True)}, WIDTH, 2)
    assert found[0].missing(WIDTH)
