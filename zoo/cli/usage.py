"""Usage errors of click, as a sentence or two: no usage line, which `--help` shows."""

from __future__ import annotations

import click
from click.exceptions import NoSuchOption

HELP_FOR_NOTHING: tuple[type[Exception], ...] = tuple(
    getattr(click.exceptions, name) for name in ("NoArgsIsHelpError",) if hasattr(click.exceptions, name)
)  # of click 8.2 and later: shows the help of a group that was called bare


def format_usage_error(error: click.UsageError, called: str = "zoo") -> str:
    """The sentence for people, with the nearest options and where to read on.

    Args:
        called: the command that was called, where click does not say.
    """
    command = called if error.ctx is None else error.ctx.command_path
    if isinstance(error, NoSuchOption):
        near = " or ".join(error.possibilities or ())
        advice = f" Did you mean {near}?" if near else ""
        return f"There is no option '{error.option_name}'.{advice} `{command} --help` lists them all."
    message = error.format_message().replace("a valid integer range", "a whole number")
    end = "" if message.endswith((".", "?")) else "."
    return f"{message}{end} See `{command} --help`."
