"""Commands that a task may replace by its own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import click

from zoo.cli.root import LazyCommand
from zoo.core.tasks import get_tasks

OPTION = "--task"


class ByTask(click.Command):
    """A command with --task; where that names a task with its own command of this name, that one runs instead."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context in which the line is parsed: of the task's own command, where there is one."""
        own = own_command(self.name or "", args)
        if own is not None:
            return own.make_context(info_name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


def own_command(name: str, args: list[str]) -> click.Command | None:
    """The command that the task named in `args` has in place of `name`; None if it has none."""
    named = [text.removeprefix(f"{OPTION}=") for text in args if text.startswith(f"{OPTION}=")]
    named += [after for text, after in pairwise(args) if text == OPTION]
    task = get_tasks().get(named[-1]) if named else None
    if task is None or name not in task.commands:
        return None
    return LazyCommand(name, task.commands[name], "").load()
