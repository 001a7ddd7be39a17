"""Axes, variants and the registry: metadata only. Importing this, or listing, never imports torch."""

from __future__ import annotations

import fnmatch
import hashlib
import importlib
import importlib.util
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from zoo.core.errors import (
    PluginError,
    UnknownNameError,
    ZooError,
    describe_exception,
    message_of,
    unknown_name,
)

NAME = re.compile(r"[a-z0-9][a-z0-9-]*\Z")
FILE_SPEC = re.compile(r"(?P<file>.+\.py):(?P<cls>[A-Za-z_]\w*)(?P<rest>(:.*)?)\Z")


KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
"""The types of options, in words."""


@dataclass(frozen=True)
class Option:
    """A typed option of a variant; it becomes a keyword argument of the variant's class.

    Attributes:
        name: the keyword argument.
        type: bool, int, float or str.
        default: used when the option is not given; None is allowed and then means "decided by the class".
        help: one line.
        minimum, maximum: least and greatest value allowed, for numbers.
        choices: the only values allowed, for strings.
    """

    name: str
    type: type
    default: object
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises PluginError for a declaration that makes no sense."""
        if self.type not in KINDS:
            kinds = ", ".join(kind.__name__ for kind in KINDS)
            raise PluginError(f"option '{self.name}': expected a type of {kinds}, got {self.type!r}")
        try:
            self.check(self.default)
        except ZooError:
            raise PluginError(
                f"option '{self.name}': expected a default that is {self.expected}, got {self.default!r}"
            ) from None

    def parse(self, text: str) -> object:
        """Parse the value of an option. Raises ZooError."""
        try:
            if self.type is bool:
                return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[
                    text.lower()
                ]
            return self.check(self.type(text))
        except (ValueError, KeyError):
            raise ZooError(f"Option {self.name}={text}: expected {self.expected}.") from None

    def check(self, value: object) -> object:
        """`value` itself if it is allowed. Raises ZooError."""
        if self.type is float and type(value) is int:
            value = float(value)
        good = type(value) is self.type or (value is None and self.default is None)
        if good and isinstance(value, (int, float)):
            good = math.isfinite(value) and (self.minimum is None or value >= self.minimum)
            good = good and (self.maximum is None or value <= self.maximum)
        if good and self.choices:
            good = value in self.choices
        if not good:
            raise ZooError(f"Option {self.name}={value}: expected {self.expected}.")
        return value

    @property
    def expected(self) -> str:
        """Return what a value must be, in words: "an int of at least 1"."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = KINDS[self.type]
        if self.minimum is not None and self.maximum is not None:
            return f"{kind} from {self.minimum:g} to {self.maximum:g}"
        if self.maximum is not None:
            return f"{kind} of at most {self.maximum:g}"
        return kind if self.minimum is None else f"{kind} of at least {self.minimum:g}"


@dataclass(frozen=True)
class Capability:
    """A property that a variant of an axis can declare; builder, listing and tests all read it.

    Attributes:
        default: what holds where a variant says nothing; what it says is of the same type.
        choices: the only values, or, where they are several (a tuple), the only ones in it.
    """

    name: str
    default: object
    help: str
    choices: tuple[str, ...] = ()

    def check(self, value: object) -> None:
        """Raises PluginError for a value that it cannot have."""
        if self.default is None:
            good = value is None or type(value) is int
        elif isinstance(self.default, tuple):
            good = isinstance(value, (tuple, list)) and all(isinstance(one, str) for one in value)
        else:
            good = type(value) is type(self.default)
        if good and self.choices:
            good = set(value if isinstance(value, (tuple, list)) else [value]) <= {*self.choices}
        if not good:
            raise PluginError(f"capability '{self.name}': expected {self._expected}, got {value!r}")

    @property
    def _expected(self) -> str:
        among = f" of {', '.join(self.choices)}" if self.choices else ""
        if self.default is None:
            return "a whole number or None"
        if isinstance(self.default, tuple):
            return f"a tuple{among or ' of texts'}"
        return f"one{among}" if among else KINDS[type(self.default)]


@dataclass(frozen=True)
class Axis:
    """A kind of part.

    Attributes:
        name: as it is typed (`--attention`).
        summary: one line.
        default: name of the variant used when none is chosen.
        interface: what a variant's class must offer: constructor and forward, with shapes.
        capabilities: what variants may declare, with defaults.
        per_layer: whether layers may differ in it (`zoo.core.pattern`).
    """

    name: str
    summary: str
    default: str
    interface: str
    capabilities: tuple[Capability, ...] = ()
    per_layer: bool = False


@dataclass(frozen=True)
class Variant:
    """A named implementation on an axis. The class behind `path` is imported on use only.

    Attributes:
        axis: name of the axis.
        name: lower-case letters, digits and hyphens.
        path: "package.module:Class".
        summary: one line.
        formula: what it computes, in one or a few lines.
        paper: authors, year, section, arXiv id; "" where there is none.
        options: keyword arguments beyond those that the axis hands to every variant.
        capabilities: what it declares; keys are those of the axis, missing ones take the axis's default.
        origin: the plugin it came from; filled in by the registry.
    """

    axis: str
    name: str
    path: str
    summary: str
    formula: str = ""
    paper: str = ""
    options: tuple[Option, ...] = ()
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""

    def load(self) -> Callable[..., Any]:
        """The class (or other callable) behind `path`.

        Raises:
            PluginError: the module cannot be imported or lacks the name.
        """
        module_name, _, attribute = self.path.partition(":")
        if module_name.endswith(".py"):
            return _class_of_file(Path(module_name), attribute)
        try:
            found = getattr(importlib.import_module(module_name), attribute)
        except (ImportError, AttributeError) as error:
            raise PluginError(
                f"{self.axis} '{self.name}' cannot be loaded from {self.path}: {message_of(error)}"
            ) from error
        return found  # type: ignore[no-any-return]

    def option(self, name: str) -> Option:
        """The option called `name`. Raises UnknownNameError."""
        for option in self.options:
            if option.name == name:
                return option
        raise unknown_name(f"option for {self.axis}={self.name} called", name, (o.name for o in self.options))

    @property
    def is_file(self) -> bool:
        """Return whether it is a class in a user's own file."""
        return self.path.partition(":")[0].endswith(".py")


class Registry:
    """All axes and variants that are loaded."""

    def __init__(self, axes: Iterable[Axis]) -> None:
        self._axes = {axis.name: axis for axis in axes}
        self._variants: dict[str, dict[str, Variant]] = {name: {} for name in self._axes}

    @property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(self._axes.values())

    def axis(self, name: str) -> Axis:
        """The axis called `name`. Raises UnknownNameError."""
        if name not in self._axes:
            raise unknown_name("axis", name, self._axes, "zoo list")
        return self._axes[name]

    def add(self, variant: Variant, origin: str = "") -> None:
        """Register a variant. Raises PluginError on a duplicate or a malformed entry, UnknownNameError for a
        capability or an axis that does not exist."""
        declarable = {capability.name: capability for capability in self.axis(variant.axis).capabilities}
        known = {name: capability.default for name, capability in declarable.items()}
        if not NAME.match(variant.name):
            raise PluginError(
                f"'{variant.name}' is not a valid variant name: lower-case letters, digits and hyphens only."
            )
        if ":" not in variant.path:
            raise PluginError(
                f"{variant.axis} '{variant.name}': path '{variant.path}' is not 'module:Class'."
            )
        for name, value in variant.capabilities.items():
            if name not in known:
                raise unknown_name(f"capability of axis {variant.axis}", name, known)
            declarable[name].check(value)
        there = self._variants[variant.axis].get(variant.name)
        if there is not None:
            raise PluginError(
                f"{variant.axis} '{variant.name}' is registered twice: by {there.origin or 'an unnamed plugin'} "
                f"({there.path}) and by {origin or 'an unnamed plugin'} ({variant.path}). Rename one of them."
            )
        declared = replace(variant, capabilities={**known, **variant.capabilities}, origin=origin)
        self._variants[variant.axis][variant.name] = declared

    def add_all(self, variants: Iterable[Variant], origin: str) -> None:
        """Register all of them, or none. Raises as `add` does."""
        before = {axis: dict(there) for axis, there in self._variants.items()}
        try:
            for variant in variants:
                self.add(variant, origin)
        except BaseException:
            self._variants = before
            raise

    def variants(self, axis: str | None = None, like: str | None = None) -> list[Variant]:
        """Variants in order of axis and registration; `like` is a wildcard on "name" or "axis/name"."""
        chosen = [self.axis(axis)] if axis is not None else list(self.axes)
        found = [variant for one in chosen for variant in self._variants[one.name].values()]
        if like is None:
            return found
        return [
            v for v in found if fnmatch.fnmatch(v.name, like) or fnmatch.fnmatch(f"{v.axis}/{v.name}", like)
        ]

    def get(self, axis: str, name: str) -> Variant:
        """The variant `name` of `axis`. Raises UnknownNameError with the nearest names."""
        self.axis(axis)
        if name not in self._variants[axis]:
            raise unknown_name(axis, name, self._variants[axis], f"zoo list {axis}")
        return self._variants[axis][name]

    def knows(self, variant: Variant) -> bool:
        """Return whether `variant` is one of this registry's, or a user's own file, which needs no registration."""
        return variant.is_file or self._variants.get(variant.axis, {}).get(variant.name) == variant

    def resolve(self, axis: str, text: str) -> tuple[Variant, dict[str, object]]:
        """Return what a user typed: "name", "name:option=value:..." or "path/to/file.py:Class[:option=value...]".

        Returns:
            the variant and the options given.

        Raises:
            UnknownNameError: unknown axis, variant or option.
            ZooError: a value that the option does not take, or a file that does not exist.
        """
        match = FILE_SPEC.match(text)
        if not match and re.search(r"\*\d+\Z|\*\d+\+|[a-z0-9]\+[a-z]", text):
            first = re.split(r"[*+]", text)[0]
            raise ZooError(
                f"--{axis}={text}: expected one variant here, such as --{axis}={first}, not one for each layer."
            )
        if match:
            variant, rest = self._file_variant(axis, match["file"], match["cls"]), match["rest"].lstrip(":")
        else:
            name, _, rest = text.partition(":")
            if name.endswith(".py") or "/" in name:
                raise ZooError(f"--{axis}={text}: name the class too, as in --{axis}={name}:ClassName.")
            variant = self.get(axis, name)
        options: dict[str, object] = {}
        for part in filter(None, rest.split(":")):
            key, equals, value = part.partition("=")
            if not equals:
                raise ZooError(f"--{axis}={text}: '{part}' is not of the form option=value.")
            if key in options:
                raise ZooError(f"--{axis}={text}: option '{key}' is given twice.")
            options[key] = self._option_value(variant, key, value)
        return variant, options

    def _option_value(self, variant: Variant, key: str, value: str) -> object:
        if variant.is_file:
            raise UnknownNameError(
                f"A class from a file takes no options here, but '{key}={value}' was given."
            )
        return variant.option(key).parse(value)

    def _file_variant(self, axis: str, file: str, cls: str) -> Variant:
        if not os.path.isfile(file):  # noqa: PTH113 - Path.is_file raises for a name that is too long
            raise ZooError(f"--{axis}={file}:{cls}: there is no file '{file}'.")
        known = {capability.name: capability.default for capability in self.axis(axis).capabilities}
        return Variant(axis, cls, f"{file}:{cls}", f"{cls} of {file}", capabilities=known, origin=file)


def _class_of_file(path: Path, name: str) -> Callable[..., Any]:
    """Import a user's own file and return one of its names, with sentences for what can go wrong."""
    module = module_of_file(path)
    if not hasattr(module, name):
        public = [
            key for key, value in vars(module).items() if isinstance(value, type) and not key.startswith("_")
        ]
        raise unknown_name("class", name, public, where=f" in {path}")
    return getattr(module, name)  # type: ignore[no-any-return]


def module_of_file(path: Path) -> ModuleType:
    """A user's own file, imported. Raises ZooError with a sentence if that fails."""
    place = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:8]  # two files may have one name
    spec = importlib.util.spec_from_file_location(f"zoo_file_{path.stem}_{place}", path)
    if spec is None or spec.loader is None:
        raise ZooError(f"'{path}' cannot be read as a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        caret = (
            f"\n  {(error.text or '').rstrip()}\n  {' ' * ((error.offset or 1) - 1)}^" if error.text else ""
        )
        line = f", line {error.lineno}" if error.lineno else ""  # none for a NUL
        raise ZooError(f"{path}{line}: {error.msg}{caret}") from error
    except (Exception, SystemExit) as error:
        raise ZooError(f"{path} cannot be imported: {describe_exception(error)}") from error
    return module
