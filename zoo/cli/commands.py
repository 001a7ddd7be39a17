"""The built-in commands, as a plugin. Each is imported when it is called, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.core.hookspecs import hookimpl

if TYPE_CHECKING:
    import click

COMMANDS = {
    "list": "List variants by axis, presets and tasks.",
    "show": "Show a variant in full, with its source.",
    "diff": "Compare two variants: source, capabilities, parameters.",
    "build": "Assemble a Transformer and run it once.",
    "export": "Write a model to one file that does not need the zoo.",
    "check": "Check that a part satisfies the properties of its axis.",
    "compare": "Compare combinations of variants in one table.",
    "train": "Train a Transformer on a task and score it.",
    "predict": "Generate answers with a trained Transformer.",
    "generate": "Continue a text with a trained Transformer.",
    "translate": "Translate sentences with a trained Transformer.",
    "evaluate": "Score translations with BLEU and chrF.",
    "draw": "Draw attention, masks, positions, schedules, models, trainings.",
    "plugins": "List the loaded plugins and what they add.",
}
"""Name and short help; the command is `zoo.cli.NAME:NAME`, `list` apart, which is `list_`."""


@hookimpl
def zoo_commands(cli: click.Group) -> None:
    from zoo.cli.root import LazyCommand

    for name, short_help in COMMANDS.items():
        function = "list_" if name == "list" else name
        cli.add_command(LazyCommand(name, f"zoo.cli.{name}:{function}", short_help))
