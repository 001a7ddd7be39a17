"""The group `zoo`: its commands come through the hook `zoo_commands`, its errors are sentences."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from typing import Any, NoReturn

import click

from zoo import __version__
from zoo.cli.plugin_errors import of_plugin
from zoo.cli.text import wrapped
from zoo.cli.usage import HELP_FOR_NOTHING, format_usage_error
from zoo.core.errors import PluginError, ZooError, unknown_name
from zoo.core.plugins import Plugins, get_plugins, strict

WRONG_USAGE = 2
INTERRUPTED = 130  # what a shell reports for Ctrl-C
UNWRITTEN = 74  # EX_IOERR of sysexits.h: not to be taken for a grade that failed
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


class LazyCommand(click.Command):
    """A command that is imported when it is called; until then it has only a name and a short help."""

    def __init__(self, name: str, path: str, short_help: str) -> None:
        """`path` is "package.module:command"."""
        super().__init__(name, short_help=short_help)
        self.path = path

    def load(self) -> click.Command:
        """The command itself. Raises PluginError if it cannot be imported."""
        module, _, attribute = self.path.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]
        except (ImportError, AttributeError) as error:
            raise PluginError(
                f"The command '{self.name}' cannot be loaded from {self.path}: {error}"
            ) from error


class ZooGroup(click.Group):
    """A group that refuses a second command of the same name and knows which plugin each came from."""

    origins: dict[str, str]
    extended: set[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.origins, self.extended = {}, set()

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command. Raises PluginError if there is one of this name."""
        name = name or cmd.name or ""
        if name in self.commands:
            by = self.origins.get(name, "the same plugin")
            raise PluginError(f"there is a command '{name}' already, by {by}")
        super().add_command(cmd, name)

    def add_from(self, plugins: Plugins) -> None:
        """Add the commands of all plugins. One that breaks adds none, and is reported."""

        def keep(plugin: str, _result: object) -> None:
            self.origins.update({name: plugin for name in self.commands if name not in self.origins})

        def undo() -> None:
            for name in self.commands.keys() - self.origins.keys():
                del self.commands[name]

        plugins.each("zoo_commands", keep, undo, cli=self)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """As click does; a wrong option of `zoo` itself ends in a sentence and an exit code."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except HELP_FOR_NOTHING:
            raise
        except click.UsageError as error:
            report(ZooError(format_usage_error(error)))
            raise click.exceptions.Exit(WRONG_USAGE) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, the built-in ones first."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` begin with, imported. Raises UnknownNameError."""
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            raise unknown_name("command", name, self.commands, "zoo --help")
        found, command, rest = super().resolve_command(ctx, args)
        command = command.load() if isinstance(command, LazyCommand) else command
        if command is not None and name not in self.extended:
            self.extended.add(name)
            get_plugins().each("zoo_extend_command", lambda _p, _r: None, name=name, command=command)
        return found, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what a user got wrong and Ctrl-C end in a sentence and an exit code."""
        try:
            return super().invoke(ctx)
        except HELP_FOR_NOTHING:
            raise
        except click.UsageError as error:
            report(
                ZooError(
                    format_usage_error(error, f"{ctx.command_path} {ctx.invoked_subcommand or ''}".strip())
                )
            )
            ctx.exit(WRONG_USAGE)
        except ZooError as error:
            report(error)
            ctx.exit(WRONG_USAGE)
        except KeyboardInterrupt:
            click.echo("\nInterrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except (
            click.ClickException,
            click.Abort,
            click.exceptions.Exit,
        ):  # what a command ends with on purpose
            raise
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            report(ZooError(f"The output could not be written: {error.strerror}."))
            leave_quietly()
        except Exception as error:
            told_of = None if strict() else of_plugin(error)
            if told_of is None:
                raise
            report(told_of)
            ctx.exit(WRONG_USAGE)


def leave_quietly() -> NoReturn:
    """Exit without Python's own attempt to write what is left on standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(UNWRITTEN)


def report(error: ZooError) -> None:
    """Say on standard error what was wrong."""
    click.echo(wrapped(f"Error: {error}"), err=True)


def make_cli(plugins: Plugins) -> ZooGroup:
    """The group with the commands of these plugins."""
    group = ZooGroup(
        "zoo",
        help="Build, compare and train Transformers from interchangeable parts, and grade your own.",
        epilog="`zoo COMMAND --help` has examples. Shell completion, of variants too: "
        'eval "$(_ZOO_COMPLETE=bash_source zoo)", or zsh_source, or fish_source.',
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    click.version_option(__version__, prog_name="zoo", message="%(prog)s %(version)s")(group)
    group.add_from(plugins)
    return group


def run() -> None:
    """Run the command line on `sys.argv` and exit."""
    try:
        group = make_cli(get_plugins())
    except ZooError as error:  # the strict switch, and a broken plugin
        report(error)
        sys.exit(WRONG_USAGE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    if os.environ.get("_ZOO_COMPLETE", "").startswith("bash"):
        from zoo.cli.completion import register

        register()
    group(prog_name="zoo")
