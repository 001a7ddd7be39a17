"""The cost of confinement, as a table for docs/benchmarks.md; `python -m tests.docs.tables` writes it there."""

from __future__ import annotations

import csv
from pathlib import Path

RESULTS = Path(__file__).with_name("results.csv")
ROWS = {
    "confinement-canary": ("the trial that finds the level", "a bare Python"),
    "confinement-server": (
        "the fork server, until its first worker has answered",
        "a worker that imports torch",
    ),
    "confinement-worker": (
        "each further worker: start, import of the file, first forward, end",
        "a worker that imports torch",
    ),
    "confinement-levels": ("the same", "at the level process"),
    "confinement-wall": ("a grade of attention, all but training", "at the level process"),
    "confinement-cpu": ("the same", "at the level process"),
    "attacks-strict": ("hostile submissions that come off at strict", "all"),
    "attacks-process": ("hostile submissions that come off at the level process", "all"),
}


def table() -> str:
    """One row for each that was measured: medians, their unit, the median of the rounds' ratios, and the bar."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        found = {row["name"]: row for row in csv.DictReader(file)}
    lines = ["| row | what | measured | against | ratio | bar |", "|---|---|---|---|---|---|"]
    for name, (what, other) in ROWS.items():
        row = found[name]
        a, b = (_number(row[column]) for column in ("median_a", "median_b"))
        unit = "" if row["unit"] == "submissions" else f" {row['unit']}"
        ratio, bar = float(row["ratio"]), float(row["bar"])
        lines.append(f"| `{name}` | {what} | {a}{unit} | {other}: {b}{unit} | {ratio:.2f} | {bar:g} |")
    return "\n".join(lines)


def _number(text: str) -> str:
    return f"{float(text):.3g}" if "." in text else text


if __name__ == "__main__":
    print(table())
