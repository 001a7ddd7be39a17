"""Mistakes in which rows are taken, and what is done with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.positions.mistakes.collection import SUM, mistake
from grader.exercises.positions.reference import Steps


def with_rows(steps: Steps, *ways: Callable[[Tensor, Tensor], Tensor]) -> list[Steps]:
    """Other rows of the table."""
    return [replace(steps, rows=way) for way in ways]


def with_sum(steps: Steps, *ways: Callable[[Tensor, Tensor], Tensor]) -> list[Steps]:
    """Something else than the sum of x and the rows."""
    return [replace(steps, add=lambda x, rows, _training, way=way: way(x, rows)) for way in ways]  # type: ignore[misc]


@mistake(
    "added-along-batch",
    "The rows are added along the batch, not along the sequence: all positions of a sentence get the same "
    "row, and the next sentence gets the next row. With x [B, T, D], T is the second dimension.",
    formula=SUM,
    hint="What is x.size(0), and how does [T, 1, D] broadcast against [B, T, D]?",
    source="pytorch/tutorials#1547",
)
def added_along_batch(steps: Steps) -> list[Steps]:
    return with_rows(steps, lambda table, x: table[: x.size(0)].unsqueeze(1))


@mistake(
    "rows-counted-by-batch",
    "The number of rows is x.size(0), the batch size; it must be the length. With x [B, T, D], T is the "
    "second dimension.",
    formula=SUM,
    hint="Which dimension of x is the length?",
    source="KasperGroesLudvigsen/influenza_transformer#9",
)
def rows_counted_by_batch(steps: Steps) -> list[Steps]:
    return with_rows(steps, lambda table, x: table[: x.size(0)])


@mistake(
    "rows-misplaced",
    "The rows have an extra dimension ([T, 1, D]), so they broadcast along the batch instead of the "
    "positions. That raises an error, or gives a wrong shape or wrong values.",
    formula="[B, T, D] + [T, D]",
    hint="Write the two shapes below each other, aligned on the right.",
    source="PyTorch, broadcasting semantics",
)
def rows_misplaced(steps: Steps) -> list[Steps]:
    return with_rows(steps, lambda table, x: table[: x.size(1)].unsqueeze(1))


@mistake(
    "one-position-for-all",
    "Every position gets the same row: the table is indexed with [T] instead of sliced with [:T].",
    formula=SUM,
    hint="What is the shape of table[T], and what of table[:T]?",
    source="DiffPoseTalk/DiffPoseTalk#20",
)
def one_position_for_all(steps: Steps) -> list[Steps]:
    return with_rows(
        steps,
        lambda table, x: table[x.size(1)],
        lambda table, x: table[x.size(1) - 1],
        lambda table, _x: table[0],
        lambda table, x: table[x.size(0)],
        lambda table, x: table[: x.size(1)].mean(0),
    )


@mistake(
    "starts-at-one",
    "The positions start at 1; the first position is 0.",
    formula=SUM,
    hint="Which row belongs to the first token?",
)
def starts_at_one(steps: Steps) -> list[Steps]:
    return [
        replace(
            steps,
            count=lambda max_len: steps.count(max_len) + 1,
            rows=lambda table, x: (
                steps.rows(table, x).roll(-1, 0) if table.requires_grad else steps.rows(table, x)
            ),
        ),
        *with_rows(steps, lambda table, x: table[1 : x.size(1) + 1]),
    ]


@mistake(
    "positions-reversed",
    "The positions count backwards, or from the end of the table: the last token gets row 0, or the last "
    "rows are used.",
    formula=SUM,
    hint="Which row belongs to the first token, whatever the length?",
)
def positions_reversed(steps: Steps) -> list[Steps]:
    return with_rows(
        steps,
        lambda table, x: table[: x.size(1)].flip(0),
        lambda table, _x: table[-_x.size(1) :],
        lambda table, x: table.flip(0)[: x.size(1)],
    )


@mistake(
    "concatenated",
    "The positions are concatenated with x, which makes the result wider; they must be added.",
    formula=SUM,
    hint="What is the shape of the result?",
    source="Attention Is All You Need, section 3.5: 'the two can be summed'",
)
def concatenated(steps: Steps) -> list[Steps]:
    return with_sum(
        steps,
        lambda x, rows: torch.cat([x, rows.expand_as(x)], -1),
        lambda x, rows: torch.cat([rows.expand_as(x), x], -1),
    )


@mistake(
    "multiplied-not-added",
    "x is multiplied by the positions; they must be added.",
    formula=SUM,
    hint="What is the result for x = 0?",
)
def multiplied_not_added(steps: Steps) -> list[Steps]:
    return with_sum(steps, lambda x, rows: x * rows, lambda x, rows: x + x * rows)


@mistake(
    "input-not-added",
    "The positions are returned without x; they must be added to x.",
    formula=SUM,
    hint="Does the last line use x?",
)
def input_not_added(steps: Steps) -> list[Steps]:
    return with_sum(
        steps,
        lambda _x, rows: rows,
        lambda _x, rows: rows.unsqueeze(0),
        lambda x, rows: rows.expand_as(x),
        lambda x, rows: rows + 0 * x,
    )


@mistake(
    "positions-not-added",
    "x is returned unchanged: the positions are not added to it.",
    formula=SUM,
    hint="What is the result for x = 0? x.add(rows) without an underscore returns a new tensor.",
)
def positions_not_added(steps: Steps) -> list[Steps]:
    return with_sum(steps, lambda x, _rows: x)


@mistake(
    "scaled",
    "x (or the positions) is multiplied by sqrt(d_model). That belongs to the embedding: here x is used "
    "unchanged.",
    formula=SUM,
    hint="What is the output minus the input?",
    source="Attention Is All You Need, section 3.4",
)
def scaled(steps: Steps) -> list[Steps]:
    return with_sum(
        steps,
        lambda x, rows: x * x.size(-1) ** 0.5 + rows,
        lambda x, rows: x / x.size(-1) ** 0.5 + rows,
        lambda x, rows: x + rows * x.size(-1) ** 0.5,
        lambda x, rows: x + rows / x.size(-1) ** 0.5,
        lambda x, rows: (x + rows) * x.size(-1) ** 0.5,
    )


@mistake(
    "subtracted",
    "The positions are subtracted; they must be added.",
    formula=SUM,
    hint="What is the result for x = 0?",
)
def subtracted(steps: Steps) -> list[Steps]:
    return with_sum(steps, lambda x, rows: x - rows)


@mistake(
    "input-changed-in-place",
    "x is modified in place, which changes the caller's tensor.",
    formula=SUM,
    hint="x += rows modifies x itself; x = x + rows creates a new tensor.",
)
def input_changed_in_place(steps: Steps) -> list[Steps]:
    return with_sum(steps, lambda x, rows: x.add_(rows))


@mistake(
    "nothing-returned",
    "The call returns None. Probably `return` is missing.",
    formula=SUM,
    hint="Look at the last line.",
)
def nothing_returned(steps: Steps) -> Steps:
    return replace(steps, add=lambda _x, _rows, _training: None)
