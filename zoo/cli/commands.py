"""The built-in commands, as a plugin. Each is imported when it is called, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.core.hookspecs import hookimpl

if TYPE_CHECKING:
    import click

COMMANDS = {
    "list": "What there is: variants by axis, presets, tasks.",
    "show": "One variant in full, with its source.",
    "diff": "Two variants side by side: source, capabilities, parameters.",
    "build": "Put a Transformer together and run it once.",
    "check": "Whether one part fits: the properties of its axis.",
    "compare": "Every combination of some variants in one table.",
    "train": "Train a Transformer on a task, and score it.",
    "predict": "Let a trained Transformer answer.",
    "translate": "Translate sentences with a trained Transformer.",
    "evaluate": "BLEU and chrF of a trained Transformer's translations.",
    "draw": "Pictures: attention, masks, positions, schedules, models, trainings.",
    "plugins": "The plugins that are loaded, and what they add.",
}
"""Name and short help; the command is `zoo.cli.NAME:NAME`, `list` apart, which is `list_`."""


@hookimpl
def zoo_commands(cli: click.Group) -> None:
    from zoo.cli.root import LazyCommand

    for name, short_help in COMMANDS.items():
        function = "list_" if name == "list" else name
        cli.add_command(LazyCommand(name, f"zoo.cli.{name}:{function}", short_help))
