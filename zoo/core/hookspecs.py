"""The hooks of the zoo: markers and empty, documented functions, nothing else.

A plugin is a module (or object) with functions of these names, marked with `hookimpl`, and an entry
point in the group `zoo` that points to it. All results are collected, in the order in which plugins
were registered: the built-in ones first; `tryfirst` and `trylast` change the order, hook wrappers run
around the call of every plugin.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    import click

    from zoo.core.blueprint import Preset
    from zoo.core.registry import Variant
    from zoo.core.tasks import Task
    from zoo.notebook import Magics

hookspec = pluggy.HookspecMarker("zoo")
hookimpl = pluggy.HookimplMarker("zoo")


@hookspec
def zoo_addhooks(manager: pluggy.PluginManager) -> None:
    """Add hooks of the plugin's own. Called once, after all plugins are registered.

    Args:
        manager: the zoo's plugin manager; add to it with `manager.add_hookspecs(module)`.
    """


@hookspec
def zoo_variants() -> Iterable[Variant]:  # type: ignore[empty-body]
    """Variants to register. Called once, when the registry is first needed; must not import torch.

    Returns:
        any number of `zoo.core.registry.Variant`. A duplicate name on an axis is an error of the plugin
        that comes later, which is then skipped.
    """


@hookspec
def zoo_presets() -> Iterable[Preset]:  # type: ignore[empty-body]
    """Named blueprints to register. Called once, when presets are first needed; must not import torch.

    Returns:
        any number of `zoo.core.blueprint.Preset`.
    """


@hookspec
def zoo_tasks() -> Iterable[Task]:  # type: ignore[empty-body]
    """Tasks to train on. Called once, when tasks are first needed; must not import torch.

    Returns:
        any number of `zoo.core.tasks.Task`.
    """


@hookspec
def zoo_commands(cli: click.Group) -> None:
    """Add commands to the command line. Called once, at every start of `zoo`; must not import torch.

    Args:
        cli: the group `zoo`; add to it with `cli.add_command` or `@cli.command()`. A command that the
            group already holds is an error of the plugin, which is then skipped.
    """


@hookspec
def zoo_extend_command(name: str, command: click.Command) -> None:
    """Add options to another plugin's command. Called when the command is about to run, before its line is parsed.

    Args:
        name: as typed after `zoo`.
        command: the command; append to its `params`.
    """


@hookspec
def zoo_notebook(magics: Magics) -> None:
    """Extend `%zoo` and `%%zoo` in a notebook. Called when `%load_ext zoo` runs; must not import torch.

    Args:
        magics: set its `cell` to take the cells under `%%zoo`, and its `prepare` to complete a command's arguments.
    """
