"""`zoo plugins`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from zoo.cli.options import json_option
from zoo.cli.root import ZooGroup
from zoo.cli.text import bold, print_json, wrapped
from zoo.core.blueprint import Preset, get_presets
from zoo.core.plugins import get_plugins, get_registry
from zoo.core.tasks import Task, get_tasks

SHOWN = ("variants", "presets", "tasks", "commands")


@click.command()
@json_option
@click.pass_context
def plugins(ctx: click.Context, as_json: bool) -> None:
    """List the loaded plugins and what they add.

    Built-in parts use the same hooks as other plugins, which are entry points of the group `zoo`. A broken
    plugin is skipped, with the reason; ZOO_STRICT_PLUGINS=1 makes it an error. ZOO_PLUGINS=a,b loads only
    these two and what is built in.

    \b
    Examples:
      zoo plugins
      zoo plugins --json
      ZOO_STRICT_PLUGINS=1 zoo plugins
    """
    group = ctx.find_root().command
    found = _all(group.origins if isinstance(group, ZooGroup) else {})
    if as_json:
        print_json(found)
        return
    for one in found:
        click.echo(f"{bold(one['name'])}{' ' * bool(one['version'])}{one['version']}, {one['source']}")
        if one["problem"]:
            click.echo(wrapped(f"broken and skipped. {one['problem']}", "  "))
        if adds := _adds(one):
            click.echo(wrapped(adds, "  "))


def _all(commands: dict[str, str]) -> list[dict[str, Any]]:
    """Every plugin, with what it adds, in the order of loading."""
    loaded, registry = get_plugins(), get_registry()
    get_presets(), get_tasks()  # so that a plugin that breaks there is reported
    offered: dict[str, dict[str, list[str]]] = {name: {kind: [] for kind in SHOWN} for name in loaded.loaded}
    for variant in registry.variants():
        offered[variant.origin]["variants"].append(f"{variant.axis}/{variant.name}")
    for kind in ("presets", "tasks"):

        def note(plugin: str, offers: Iterable[Preset | Task], kind: str = kind) -> None:
            offered[plugin][kind] += [one.name for one in offers]

        loaded.each(f"zoo_{kind}", note)
    for command, plugin in commands.items():
        offered[plugin]["commands"].append(command)
    return [
        {
            "name": one.name,
            "version": one.version,
            "source": one.source,
            **offered[one.name],
            "other_hooks": _other_hooks(one.name),
            "problem": one.problem,
        }
        for one in loaded.loaded.values()
    ]


def _other_hooks(name: str) -> list[str]:
    """The hooks it implements beside those shown by what they add."""
    manager = get_plugins().manager
    callers = manager.get_hookcallers(manager.get_plugin(name)) or []
    known = {"zoo_addhooks", *(f"zoo_{kind}" for kind in SHOWN)}
    return [caller.name for caller in callers if caller.name not in known]


def _adds(one: dict[str, Any]) -> str:
    parts = []
    for axis in dict.fromkeys(name.partition("/")[0] for name in one["variants"]):
        names = [name.partition("/")[2] for name in one["variants"] if name.startswith(f"{axis}/")]
        parts.append(f"{axis} {', '.join(names)}")
    for kind in SHOWN[1:]:
        if one[kind]:
            parts.append(f"{kind} {', '.join(one[kind])}")
    if one["other_hooks"]:
        parts.append(", ".join(hook.removeprefix("zoo_") for hook in one["other_hooks"]))
    return "; ".join(parts)
