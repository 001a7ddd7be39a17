"""Comparisons as flat records and as CSV files that name machine and versions."""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from zoo import __version__
from zoo.blueprint import Sizes
from zoo.compare import MEASURED, Conditions, Row
from zoo.errors import ZooError


def machine(device: torch.device) -> dict[str, str]:
    """Where the numbers come from: device, processor, versions."""
    return {
        "device": device.type,
        "processor": torch.cuda.get_device_name(device) if device.type == "cuda" else _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "zoo": __version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def records(rows: Iterable[Row], conditions: Conditions) -> list[dict[str, Any]]:
    """Rows as flat records: choices, sizes, conditions, what was measured, machine and versions."""
    common = {
        "batch": conditions.batch,
        "length": conditions.length,
        "seed": conditions.seed,
        "task": conditions.task,
        "steps": conditions.steps if conditions.task else None,
    }
    return [
        {
            **{axis: str(choice) for axis, choice in row.blueprint.choices.items()},
            **{one.name: getattr(row.blueprint.sizes, one.name) for one in fields(Sizes)},
            **common,
            **{name: getattr(row, name) for name in MEASURED},
            "note": row.note,
            **machine(conditions.device),
        }
        for row in rows
    ]


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write records to `path`, whole or not at all; a file that is there is replaced.

    Raises:
        ZooError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ZooError(f"'{path}' cannot be written: {error.strerror}.") from error


def check_csv(path: Path) -> None:
    """Raises ZooError if `path` cannot become a file; asked before anything is measured."""
    if path.exists() and not path.is_file():
        raise ZooError(f"'{path}' is there and is no regular file. Give the name of a CSV file.")
    if not path.parent.is_dir():
        raise ZooError(f"'{path}' cannot be written: there is no directory '{path.parent}'.")
