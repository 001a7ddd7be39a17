"""Whether gradients are those of a result, measured by small steps: nothing has to be known of how it is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor

Key = TypeVar("Key")

STEPS = 1e-3, 1e-4  # in doubles; beside a kink, as of ReLU, a smaller step is needed
DRAWS = 5  # of the ways in which what has no gradient is moved: one may hardly show
ERROR = 0.05  # of the slope: what is not linear was off by a thousandth at most
RIGHT = "those of the output"


def said_of_gradients(
    result: Callable[[Mapping[Key, Tensor]], Tensor | None],
    values: Mapping[Key, Tensor],
    gradients: Mapping[Key, Tensor | None],
    cotangent: Tensor,
    first: Tensor,
) -> str:
    """Whether a result grows as gradients say. Nothing can be said where the same call gives another result.

    Each value that has a gradient is moved along it. Of one that has none, each number is moved up or down, which must
    not show.

    Args:
        result: of values like those that are given; None where it has another shape.
        values: what gradients may be of.
        gradients: of sum(result * cotangent), as they came; None where none came.
        first: the result of these values.
    """
    came = {key: x.double() for key in values if (x := gradients.get(key)) is not None and bool(x.any())}
    length = math.sqrt(sum(float(x.square().sum()) for x in came.values()))
    if not 0 < length < math.inf:
        return "none"
    again = result(values)
    if again is None:
        return "of another shape in the next call"
    if not torch.equal(again, first):
        return RIGHT
    signs = torch.Generator().manual_seed(len(values))

    def is_slope(way: Mapping[Key, Tensor]) -> bool:
        for step in STEPS:
            above, below = (
                result({key: x.double() + one * way[key] for key, x in values.items()})
                for one in (step, -step)
            )
            if above is None or below is None:
                return False
            slope = float(((above.double() - below.double()) * cotangent.double()).sum()) / (2 * step)
            if abs(slope - length) <= ERROR * length:
                return True
        return False

    for _ in range(DRAWS if len(came) < len(values) else 1):
        up_or_down = {
            key: torch.randint(2, x.shape, generator=signs) * 2.0 - 1.0 for key, x in values.items()
        }
        if not is_slope(up_or_down | {key: x / length for key, x in came.items()}):
            return "others than those of the output"
    return RIGHT
