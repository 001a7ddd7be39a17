"""How far a result is from what is expected."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.engine.wording import deviation

NAN, INF = float("nan"), float("inf")
FARTHEST = 1e300
"""As far as this, or farther."""


@pytest.mark.parametrize(
    ("expected", "got", "far"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.5),
        ([1.0, NAN], [1.0, NAN], 0.0),
        ([INF, -INF], [INF, -INF], 0.0),
        ([1.0, 2.0], [1.0, NAN], FARTHEST),
        ([1.0, NAN], [1.0, 2.0], FARTHEST),
        ([1.0, INF], [1.0, 2.0], FARTHEST),
        ([1.0, INF], [1.0, -INF], FARTHEST),
        ([], [], 0.0),
        ([1.0, 1.0], [[1.0], [1.0]], FARTHEST),
    ],
)
def test_what_is_not_finite_on_one_side_only_is_far_beyond_any_bound(
    expected: object, got: object, far: float
) -> None:
    sides: list[Tensor] = [torch.tensor(one) for one in (expected, got)]
    assert min(deviation(*sides), FARTHEST) == far
