"""The grader's commands, as its plugin adds them. Each is imported when it is called, not before."""

from __future__ import annotations

import click

from zoo.cli.root import LazyCommand

COMMANDS = {
    "start": "Copy the exercises to a folder of your own.",
    "grade": "Grade a learner's file, and name its mistakes.",
    "watch": "Grade a file each time it is saved.",
    "progress": "Which exercises are solved, and which is next.",
    "hint": "What to look at next, a little more each time.",
    "reset": "A fresh copy of an exercise; the old file is kept.",
    "solution": "The solution of an exercise that you have solved.",
}
"""Name and short help; the command is `grader.cli.NAME:NAME`."""


def add_to(cli: click.Group) -> None:
    """Add all of them."""
    for name, short_help in COMMANDS.items():
        cli.add_command(LazyCommand(name, f"grader.cli.{name}:{name}", short_help))
    cli.add_command(LazyCommand("class", "grader.cli.classroom:classroom", "Grade a whole class."))
