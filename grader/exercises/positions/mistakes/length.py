"""Mistakes with max_len."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.exercises.positions.mistakes.collection import mistake
from grader.exercises.positions.reference import Steps

LENGTH = "T > max_len: raise ValueError"


def wrapped(table: Tensor, x: Tensor) -> Tensor:
    """Position t uses row t modulo max_len."""
    return table[torch.arange(x.size(1), device=x.device) % table.size(0)]


def looked_up(table: Tensor, x: Tensor) -> Tensor:
    """As `nn.Embedding` does it: an IndexError beyond the table."""
    return F.embedding(torch.arange(x.size(1), device=x.device), table)


def unchecked(_length: int, _max_len: int) -> None:
    """Whatever happens later."""


@mistake(
    "length-not-checked",
    "An input longer than max_len does not raise ValueError. It fails later with an unrelated error, or is "
    "accepted and gets wrong positions.",
    formula=LENGTH,
    hint="What happens for T = max_len + 1? Check the length, and raise an error with both numbers.",
)
def length_not_checked(steps: Steps) -> list[Steps]:
    bare = replace(steps, check=unchecked)
    return [
        bare,
        replace(bare, rows=wrapped),
        replace(bare, rows=looked_up),
        replace(bare, rows=lambda table, x: table[torch.arange(x.size(1)).clamp(max=table.size(0) - 1)]),
        replace(
            bare,
            count=lambda n: steps.count(n + 64),
            rows=lambda t, x: t[: x.size(1)] if t.size(0) > 64 else wrapped(t, x),
        ),
        replace(bare, add=lambda x, rows, training: steps.add(x[:, : rows.size(0)], rows, training)),
    ]


def refusing(error: Callable[[str], BaseException]) -> Callable[[int, int], None]:
    """A check that raises another error."""

    def check(length: int, max_len: int) -> None:
        if length > max_len:
            raise error("too long")

    return check


@mistake(
    "length-other-error",
    "An input longer than max_len raises an error other than ValueError, which callers expect.",
    formula=LENGTH,
    hint="assert raises AssertionError. Which exception does the exercise ask for?",
)
def length_other_error(steps: Steps) -> list[Steps]:
    errors = (AssertionError, TypeError, Exception)
    return [replace(steps, check=refusing(error)) for error in errors]


@mistake(
    "length-too-strict",
    "An input of length max_len is rejected (or has no row for its last position). max_len is the largest "
    "length that must work.",
    formula="T may be anything from 1 to max_len",
    hint="Is it > or >=?",
)
def length_too_strict(steps: Steps) -> list[Steps]:
    def strict(length: int, max_len: int) -> None:
        steps.check(length + 1, max_len)

    return [replace(steps, check=strict), replace(steps, rows=lambda table, x: table[:-1][: x.size(1)])]


@mistake(
    "whole-table-added",
    "The whole table is added instead of its first T rows, so only inputs of length max_len work.",
    formula="forward(x) = x + positions[0 .. T-1]",
    hint="How many rows do you add, and how many does x have?",
)
def whole_table_added(steps: Steps) -> Steps:
    return replace(steps, rows=lambda table, _x: table)


@mistake(
    "table-size-wrong",
    "The table does not have max_len rows of d_model columns: its size is fixed, one too large or too "
    "small, or d_model and max_len are swapped.",
    formula="max_len x d_model trainable parameters",
    hint="Print the shape of the table for d_model=8, max_len=12.",
)
def table_size_wrong(steps: Steps) -> list[Steps]:
    shapes: tuple[Callable[[int, int], tuple[int, ...]], ...] = (
        lambda n, d: (n + 1, d),
        lambda n, d: (n - 1, d),
        lambda n, d: (d, n),
        lambda _n, d: (512, d),
        lambda _n, d: (5000, d),
        lambda n, _d: (n, 1),
        lambda n, _d: (n, 512),
    )
    return [replace(steps, shape=shape) for shape in shapes]


@mistake(
    "one-learned-vector",
    "A single learned vector is added at every position, so positions cannot be distinguished. Each "
    "position needs its own row.",
    formula="max_len x d_model trainable parameters",
    hint="How many trainable parameters are there?",
)
def one_learned_vector(steps: Steps) -> Steps:
    return replace(
        steps,
        shape=lambda _n, d: (1, d),
    )
