"""Option types whose values come from plugins: checked, completed by the shell, with the nearest names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from zoo.core.errors import UnknownNameError, unknown_name

if TYPE_CHECKING:
    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # generic for type checkers only, before click 8.5


class OneOf(_TextType):
    """A registered name.

    Args:
        kind: what it names, for error messages.
        names: all names; asked for on use only.
    """

    def __init__(self, kind: str, names: Callable[[], Iterable[str]]) -> None:
        self.name, self._names = kind, names

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name itself. Exits with 2 and the nearest names if there is no such name."""
        self._check(value, param, ctx)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """All names that begin so."""
        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]

    def _check(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> None:
        names = list(self._names())
        if value not in names:
            try:
                raise unknown_name(self.name, value, names)
            except UnknownNameError as error:
                self.fail(str(error), param, ctx)


class SomeOf(OneOf):
    """Registered names, separated by commas."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The names without spaces, in the order given. Exits with 2 if one is unknown, or none is given."""
        given = [name.strip() for name in value.split(",") if name.strip()]
        if not given:
            self.fail(f"expected one or more of {', '.join(self._names())}, separated by commas.", param, ctx)
        for name in given:
            self._check(name, param, ctx)
        return ",".join(dict.fromkeys(given))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete the last name of the list."""
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(before + comma + name) for name in self._names() if name.startswith(last)]


def exercise_names() -> Iterable[str]:
    """The names of all exercises."""
    from grader.catalog import get_exercises

    return get_exercises()


exercise_option = click.option(
    "--exercise",
    type=OneOf("exercise", exercise_names),
    metavar="NAME",
    help="Exercise the file is for (default: inferred from the name of the file, or of its folder).",
)

sandbox_option = click.option(
    "--sandbox",
    type=click.Choice(["auto", "strict", "process"]),
    default="auto",
    show_default=True,
    help="Sandbox level; `auto` picks the strictest one available.",
)
