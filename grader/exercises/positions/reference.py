"""Positions in small steps, so that a known mistake is the reference with one step replaced.

x + PE(t), with sinusoids or trained rows ("Attention Is All You Need", section 3.5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from grader.api import one_token

SINUSOIDAL, LEARNED = "SinusoidalPositions", "LearnedPositions"


def check(length: int, max_len: int) -> None:
    """Raises ValueError if there are no positions for so long an input."""
    if length > max_len:
        raise ValueError(f"the input has {length} positions, but max_len is {max_len}")


def count(max_len: int) -> Tensor:
    """The positions t: [max_len, 1]."""
    return torch.arange(max_len, dtype=torch.float64).unsqueeze(1)


def even(d_model: int) -> Tensor:
    """The 2i of the formula: [ceil(D / 2)]."""
    return torch.arange(0, d_model, 2, dtype=torch.float64)


def angles(t: Tensor, d_model: int) -> tuple[Tensor, Tensor]:
    """t / 10000^(2i / D) for the sines and for the cosines: twice [max_len, ceil(D / 2)]."""
    angle = t / 10000 ** (even(d_model) / d_model)
    return angle, angle


def waves(of_sines: Tensor, of_cosines: Tensor, d_model: int) -> Tensor:
    """Sine and cosine in turns: [max_len, D]."""
    pairs = torch.stack([of_sines.sin(), of_cosines.cos()], -1)  # [max_len, ceil(D / 2), 2]
    return pairs.flatten(1)[:, :d_model]  # an odd width has one cosine less


@dataclass(frozen=True)
class Steps:
    """The whole computation, in order. `dataclasses.replace` makes a mistake of it."""

    NAMES: ClassVar[Mapping[str, str]] = {
        "count": "positions", "angles": "angles", "waves": "sinusoids", "dtype": "table",
        "rows": "rows of the table", "add": "output",
    }  # fmt: skip

    check: Callable[[int, int], None] = check
    count: Callable[[int], Tensor] = count
    angles: Callable[[Tensor, int], tuple[Tensor, Tensor]] = angles
    waves: Callable[[Tensor, Tensor, int], Tensor] = waves
    shape: Callable[[int, int], tuple[int, ...]] = lambda max_len, d_model: (max_len, d_model)
    sinusoids_train: bool = False
    learned_train: bool = True
    dtype: Callable[[Tensor, Tensor], Tensor] = lambda table, x: table.to(x)
    rows: Callable[[Tensor, Tensor], Tensor] = lambda table, x: table[: x.size(1)]
    add: Callable[[Tensor, Tensor, bool], Any] = lambda x, rows, _training: x + rows

    def forward(self, table: Tensor, x: Tensor, max_len: int, training: bool) -> Any:
        """x [B, T, D], table [max_len, D] -> [B, T, D]."""
        self.check(x.size(1), max_len)
        return self.add(x, self.rows(table, x), training)


REFERENCE = Steps()


FIRST_CALLS = {LEARNED: one_token}
"""Of the classes that have parameters, see `grader.core.submission.Submission`."""


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    class SinusoidalPositions(nn.Module):
        def __init__(self, d_model: int, max_len: int = 5000) -> None:
            super().__init__()
            self.max_len = max_len
            table = steps.waves(*steps.angles(steps.count(max_len), d_model), d_model)
            self.table = nn.Parameter(table) if steps.sinusoids_train else table

        def forward(self, x: Tensor) -> Any:
            return steps.forward(steps.dtype(self.table, x), x, self.max_len, self.training)

    class LearnedPositions(nn.Module):
        def __init__(self, d_model: int, max_len: int = 512) -> None:
            super().__init__()
            self.max_len = max_len
            table = torch.randn(steps.shape(max_len, d_model))
            self.table = nn.Parameter(table) if steps.learned_train else table

        def forward(self, x: Tensor) -> Any:
            table = self.table if steps.learned_train else self.table.to(x)
            return steps.forward(table, x, self.max_len, self.training)

    return {SINUSOIDAL: SinusoidalPositions, LEARNED: LearnedPositions}
