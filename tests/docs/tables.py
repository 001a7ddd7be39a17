"""The generated tables of the pages: variants, presets, rooms, costs, attacks.

Each is between `<!-- NAME: made by make docs -->` and `<!-- end of NAME -->`. `python -m tests.docs.tables` writes
them; `python -m tests.docs` does too.
"""

from __future__ import annotations

import csv
import importlib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests import ROOT
from tests.bench import costs, parts
from tests.grader.hostile import table as attacks
from tests.test_architecture import NAMES, imported, room_of
from zoo.core.plugins import DEFAULT_PLUGINS, get_registry
from zoo.core.presets import zoo_presets
from zoo.core.registry import Variant
from zoo.training.translation import presets as translation

RESULTS = {
    "AMD": ROOT / "tests" / "bench" / "results.csv",
    "Intel": ROOT / "tests" / "bench" / "results-intel.csv",
}
"""By maker of the processor."""
SPEED = re.compile(r"(training|inference|decoding|peer)-.*d\d+")
"""Rows of the benchmark that compare models."""
PAGES = [
    ROOT / "docs" / name
    for name in ("variants.md", "benchmarks.md", "sandbox.md", "architecture.md", "gallery.md")
]
TABLE = re.compile(
    r"<!-- (?P<name>[a-z]+): made by make docs -->\n(?P<text>.*?)<!-- end of (?P=name) -->\n", re.DOTALL
)


def variants_tables() -> str:
    """A table for each axis, of the variants that come with the zoo."""
    registry = get_registry()
    blocks = []
    for axis in registry.axes:
        variants = [one for one in registry.variants(axis.name) if one.origin in DEFAULT_PLUGINS]
        rows = [(_marked(one, axis.default), one.summary, one.paper) for one in variants]
        table = markdown((axis.name, axis.summary, "paper"), rows)
        blocks.append(table)
    return "\n\n".join(blocks)


def _marked(variant: Variant, default: str) -> str:
    return f"`{variant.name}`{' (default)' if variant.name == default else ''}"


def presets_table() -> str:
    """A table of the presets that come with the zoo."""
    shipped = (*zoo_presets(), *translation.zoo_presets())
    rows = [(f"`{one.name}`", one.summary, one.source) for one in shipped]
    return markdown(("preset", "a named blueprint", "source"), rows)


def speed_table() -> str:
    """What models take, against what they are measured against, as last measured on each processor."""
    found = {maker: _measured(path) for maker, path in RESULTS.items()}
    rows = [
        (f"`{name}`", _against(row), *(_ratio(measured.get(name)) for measured in found.values()), row["bar"])
        for name, row in found["AMD"].items()
    ]
    table = markdown(("benchmark", "measured against", *RESULTS, "bar"), rows)
    every = [row for measured in found.values() for row in measured.values()]
    machines = dict.fromkeys(
        f"{row['machine']}, Python {row['python']}, torch {row['torch']}" for row in every
    )
    return f"{table}\n\nOne thread; {'; '.join(machines)}. `*`: misses its bar."


def _measured(path: Path) -> dict[str, dict[str, str]]:
    """Rows that compare models, by name."""
    with path.open(newline="", encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file) if SPEED.match(row["name"])}


def _ratio(row: dict[str, str] | None) -> str:
    return "" if row is None else f"{row['ratio']}{'' if row['met'] == 'yes' else ' *'}"


def parts_table() -> str:
    """What a training step with each part takes per token, as last measured."""
    found = parts.read()
    rows = [
        (one["axis"], f"`{one['variant']}`", one["microseconds"], f"{int(one['bytes']):,}") for one in found
    ]
    machines = sorted({f"{one['machine']}, Python {one['python']}, torch {one['torch']}" for one in found})
    table = markdown(("axis", "part", "CPU microseconds", "bytes kept"), rows)
    return f"{table}\n\nPer token; one thread; {'; '.join(machines)}."


def rooms_table() -> str:
    """One row per room: what it is for, and the rooms that it imports."""
    graph: dict[str, set[str]] = {}
    for name, path in NAMES.items():
        if room_of(name).count(".") and not name.startswith(("grader.exercises.", "exercises")):
            others = {room_of(one) for one in imported(path) if one in NAMES and room_of(one).count(".")}
            graph.setdefault(room_of(name), set()).update(others - {room_of(name)})
    rows = []
    for room, others in graph.items():
        purpose = (importlib.import_module(room).__doc__ or "").partition("\n")[0]
        names = sorted({"grader.exercises" if one.startswith("grader.exercises.") else one for one in others})
        rows.append((f"`{room}`", purpose, ", ".join(f"`{one}`" for one in names)))
    return markdown(("package", "purpose", "imports"), rows)


def _against(row: dict[str, str]) -> str:
    """What stands behind the slash, in short."""
    for text in (
        "the same model, plain",
        "nn.Transformer",
        "x-transformers",
        "hand-written GPT",
        "everything recomputed",
        "decoder recomputed",
    ):
        if text in row["what"]:
            return text
    raise ValueError(f"{row['name']}: expected a benchmark of models, got {row['what']!r}.")


def markdown(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [headers, ["---"] * len(headers), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES: dict[str, Callable[[], str]] = {
    "variants": variants_tables,
    "presets": presets_table,
    "speed": speed_table,
    "costs": costs.table,
    "attacks": attacks.table,
    "rooms": rooms_table,
    "parts": parts_table,
}
"""The tables, by name."""


def with_tables(text: str) -> str:
    """Return a page's text with its tables made anew."""

    def made(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- {name}: made by make docs -->\n{TABLES[name]()}\n<!-- end of {name} -->\n"

    return TABLE.sub(made, text)


def main() -> None:
    """Write the tables into the pages."""
    for page in PAGES:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
