"""The tables of the README: variants by axis and presets, from the registry; speed, from `tests/bench/results.csv`.

They stand between `<!-- NAME: made by make readme -->` and `<!-- end of NAME -->`. `python -m tests.tables` writes
them; `python -m tests.readme` does too.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from zoo.core.plugins import DEFAULT_PLUGINS, get_registry
from zoo.core.presets import zoo_presets
from zoo.core.registry import Variant
from zoo.training.translation import presets as translation

README = Path(__file__).parent.parent / "README.md"
RESULTS = Path(__file__).parent / "bench" / "results.csv"
SPEED = re.compile(r"(training|inference|decoding|peer)-.*d\d+")
"""Rows of the benchmark that compare models."""
TABLE = re.compile(
    r"<!-- (?P<name>[a-z]+): made by make readme -->\n(?P<text>.*?)<!-- end of (?P=name) -->\n", re.DOTALL
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
    """What models take, against what they are measured against, as last measured."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        found = [row for row in csv.DictReader(file) if SPEED.match(row["name"])]
    rows = [
        (
            f"`{row['name']}`",
            _against(row),
            row["ratio"],
            f"{row['bar']}{'' if row['met'] == 'yes' else ', missed'}",
        )
        for row in found
    ]
    machines = sorted({f"{row['machine']}, Python {row['python']}, torch {row['torch']}" for row in found})
    table = markdown(("benchmark", "measured against", "ratio", "bar"), rows)
    return f"{table}\n\nOne thread; {'; '.join(machines)}."


def _against(row: dict[str, str]) -> str:
    """What stands behind the slash, in short."""
    for text in (
        "the same model, plain",
        "nn.Transformer",
        "x-transformers",
        "everything computed anew",
        "decoder computed anew",
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
}
"""What can stand between the marks, by name."""


def with_tables(text: str) -> str:
    """The README's text with its tables made anew."""

    def made(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- {name}: made by make readme -->\n{TABLES[name]()}\n<!-- end of {name} -->\n"

    return TABLE.sub(made, text)


def main() -> None:
    """Write the tables into the README."""
    text = README.read_text(encoding="utf-8")
    README.write_text(with_tables(text), encoding="utf-8")


if __name__ == "__main__":
    main()
