"""The tables of `zoo compare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from zoo.cli.describe import brief
from zoo.cli.text import GAP, counted, width, wrapped
from zoo.core.blueprint import Blueprint
from zoo.core.plan import make_plan

if TYPE_CHECKING:
    from zoo.analysis.compare import Conditions, Row, Spread

NARROWEST_CELL = 10
COSTS = ("params", "GFLOP", "forward", "step", "memory", "vs eager")
SCORES = ("score", "least", "most", "loss", "least", "most")


def comparison(rows: Sequence[Row], columns: Sequence[str], conditions: Conditions) -> str:
    """A table of costs, one of trainings where there were any, what all have in common, and notes.

    Args:
        rows: of `zoo.analysis.compare.compare`.
        columns: axes, or `preset`: what tells the rows apart.
        conditions: under which they were measured.
    """
    notes = _notes(rows)
    marks = [f"({notes.index(note) + 1})" if note else "-" for note in map(_note, rows)]
    labels = [_labels(row, columns) for row in rows]
    costs = [_costs(row, mark) for row, mark in zip(rows, marks, strict=True)]
    blocks = [_table(columns, COSTS, labels, costs), wrapped(_under(rows, conditions))]
    if conditions.task is not None:
        several = len(conditions.seeds) > 1
        headers = SCORES if several else (SCORES[0], SCORES[3])
        scores = [_scores(row, mark, several) for row, mark in zip(rows, marks, strict=True)]
        blocks += [_table(columns, headers, labels, scores), wrapped(_under_training(conditions))]
    below = [wrapped(f"({number}) {note}") for number, note in enumerate(notes, 1)]
    return "\n\n".join([*blocks, *(["\n".join(below)] if below else [])])


def _note(row: Row) -> str:
    """Return what is said about a row below the table."""
    begin = {"refused": "Refused. ", "failed": "Failed. "}.get(row.outcome, "")
    return begin + row.note


def _notes(rows: Sequence[Row]) -> list[str]:
    return [note for note in dict.fromkeys(map(_note, rows)) if note]


def _labels(row: Row, columns: Sequence[str]) -> list[str]:
    return [
        row.candidate.preset if column == "preset" else brief(column, row.blueprint[column])
        for column in columns
    ]


def _table(
    columns: Sequence[str], headers: Sequence[str], labels: Sequence[list[str]], numbers: Sequence[list[str]]
) -> str:
    from tabulate import tabulate

    lines = [[*columns, *headers], *([*some, *others] for some, others in zip(labels, numbers, strict=True))]
    return tabulate(
        lines,
        tablefmt="plain",
        colalign=["left"] * len(columns) + ["right"] * len(headers),
        disable_numparse=True,
        maxcolwidths=_limits(lines, len(columns)),
    )


def _limits(cells: Sequence[Sequence[str]], wrapping: int) -> list[int | None]:
    """Widths that fit the terminal: the widest of the first `wrapping` columns gives way, the others keep theirs."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    room = width() - sum(widths[wrapping:]) - len(GAP) * (len(widths) - 1)
    first = widths[:wrapping]
    while sum(first) > room and max(first) > NARROWEST_CELL:
        first[first.index(max(first))] -= 1
    return [*first, *[None] * (len(widths) - wrapping)]


def _costs(row: Row, mark: str) -> list[str]:
    """All costs as text; `mark` stands for those that are missing, once if all are."""
    if row.parameters is None:
        return [mark, *[""] * (len(COSTS) - 1)]
    measured: list[tuple[Any, Callable[[Any], str]]] = [
        (row.parameters, lambda n: f"{n:,}"),
        (row.flops, lambda n: f"{n / 1e9:.3g}"),
        (row.forward_s, lambda s: _scaled(s * 1e3, "ms", "s")),
        (row.step_s, lambda s: _scaled(s * 1e3, "ms", "s")),
        (row.memory_bytes, lambda n: _scaled(n / 1e6, "MB", "GB")),
        (row.difference, lambda d: "equal" if d == 0 else f"{d:.1e}"),
    ]
    return [mark if value is None else shown(value) for value, shown in measured]


def _scores(row: Row, mark: str, several: bool) -> list[str]:
    """Scores and losses as text; with `mark`, if a training is missing."""

    def cells(spread: Spread | None, shown: Callable[[float], str]) -> list[str]:
        if spread is None:
            return [mark, *[""] * (2 * several)]
        numbers = (spread.median, spread.least, spread.most) if several else (spread.median,)
        return [shown(number) for number in numbers]

    found = [*cells(row.scores, lambda s: f"{s:.1%}"), *cells(row.losses, lambda loss: f"{loss:.4f}")]
    if row.scores is not None and any(one.problem for one in row.trainings):
        found[0] = f"{mark} {found[0]}"
    return found


def _scaled(value: float, unit: str, thousand: str) -> str:
    """Three digits, in `unit` or in `thousand`, which is 1,000 of it."""
    return f"{value:.3g} {unit}" if value < 999.5 else f"{value / 1000:.3g} {thousand}"


def _under(rows: Sequence[Row], conditions: Conditions) -> str:
    """Return what the costs have in common."""
    batch = f"Batch of {conditions.batch} x {conditions.length} tokens on {conditions.device.type}"
    if conditions.accelerated:
        batch += ", accelerated"
    presets: dict[str, dict[str, None]] = {}
    for row in rows:
        name = row.candidate.preset or str(row.blueprint["assembly"])
        presets.setdefault(_sizes(row.blueprint), {})[name] = None
    if len(presets) == 1:
        text = f"{batch}; {next(iter(presets))}."
    else:
        text = "\n".join(
            [f"{batch}.", *(f"{', '.join(names)}: {sizes}." for sizes, names in presets.items())]
        )
    if conditions.jobs > 1:
        text += f"\nTimes were measured in one process, after the other {conditions.jobs} had finished."
    groups = len({row.timing_group for row in rows} - {None})
    if groups > 1:
        text += (
            f"\nThe models do not fit into memory at the same time: they were timed in {groups} groups, from top to "
            "bottom."
        )
    return text


def _sizes(blueprint: Blueprint) -> str:
    sizes, unused = blueprint.sizes, make_plan(blueprint).unused_sizes
    layers, vocabularies = (
        [f"{getattr(sizes, name):,}" for name in names if name not in unused]
        for names in (("num_encoder_layers", "num_decoder_layers"), ("src_vocab", "tgt_vocab"))
    )
    return (
        f"d_model {sizes.d_model}, {sizes.num_heads} heads, d_ff {sizes.d_ff}, {'+'.join(layers)} layers, "
        f"dropout {sizes.dropout:g}, {'vocabularies' if len(vocabularies) > 1 else 'vocabulary'} "
        f"{'+'.join(vocabularies)}"
    )


def _under_training(conditions: Conditions) -> str:
    """Return what the trainings have in common."""
    seeds = conditions.seeds
    text = (
        f"Score: unseen texts of task {conditions.task} answered exactly, after {counted(conditions.steps, 'step')}. "
        "Loss: of the last step, each row's own."
    )
    if len(seeds) > 1:
        text += f" Median, least and most of {len(seeds)} seeds: {', '.join(map(str, seeds))}."
    return text
