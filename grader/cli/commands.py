"""The grader's commands, as its plugin adds them. Each is imported when it is called, not before."""

from __future__ import annotations

import click

from zoo.cli.root import LazyCommand

COMMANDS = {
    "start": "Copy the exercises to a folder of your own.",
    "grade": "Grade a file and name its mistakes.",
    "trace": "Show what each line of a file computes, and the first wrong value.",
    "watch": "Grade a file on every save.",
    "progress": "Show which exercises are solved and which is next.",
    "quiz": "Change one thing in your correct file and guess what happens.",
    "hint": "Show a hint; each call reveals more.",
    "reset": "Start a file over; your version is renamed.",
    "solution": "Show the solution of an exercise you have solved.",
}
"""Name and short help; the command is `grader.cli.NAME:NAME`."""


def add_to(cli: click.Group) -> None:
    """Add all of them."""
    for name, short_help in COMMANDS.items():
        cli.add_command(LazyCommand(name, f"grader.cli.{name}:{name}", short_help))
    cli.add_command(LazyCommand("class", "grader.cli.classroom:classroom", "Grade a whole class."))
