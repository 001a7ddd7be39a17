"""Options that name files of sentence pairs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from zoo.core.errors import ZooError

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)
WORDS = {"train": "Training", "valid": "Validation", "test": "Test"}


def source_options(*parts: str) -> Callable[[F], F]:
    """--PART-src, --PART-tgt and --PART-tsv for each part; `source_files` reads them."""

    def add(command: F) -> F:
        for part in reversed(parts):
            for kind, text in (
                ("tsv", f"{WORDS[part]} pairs: sentence, tab, translation."),
                ("tgt", f"{WORDS[part]} translations, one per line, in the same order."),
                ("src", f"{WORDS[part]} sentences, one per line; or .gz."),
            ):
                click.option(f"--{part}-{kind}", type=FILE, metavar="FILE", help=text)(command)
        return command

    return add


def source_files(given: dict[str, Any], part: str) -> tuple[Path, ...]:
    """The files given for a part: none, one TSV, or two aligned ones; takes its entries out of `given`.

    Raises ZooError for one side without the other, or both forms at once.
    """
    src, tgt, tsv = (given.pop(f"{part}_{kind}", None) for kind in ("src", "tgt", "tsv"))
    if tsv is not None and (src is not None or tgt is not None):
        raise ZooError(f"--{part}-tsv has both sides: omit --{part}-src and --{part}-tgt, or --{part}-tsv.")
    if (src is None) != (tgt is None):
        there, absent = ("src", "tgt") if tgt is None else ("tgt", "src")
        raise ZooError(f"--{part}-{there} needs --{part}-{absent} too.")
    return (tsv,) if tsv is not None else () if src is None else (src, tgt)
