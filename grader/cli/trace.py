"""`zoo trace FILE`."""

from __future__ import annotations

import ast
import secrets
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import exercise_option, sandbox_option
from grader.core.results import clean
from zoo.cli.text import bold, dim, width, wrapped
from zoo.core.lines import split_lines

if TYPE_CHECKING:
    from grader.places.listing import Note
    from grader.run.tracing import Listing
    from grader.sandbox.sandbox import Asked

WIDEST = 160
FIRST_WRONG = ">"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--call", default="", metavar="CALL", help="A function or class of the exercise, or a call of your own."
)
@exercise_option
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), help="Random seed of the inputs (default: random)."
)
@sandbox_option
def trace(file: Path, call: str, exercise: str | None, seed: int | None, sandbox: Asked) -> None:
    """Show what each line of FILE computes, and the first wrong value.

    Runs one of the hidden tests' calls and prints FILE. Beside each line that ran: the values it made, with their
    shapes, and what they are where they equal a value of the reference. The line of the first wrong value is marked
    with >.

    With a call of your own, shapes are shown but nothing is checked. Arguments are numbers, strings, lists, modules
    of the file, and random tensors: float[2, 5, 8], int[2, 5] (ids 0 to 9), bool[5, 5].

    \b
    Examples:
      zoo trace exercises/attention.py
      zoo trace attention.py --call MultiHeadAttention
      zoo trace feedforward.py --call 'FeedForward(8, 32)(float[2, 5, 8])'
    """
    from grader.catalog import exercise_for, get_exercise
    from grader.library import read_source
    from grader.run.run import Request
    from grader.run.tracing import trace_file
    from grader.sandbox.sandbox import Sandbox

    source = read_source(file)
    chosen = get_exercise(exercise) if exercise else exercise_for(file)
    seed = secrets.randbelow(2**31) if seed is None else seed
    with Sandbox(sandbox) as confined:
        request = Request(chosen, str(file), source, "cpu", seed, frozenset(), sandbox=confined)
        listing = trace_file(request, call)
    again = f"--seed {seed}"
    click.echo(bold(clean(f"{file}: {listing.call}")) + dim(f"  ({again})") + "\n")
    click.echo(_page(listing))
    click.echo("\n" + wrapped(clean(_summary(listing))))


def _page(listing: Listing) -> str:
    """The file, with notes beside its lines, or below those that are too long."""
    lines = split_lines(listing.text)
    digits, columns = len(str(len(lines))), width(WIDEST)
    wrong = set(listing.where.lines[:1]) if listing.where is not None else set()
    fits = [len(clean(text)) for n, text in enumerate(lines, start=1) if n in listing.notes]
    at = min(max(fits, default=0), columns // 2) + digits + 4
    last = _last_lines(listing.text)
    notes: dict[int, Note] = {last.get(n, n): note for n, note in listing.notes.items()}
    page = []
    for number, text in enumerate(lines, start=1):
        mark = FIRST_WRONG if number in wrong else " "
        code = f"{mark}{number:>{digits}}  {clean(text)}".rstrip()
        page += _noted(code, notes.get(number), at, columns)
    return "\n".join(page)


def _noted(code: str, note: Note | None, at: int, columns: int) -> list[str]:
    if note is None or not note.values:
        return [code]
    values = [clean(one) for one in note.values]
    if note.times > 1:
        values[-1] += f"  ({note.times} times)"
    beside = "; ".join(values)
    if len(code) + 2 <= at and at + 2 + len(beside) <= columns:
        return [f"{code:<{at}}{dim('# ' + beside)}"]
    indent = " " * (len(code) - len(code[1:].lstrip(" 0123456789")) + 2)
    hang = f"{indent}# "
    return [
        code,
        *dim(textwrap.fill(beside, columns, initial_indent=hang, subsequent_indent=hang)).split("\n"),
    ]


def _last_lines(text: str) -> dict[int, int]:
    """By the first line of each statement, decorators among them, the last: of a function or loop, that of its head."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = node.end_lineno if body is None else max(node.lineno, body[0].lineno - 1)
            begins = [node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]
            found.update(dict.fromkeys(begins, end or node.lineno))
    return found


def _summary(listing: Listing) -> str:
    if listing.error:
        return f"The call failed. {listing.error}"
    if not listing.checked:
        return "Shapes only: the values of a call of your own are not checked."
    if listing.where is None and listing.wrong:
        return "The result of this call is wrong, but its line was not found. `zoo grade` says what is wrong."
    if listing.where is None:
        return "No wrong value found in this call."
    where = listing.where
    if where.why == "error":
        return f"First error: line {where.place.line}." + (f" There, {where.value}." if where.value else "")
    said = f"First wrong value: line {where.place.line}."
    if where.value:
        said += f" It is {where.value}."
    return said + (f" Expected: {where.expected}." if where.expected else "")
