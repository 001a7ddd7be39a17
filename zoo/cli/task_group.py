"""Commands with a subcommand per task: `zoo train translate`."""

from __future__ import annotations

import shlex
from functools import partial
from inspect import cleandoc
from typing import Any

import click
from click.core import ParameterSource

from zoo.cli.root import LazyCommand
from zoo.core.errors import ZooError, unknown_name
from zoo.core.tasks import Inputs, get_tasks

TASK = "task"
TYPED = f"{__name__}.typed"
"""Where the meta data of a context has the whole command as it was typed."""


def _inputs() -> list[click.Parameter]:
    """Return what a task with files takes beside the options of the command: see `inputs_from`."""
    least = 259  # three special ids and the 256 bytes
    return [
        click.Argument(["files"], metavar="[FILE]...", nargs=-1, type=click.Path()),
        click.Option(
            ["--subwords"],
            type=click.IntRange(least),
            metavar="N",
            help="Learn a vocabulary of N byte-pair subwords from the files.  [default: characters]",
        ),
    ]


def inputs_from(given: dict[str, Any]) -> Inputs:
    """The inputs of a task with files; takes them out of `given`."""
    return Inputs(tuple(map(str, given.pop("files", ()))), given.pop("subwords", None))


class TaskGroup(click.Group):
    """A command, and a subcommand for every task.

    Without a subcommand the command itself runs. A task with a command of its own of this name brings that; for
    any other, the command runs with `task` set, and with files, if the task takes any. `--task=NAME` stands for the
    subcommand NAME, wherever it is written. The command's function gets the context, and returns at once where
    `invoked_subcommand` is set.
    """

    def __init__(self, *args: Any, **extra: Any) -> None:
        extra |= {"invoke_without_command": True, "subcommand_metavar": "[TASK [ARGS]...]"}
        super().__init__(*args, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; a `--task` that names a task with its own command is written as that subcommand."""
        ctx.meta[TYPED] = shlex.join(["zoo", self.name or "", *args])
        lenient = {"ignore_unknown_options": True, "allow_extra_args": True}
        option = click.Command(
            "", params=[click.Option([f"--{TASK}"])], add_help_option=False, context_settings=lenient
        )
        found = option.make_context("", list(args), resilient_parsing=True)
        task = get_tasks().get(found.params[TASK] or "")
        if task is not None and (self.name in task.commands or task.files):
            args = [task.name, *(found.args[1:] if found.args[:1] == [task.name] else found.args)]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All tasks."""
        return list(get_tasks())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command for a task; None if there is no such task."""
        task = get_tasks().get(cmd_name)
        if task is None:
            return None
        own = task.commands.get(self.name or "")
        if own is not None:
            return LazyCommand(cmd_name, own, task.summary).load()
        params, help_ = [one for one in self.params if one.name != TASK], self.help
        if task.files:
            params, help_ = [*_inputs(), *params], f"{cleandoc(self.help or '')}\n\nFILE: {task.files}."
        return click.Command(
            cmd_name,
            callback=partial(self.callback, **{TASK: cmd_name}) if self.callback else None,
            params=params,
            help=help_,
            epilog=self.epilog,
            short_help=task.summary,
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does. Raises UnknownNameError for an unknown task, ZooError for options in front of it."""
        if not ctx.resilient_parsing:
            if args[0] not in get_tasks():
                raise unknown_name("task", args[0], get_tasks(), f"{ctx.command_path} --help")
            given = [
                one.opts[0]
                for one in self.params
                if one.name and ctx.get_parameter_source(one.name) is ParameterSource.COMMANDLINE
            ]
            if given:
                raise ZooError(
                    f"{given[0]} is in front of the task: write `{ctx.command_path} {args[0]} {given[0]} ...`."
                )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the tasks, without importing their commands."""
        with formatter.section(f"Tasks (`{ctx.command_path} TASK --help` has the options of each)"):
            formatter.write_dl([(task.name, task.summary) for task in get_tasks().values()])
