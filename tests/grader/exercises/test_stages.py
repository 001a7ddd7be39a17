"""The sentences on the stage of attention that is wrong."""

from __future__ import annotations

import pytest
import torch

from grader.exercises.attention.suite.stages import Weights, name_weights


@pytest.mark.parametrize(
    ("noise", "said"), [(0.1, "more than 99 %, but not all, of their variation"), (3.0, "explains only ")]
)
def test_scores_that_are_almost_the_dot_products_are_not_all_explained(noise: float, said: str) -> None:
    torch.manual_seed(0)
    products = 4 * torch.randn(2, 5, 6, dtype=torch.float64)
    got = (products / 2 + noise * torch.randn_like(products)).softmax(-1)
    named = name_weights(Weights(got, (products / 2).softmax(-1), products, depth=4))
    assert named is not None
    assert named.id == "scores-not-the-dot-products"
    assert said in named.text
    assert "100 %" not in named.text
