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
MOST_GROUPS = 24  # of values, each of which is moved alone
SMALL = 1e-3  # of the length of all: a gradient so short is none
RIGHT, OTHERS = "those of the output", "others than those of the output"


def said_of_gradients(
    result: Callable[[Mapping[Key, Tensor]], Tensor | None],
    values: Mapping[Key, Tensor],
    gradients: Mapping[Key, Tensor | None],
    cotangent: Tensor,
    first: Tensor,
) -> str:
    """Whether a result grows as gradients say. Nothing can be said where the same call gives another result.

    All values that have a gradient are moved along it at once, then each alone, or of many a few: one may be long, and
    hide the others. Of values that have none, each number is moved up or down, which must not show.

    Args:
        result: of values like those that are given; None where it has another shape.
        values: what gradients may be of.
        gradients: of sum(result * cotangent), as they came; None where none came.
        first: the result of these values.
    """
    came = {key: x.double() for key in values if (x := gradients.get(key)) is not None and bool(x.any())}
    lengths = {key: float(x.norm()) for key, x in came.items()}
    length = math.hypot(*lengths.values())
    if not 0 < length < math.inf:
        return "none"
    again = result(values)
    if again is None:
        return "of another shape in the next call"
    if not torch.equal(again, first):
        return RIGHT

    def is_slope(way: Mapping[Key, Tensor], error: float) -> bool:
        """Whether the result grows as the gradients say. Args: way: of length 1 along them, or where there are none."""
        wanted = sum(float((came[key] * x).sum()) for key, x in way.items() if key in came)
        for step in STEPS:
            above, below = (
                result({key: x.double() + one * way.get(key, 0) for key, x in values.items()})
                for one in (step, -step)
            )
            if above is None or below is None:
                return False
            slope = float(((above.double() - below.double()) * cotangent.double()).sum()) / (2 * step)
            if abs(slope - wanted) <= error:
                return True
        return False

    if not is_slope({key: x / length for key, x in came.items()}, ERROR * length):
        return OTHERS
    least, signs = SMALL * length, torch.Generator().manual_seed(len(values))
    idle = {key: x.shape for key, x in values.items() if key not in came}
    for _ in range(DRAWS if idle else 0):
        if not is_slope(
            {key: torch.randint(2, of, generator=signs) * 2.0 - 1.0 for key, of in idle.items()}, least
        ):
            return OTHERS
    others = [key for key in came if least < lengths[key] < length]
    for group in (others[i::MOST_GROUPS] for i in range(min(MOST_GROUPS, len(others)))):
        own = math.hypot(*(lengths[key] for key in group))
        if not is_slope({key: came[key] / own for key in group}, ERROR * own):
            return OTHERS
    return RIGHT
