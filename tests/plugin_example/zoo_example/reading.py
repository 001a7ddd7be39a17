"""`zoo reading`: the reading list."""

from __future__ import annotations

import re

import click

from zoo.cli.text import columns
from zoo.core.plugins import get_registry

YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def year_of(paper: str) -> str:
    """The year that a reference names, "" where it names none."""
    found = YEAR.search(paper)
    return found[0] if found else ""


@click.command()
@click.argument("axis", required=False)
def reading(axis: str | None) -> None:
    """List the papers behind the variants, by year.

    \b
    Examples:
      zoo reading
      zoo reading attention
    """
    variants = [variant for variant in get_registry().variants(axis) if variant.paper]
    rows = [(variant.paper, f"{variant.axis}/{variant.name}") for variant in variants]
    click.echo(columns(sorted(rows, key=lambda row: (year_of(row[0]), row)), flexible=0))
