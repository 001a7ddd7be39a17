"""The tables of `zoo compare`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zoo.cli.text import GAP, counted, width, wrapped
from zoo.core.blueprint import Blueprint
from zoo.core.describe import brief
from zoo.core.plan import make_plan

if TYPE_CHECKING:
    from zoo.analysis.compare import Conditions, Row, Spread
    from zoo.training.record import Record

NARROWEST_CELL = 10


@dataclass(frozen=True)
class Column:
    """A column of numbers, in the terminal's table and on the page.

    Attributes:
        heading: of the table.
        value: the number of a row, by which the page sorts; None where it was not measured.
        text: what is shown for a row; the second argument is the mark of a row without numbers.
        name: heading of the page, where all differ; that of the table if "".
        bar: on the page, whether numbers have a bar.
        full: the number of a full bar; None for the largest in the column.
    """

    heading: str
    value: Callable[[Row], float | None]
    text: Callable[[Row, str], str]
    name: str = ""
    bar: bool = False
    full: float | None = None

    def page_name(self) -> str:
        """Return the heading of the page."""
        return self.name or self.heading


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

    def table(numbers: Sequence[Column]) -> str:
        cells = [[one.text(row, mark) for one in numbers] for row, mark in zip(rows, marks, strict=True)]
        return _table(columns, [one.heading for one in numbers], labels, cells)

    blocks = [table(COSTS), wrapped(_under(rows, conditions))]
    if conditions.task is not None:
        blocks += [table(_trained(rows, conditions)), wrapped(_under_training(conditions))]
    below = [wrapped(f"({number}) {note}") for number, note in enumerate(notes, 1)]
    return "\n\n".join([*blocks, *(["\n".join(below)] if below else [])])


def comparison_page(
    rows: Sequence[Row], columns: Sequence[str], conditions: Conditions, runs: Sequence[Record], command: str
) -> str:
    """The same as a page: a table that sorts, bars, and the curves of the trainings that were recorded."""
    from zoo.models.devices import machine

    numbers = [*COSTS, *_trained(rows, conditions)]
    most = {one: one.full or max((one.value(row) or 0.0 for row in rows), default=0.0) for one in numbers}
    return page_of_rows(
        columns,
        [
            (
                _labels(row, columns),
                {one.page_name(): (one.text(row, "-"), one.value(row)) for one in numbers},
                _note(row),
            )
            for row in rows
        ],
        {one.page_name(): top for one, top in most.items() if one.bar and top},
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


def _cost(
    heading: str, value: Callable[[Row], float | None], shown: Callable[[Any], str], bar: bool = True
) -> Column:
    """A cost; of a row without any, the first one alone has the mark."""

    def text(row: Row, mark: str) -> str:
        number = value(row)
        if number is None:
            return mark if row.parameters is not None or heading == "params" else ""
        return shown(number)

    return Column(heading, value, text, bar=bar)


def _scaled(value: float, unit: str, thousand: str) -> str:
    """Three digits, in `unit` or in `thousand`, which is 1,000 of it."""
    return f"{value:.3g} {unit}" if value < 999.5 else f"{value / 1000:.3g} {thousand}"


def _seconds(value: float) -> str:
    return _scaled(value * 1e3, "ms", "s")


COSTS = (
    _cost("params", lambda row: row.parameters, lambda n: f"{n:,}"),
    _cost("GFLOP", lambda row: row.flops, lambda n: f"{n / 1e9:.3g}"),
    _cost("forward", lambda row: row.forward_s, _seconds),
    _cost("step", lambda row: row.step_s, _seconds),
    _cost("memory", lambda row: row.memory_bytes, lambda n: _scaled(n / 1e6, "MB", "GB")),
    _cost("vs eager", lambda row: row.difference, lambda d: "equal" if d == 0 else f"{d:.1e}", bar=False),
)


def _trained(rows: Sequence[Row], conditions: Conditions) -> list[Column]:
    """The columns of the trainings: none without a task, a spread where there are several seeds."""
    if conditions.task is None:
        return []
    several = len(conditions.seeds) > 1
    reached = Column(f"{_goal(conditions.task):.0%} at", lambda row: row.reached, _reached)
    bits = Column("bits/byte", lambda row: row.bits.median if row.bits else None, _bits)
    return [
        *_spread("score", lambda row: row.scores, lambda share: f"{share:.1%}", several),
        *_spread("loss", lambda row: row.losses, lambda loss: f"{loss:.4f}", several),
        reached,
        *([bits] if any(row.bits for row in rows) else []),
    ]


def _spread(
    name: str, of: Callable[[Row], Spread | None], shown: Callable[[float], str], several: bool
) -> list[Column]:
    """The median over the seeds, and where there are several, the least and the most."""
    is_score = name == "score"

    def number(row: Row, part: str) -> float | None:
        return getattr(of(row), part, None)

    def median(row: Row, mark: str) -> str:
        found = number(row, "median")
        if found is None:
            return mark
        problem = is_score and any(one.problem for one in row.trainings)
        return f"{mark} {shown(found)}" if problem else shown(found)

    def extreme(part: str, word: str) -> Column:
        def text(row: Row, _mark: str) -> str:
            found = number(row, part)
            return "" if found is None else shown(found)

        return Column(part, lambda row: number(row, part), text, name=f"{word} {name}")

    first = Column(
        name, lambda row: number(row, "median"), median, bar=is_score, full=1.0 if is_score else None
    )
    return [first, extreme("least", "least"), extreme("most", "highest")] if several else [first]


def _reached(row: Row, _mark: str) -> str:
    """The first step at which the goal was reached."""
    if row.scores is None:
        return ""
    return "never" if row.reached is None else f"step {row.reached:.0f}"


def _bits(row: Row, _mark: str) -> str:
    """The median of the bits per byte."""
    if row.scores is None:
        return ""
    return f"{row.bits.median:.3f}" if row.bits else "-"


def _goal(task: str) -> float:
    from zoo.training.trainer import task_class

    return float(task_class(task).goal)


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
