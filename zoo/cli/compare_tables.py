"""The tables of `zoo compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.cli.text import GAP, counted, width, wrapped
from zoo.core.blueprint import Blueprint
from zoo.core.describe import brief
from zoo.core.plan import make_plan

if TYPE_CHECKING:
    from zoo.analysis.compare import Conditions, Row, Spread
    from zoo.training.record import Record

NARROWEST_CELL = 10
COSTS = ("params", "GFLOP", "forward", "step", "memory", "vs eager")
SCORE_NAMES = ("score", "least score", "highest score", "loss", "least loss", "highest loss")
BARS = ("params", "GFLOP", "forward", "step", "memory", "score")
"""Columns whose numbers have a bar in the page."""
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
        headers = [*(SCORES if several else (SCORES[0], SCORES[3])), f"{_goal(conditions.task):.0%} at"]
        bits = any(row.bits for row in rows)
        headers += ["bits/byte"] * bits
        scores = [
            [*_scores(row, mark, several), *_progress(row, bits)]
            for row, mark in zip(rows, marks, strict=True)
        ]
        blocks += [_table(columns, headers, labels, scores), wrapped(_under_training(conditions))]
    below = [wrapped(f"({number}) {note}") for number, note in enumerate(notes, 1)]
    return "\n\n".join([*blocks, *(["\n".join(below)] if below else [])])


def comparison_page(
    rows: Sequence[Row], columns: Sequence[str], conditions: Conditions, runs: Sequence[Record], command: str
) -> str:
    """The same as a page: a table that sorts, bars, and the curves of the trainings that were recorded."""
    from zoo.models.devices import machine

    several = len(conditions.seeds) > 1
    values: list[dict[str, tuple[str, float | None]]] = []
    for row in rows:
        costs = (row.parameters, row.flops, row.forward_s, row.step_s, row.memory_bytes, row.difference)
        shown = dict(zip(COSTS, zip(_costs(row, "-"), costs, strict=True), strict=True))
        if conditions.task is not None:
            parts = ("median", "least", "most") if several else ("median",)
            numbers = [
                None if spread is None else getattr(spread, part)
                for spread in (row.scores, row.losses)
                for part in parts
            ]
            cells = zip(_scores(row, "-", several), numbers, strict=True)
            names = SCORE_NAMES if several else (SCORE_NAMES[0], SCORE_NAMES[3])
            shown |= dict(zip(names, cells, strict=True))
            reached, bits = _progress(row, True) if row.scores is not None else ("-", "-")
            shown[f"{_goal(conditions.task):.0%} at"] = reached, row.reached
            if any(one.bits for one in rows):
                shown["bits/byte"] = bits, row.bits.median if row.bits is not None else None
        values.append(shown)
    headers = list(values[0])
    most = {
        name: max((one[name][1] or 0.0 for one in values), default=0.0) for name in headers if name in BARS
    }
    return page_of_rows(
        columns,
        [(_labels(row, columns), shown, _note(row)) for row, shown in zip(rows, values, strict=True)],
        {name: (1.0 if name == "score" else top) for name, top in most.items() if top},
        [_under(rows, conditions), *([_under_training(conditions)] if conditions.task else [])],
        runs,
        command,
        machine(conditions.device),
    )


def page_of_rows(
    columns: Sequence[str],
    rows: Sequence[tuple[list[str], dict[str, tuple[str, float | None]], str]],
    bars: Mapping[str, float],
    under: Sequence[str],
    runs: Sequence[Record],
    command: str,
    machine: Mapping[str, object],
) -> str:
    """A page with a table that sorts, and the curves of trainings.

    Args:
        columns: what tells the rows apart.
        rows: of each its labels, its numbers by heading (as text and as the number to sort by), and a note or "".
        bars: headings whose numbers have a bar, and the number of a full one.
        under: sentences about all rows.
        runs: the trainings.
        command: how to do it again.
        machine: by which names what it was measured on.
    """
    from zoo.pages.curves import COLOURS, charts
    from zoo.pages.rendering import render

    notes = [*dict.fromkeys(note for *_, note in rows if note)]
    return render(
        "zoo.pages/comparison.html",
        styles=["zoo.pages/curves.css", "zoo.pages/comparison.css"],
        columns=columns,
        headers=list(rows[0][1]),
        rows=[(labels, shown, notes.index(note) + 1 if note else 0) for labels, shown, note in rows],
        bars=bars,
        notes=notes,
        under=under,
        charts=charts(runs[:COLOURS]),
        names=[one.name for one in runs[:COLOURS]],
        left_out=max(0, len(runs) - COLOURS),
        command=command,
        machine=list(machine.items()),
    )


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


def _progress(row: Row, bits: bool) -> list[str]:
    """The first step at which the goal was reached, and the median of the bits per byte, where they are measured."""
    if row.scores is None:
        return [""] * (1 + bits)
    reached = "never" if row.reached is None else f"step {row.reached:.0f}"
    return [reached, *([f"{row.bits.median:.3f}" if row.bits else "-"] if bits else [])]


def _goal(task: str) -> float:
    from zoo.training.trainer import task_class

    return float(task_class(task).goal)


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
        f"d_model {sizes.d_model}, {sizes.num_heads} heads, d_ff {sizes.d_ff}, "
        f"{'+'.join(layers)} layer{'s' * (layers != ['1'])}, "
        f"dropout {sizes.dropout:g}, {'vocabularies' if len(vocabularies) > 1 else 'vocabulary'} "
        f"{'+'.join(vocabularies)}"
    )


def _under_training(conditions: Conditions) -> str:
    """Return what the trainings have in common."""
    from zoo.analysis.benchmarking import GLANCE_EVERY
    from zoo.training.trainer import task_class

    seeds, cls = conditions.seeds, task_class(conditions.task or "")
    text = (
        f"Score: {cls.scored} of task {conditions.task} {cls.how}, after {counted(conditions.steps, 'step')}. "
        f"Loss: of the last step, by each row's own loss function. {cls.goal:.0%} at: the first step at which "
        f"{cls.goal:.0%} of a small sample were right, checked every {GLANCE_EVERY} steps."
    )
    if len(seeds) > 1:
        text += f" Median, minimum and maximum of {len(seeds)} seeds: {', '.join(map(str, seeds))}."
    return text
