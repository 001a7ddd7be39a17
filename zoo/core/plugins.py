"""The plugin manager, and the loading of plugins. Nothing here imports torch."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, TypeVar

import pluggy

from zoo.core import hookspecs
from zoo.core.axes import AXES
from zoo.core.errors import PluginError, describe_exception
from zoo.core.registry import Registry, Variant

DEFAULT_PLUGINS = (
    "zoo.parts.attention",
    "zoo.parts.encoding",
    "zoo.parts.norm",
    "zoo.parts.norm_type",
    "zoo.parts.feedforward",
    "zoo.parts.embedding",
    "zoo.parts.head",
    "zoo.parts.masking",
    "zoo.parts.mask",
    "zoo.parts.init",
    "zoo.parts.loss",
    "zoo.parts.schedule",
    "zoo.parts.optimizer",
    "zoo.parts.decoding",
    "zoo.models.assemblies",
    "zoo.core.tasks",
    "zoo.core.presets",
    "zoo.training.translation.presets",
    "zoo.cli.commands",
)

_T = TypeVar("_T")


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


_Named = TypeVar("_Named", bound=_HasName)


@dataclass(frozen=True)
class Loaded:
    """A plugin that is loaded, or (with `problem`) one that was skipped, and why."""

    name: str
    version: str
    source: str
    problem: str = ""


@dataclass
class Plugins:
    """The plugin manager with what was loaded and what was skipped."""

    manager: pluggy.PluginManager
    loaded: dict[str, Loaded] = field(default_factory=dict)

    def register(self, plugin: object, loaded: Loaded) -> None:
        """Add a plugin. Raises pluggy.PluginValidationError if a hook's arguments are wrong."""
        self.loaded[loaded.name] = loaded
        self.manager.register(plugin, name=loaded.name)

    def check(self) -> None:
        """Skip every plugin that implements a hook which nobody has specified (a misspelt name, say)."""
        while True:
            try:
                return self.manager.check_pending()
            except pluggy.PluginValidationError as error:
                self.skip(self.manager.get_name(error.plugin) or repr(error.plugin), error, "hooks")

    def collect(
        self, hook: str, kind: type[_Named], check: Callable[[_Named], None] = lambda _one: None
    ) -> dict[str, _Named]:
        """Return what `hook` offers on every plugin, by name. A plugin that breaks, repeats a name, or offers what
        `check` raises for, is skipped whole. `check` is not called on what is built in, which the tests check."""
        found: dict[str, _Named] = {}

        def add(plugin: str, items: Iterable[object]) -> None:
            new: dict[str, _Named] = {}
            for item in _several(items):
                one = _checked(item, kind)
                if one.name in found or one.name in new:
                    raise PluginError(f"{kind.__name__.lower()} '{one.name}' is registered twice")
                if plugin not in DEFAULT_PLUGINS:
                    check(one)
                new[one.name] = one
            found.update(new)

        self.each(hook, add)
        return found

    def each(
        self,
        hook: str,
        use: Callable[[str, Any], None],
        undo: Callable[[], None] = lambda: None,
        **arguments: object,
    ) -> None:
        """Call `hook` through pluggy on one plugin after the other, and hand (plugin name, result) to `use`.

        First those marked `tryfirst`, last those marked `trylast`, else in the order of registration. Hook
        wrappers run around each call; its result is a list with the plugin's own, which they may change, and
        `use` gets every item. Where a plugin breaks, `undo` is called instead and the plugin skipped; where it
        was a wrapper, the call is made again without it.
        """
        every = getattr(self.manager.hook, hook).get_hookimpls()
        wrappers = [one for one in every if one.wrapper or one.hookwrapper]
        called = [one for one in every if one not in wrappers]
        for one in sorted(called, key=self._turn):
            others, name, done = (
                [other.plugin for other in called if other is not one],
                one.plugin_name,
                False,
            )
            while not done and self.manager.has_plugin(name):
                try:
                    results = self.manager.subset_hook_caller(hook, others)(**arguments)
                    for result in results or [() if wrappers else None]:  # pluggy leaves None out
                        use(name, result)
                    done = True
                except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's code
                    undo()
                    self.skip(_culprit(error, one, wrappers).plugin_name, error, f"{hook}()")

    def _turn(self, implementation: pluggy.HookImpl) -> tuple[int, int]:
        """When an implementation is called, as a key to sort by."""
        return (
            implementation.trylast - implementation.tryfirst,
            list(self.loaded).index(implementation.plugin_name),
        )

    def skip(self, name: str, error: BaseException, where: str) -> None:
        """Report a broken plugin and go on without it; with ZOO_STRICT_PLUGINS=1, raise PluginError."""
        reason = f"{where}: {describe_exception(error)}"
        if strict():
            raise PluginError(f"Plugin '{name}' is broken. {reason}") from error
        before = self.loaded.get(name, Loaded(name, "", ""))
        self.loaded[name] = Loaded(name, before.version, before.source, reason)
        if self.manager.has_plugin(name):
            self.manager.unregister(name=name)
        print(f"zoo: plugin '{name}' is broken and skipped. {reason}", file=sys.stderr)


def _culprit(
    error: BaseException, called: pluggy.HookImpl, wrappers: Iterable[pluggy.HookImpl]
) -> pluggy.HookImpl:
    """The wrapper that raised `error`, or else the implementation that was called."""
    codes = {frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)}
    raised = [one for one in (called, *wrappers) if getattr(one.function, "__code__", None) in codes]
    return raised[0] if raised else called


def strict() -> bool:
    """Return whether a broken plugin is to be an error: ZOO_STRICT_PLUGINS=1."""
    return os.environ.get("ZOO_STRICT_PLUGINS", "") not in ("", "0")


def _checked(item: object, kind: type[_T]) -> _T:
    if not isinstance(item, kind):
        raise PluginError(f"expected {kind.__name__} objects, got {type(item).__name__}")
    return item


def _several(items: object) -> Iterable[object]:
    if items is None:
        raise PluginError("expected a list or tuple, got None: is there a `return`?")
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise PluginError(f"expected a list or tuple, got {type(items).__name__}")
    return items


def load_plugins(default: Iterable[str] = DEFAULT_PLUGINS, group: str = "zoo") -> Plugins:
    """A fresh manager with the built-in plugins, then those of the entry-point group.

    Where ZOO_PLUGINS is set, only those of the group that it names, separated by commas; none if it is empty.
    """
    from zoo import __version__

    plugins = Plugins(pluggy.PluginManager("zoo"))
    plugins.manager.add_hookspecs(hookspecs)
    for module in default:
        plugins.register(importlib.import_module(module), Loaded(module, __version__, "built in"))
    entries = importlib.metadata.entry_points(group=group)
    wanted = _wanted()
    for entry in entries:
        if wanted is not None and entry.name not in wanted:
            continue
        owner = entry.dist.name if entry.dist is not None else "unknown"
        version = entry.dist.version if entry.dist is not None else ""
        loaded = Loaded(entry.name, version, f"{owner} ({entry.value})")
        if entry.name in plugins.loaded:
            loaded = Loaded(
                f"{owner}:{entry.name}", version, loaded.source
            )  # names are first come, first served
        try:
            plugins.register(entry.load(), loaded)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's code
            plugins.loaded[loaded.name] = loaded
            plugins.skip(loaded.name, error, f"import of {entry.value}")
    for name in sorted((wanted or set()) - {entry.name for entry in entries}):
        plugins.loaded[name] = Loaded(name, "", "not installed")
        plugins.skip(name, PluginError("no plugin of this name is installed"), "ZOO_PLUGINS")
    plugins.each("zoo_addhooks", lambda _name, _result: None, manager=plugins.manager)
    plugins.check()
    return plugins


def _wanted() -> set[str] | None:
    """The plugins that ZOO_PLUGINS names; None where it is not set, and all are wanted."""
    named = os.environ.get("ZOO_PLUGINS")
    return None if named is None else {name.strip() for name in named.split(",") if name.strip()}


@cache
def get_plugins() -> Plugins:
    """The plugins of this process, loaded once."""
    return load_plugins()


@cache
def get_registry() -> Registry:
    """The registry of this process: the zoo's axes, every plugin's variants."""
    return make_registry(get_plugins())


def make_registry(plugins: Plugins) -> Registry:
    """A registry filled from `plugins`; a plugin with a bad or duplicate variant is skipped whole."""
    registry = Registry(AXES)

    plugins.each(
        "zoo_variants",
        lambda name, variants: registry.add_all([_checked(one, Variant) for one in _several(variants)], name),
    )
    return registry
