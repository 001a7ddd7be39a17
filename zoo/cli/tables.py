"""The table of `zoo compare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from zoo.cli.describe import brief
from zoo.cli.text import GAP, width, wrapped

if TYPE_CHECKING:
    from zoo.compare import Conditions, Row

NARROWEST_CELL = 10


def comparison(rows: Sequence[Row], axes: Sequence[str], conditions: Conditions) -> str:
    """One line a row, with its choices on `axes`; notes below."""
    from tabulate import tabulate

    trained = conditions.task is not None
    headers = [*axes, "params", "GFLOP", "forward", "step", "memory", "vs eager", *["score"] * trained]
    notes: list[str] = []
    cells = []
    for row in rows:
        refused = row.parameters is None
        note = f"Refused. {row.note}" if refused else row.note
        notes += [note] if note and note not in notes else []
        mark = f"({notes.index(note) + 1})" if note else "-"
        numbers = [mark, *[""] * 6] if refused else _numbers(row, mark)
        choices = [brief(axis, row.blueprint[axis]) for axis in axes]
        cells.append([*choices, *(numbers if trained else numbers[:-1])])
    align = ["left"] * len(axes) + ["right"] * (len(headers) - len(axes))
    lines = [headers, *cells]
    table = tabulate(
        lines, tablefmt="plain", colalign=align, disable_numparse=True, maxcolwidths=_limits(lines, len(axes))
    )
    below = [wrapped(f"({number}) {note}") for number, note in enumerate(notes, 1)]
    return "\n".join([table, "", wrapped(_under(rows[0], conditions)), *below])


def _limits(cells: Sequence[Sequence[str]], wrapping: int) -> list[int | None]:
    """Widths that fit the terminal: the widest of the first `wrapping` columns gives way, the others keep theirs."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    room = width() - sum(widths[wrapping:]) - len(GAP) * (len(widths) - 1)
    first = widths[:wrapping]
    while sum(first) > room and max(first) > NARROWEST_CELL:
        first[first.index(max(first))] -= 1
    return [*first, *[None] * (len(widths) - wrapping)]


def _numbers(row: Row, mark: str) -> list[str]:
    """All measurements as text; `mark` stands for those that are missing."""
    measured: list[tuple[Any, Callable[[Any], str]]] = [
        (row.parameters, lambda n: f"{n:,}"),
        (row.flops, lambda n: f"{n / 1e9:.3g}"),
        (row.forward_s, lambda s: _scaled(s * 1e3, "ms", "s")),
        (row.step_s, lambda s: _scaled(s * 1e3, "ms", "s")),
        (row.memory_bytes, lambda n: _scaled(n / 1e6, "MB", "GB")),
        (row.difference, lambda d: "equal" if d == 0 else f"{d:.1e}"),
        (row.score, lambda s: f"{s:.1%}"),
    ]
    return [mark if value is None else shown(value) for value, shown in measured]


def _scaled(value: float, unit: str, thousand: str) -> str:
    """Three digits, in `unit` or in `thousand`, which is 1,000 of it."""
    return f"{value:.3g} {unit}" if value < 999.5 else f"{value / 1000:.3g} {thousand}"


def _under(row: Row, conditions: Conditions) -> str:
    """What all rows have in common."""
    sizes = row.blueprint.sizes
    text = (
        f"Batch of {conditions.batch} x {conditions.length} tokens on {conditions.device.type}; "
        f"d_model {sizes.d_model}, {sizes.num_heads} heads, d_ff {sizes.d_ff}, "
        f"{sizes.num_encoder_layers}+{sizes.num_decoder_layers} layers."
    )
    if conditions.task is not None:
        text += f" Score: unseen texts of task {conditions.task} answered exactly, after {conditions.steps} steps."
    return text
