"""Whose code an error comes from: a plugin's mistake is told in a sentence, the zoo's own is a traceback."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import FrameType

from zoo.core.errors import PluginError, describe_exception
from zoo.core.plugins import DEFAULT_PLUGINS, get_registry

OURS = {"zoo", "grader", "torch"}
"""Packages that a plugin may register classes of; what fails in them is not its fault."""


def of_plugin(error: Exception) -> PluginError | None:
    """The error as a sentence that names the plugin, if its code, or a method of its class, was running."""
    owners = {
        package: variant.origin
        for variant in get_registry().variants()
        if variant.origin not in DEFAULT_PLUGINS and not variant.is_file
        if (package := variant.path.partition(":")[0].partition(".")[0]) not in OURS
    }
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    lines = [line for _, line in traceback.walk_tb(error.__traceback__)]
    for frame, line in zip(reversed(frames), reversed(lines), strict=True):
        for package in _packages(frame):
            if package in owners:
                where = f"{Path(frame.f_code.co_filename).name}, line {line}"
                return PluginError(
                    f"plugin '{owners[package]}' is broken ({where}): {describe_exception(error)}. "
                    "ZOO_STRICT_PLUGINS=1 shows the traceback; `zoo check NAME` tries a part by itself."
                )
    return None


def _packages(frame: FrameType) -> list[str]:
    """The package of the code that runs, and that of the class whose method it is."""
    modules = [str(frame.f_globals.get("__name__"))]
    if "self" in frame.f_locals:
        modules.append(type(frame.f_locals["self"]).__module__)
    return [module.partition(".")[0] for module in modules]
