"""From what a user types to the part that is meant: which variant, or which class of a file on which axis."""

from __future__ import annotations

import ast
import inspect
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.analysis.checks.part import HANDED, Part, part_of
from zoo.core.errors import ZooError, unknown_name
from zoo.core.registry import FILE_SPEC, Registry


@dataclass(frozen=True)
class Sign:
    """The signs that a class is made for an axis: arguments of its constructor, methods, arguments of a method."""

    arguments: tuple[str, ...] = ()
    methods: tuple[str, ...] = ("forward",)
    takes: tuple[str, ...] = ()


SIGNS: Mapping[str, Sign] = {
    "mask": Sign((), ("encode", "decode")),
    "init": Sign((), ("matrix",)),
    "decoding": Sign((), ("__call__",), ("stepper",)),
    "optimizer": Sign(("params",), ("step",)),
    "schedule": Sign(("steps", "warmup"), ("__call__",)),
    "embedding": Sign(("src_vocab", "tgt_vocab"), ("src", "tgt")),
    "masking": Sign(("pad",), ("src", "tgt")),
    "norm": Sign(("make_norm",)),
    "attention": Sign(("num_heads",)),
    "encoding": Sign(("d_model", "max_len")),
    "feedforward": Sign(("d_model", "d_ff")),
    "head": Sign(("d_model", "tgt_vocab")),
    "loss": Sign(("pad",), ("forward",), ("output", "labels")),
    "norm-type": Sign(("d_model",)),
    "assembly": Sign(("parts",)),
}
"""The first that fits counts: what fits many comes last."""


def find(registry: Registry, text: str, axis: str | None = None) -> Part:
    """The part named by `text`.

    Args:
        registry: where names are looked up.
        text: "axis/name" or "name", with options after it (":option=value"); or "file.py:Class", or "file.py"
            with one class in it.
        axis: the axis of a class in a file, or of a name that is on several.

    Raises:
        ZooError: there is no such part, or it is not clear which is meant.
    """
    if axis is not None:
        registry.axis(axis)
    if text.endswith(".py"):
        text = f"{text}:{_only_class(text)}"
    if FILE_SPEC.match(text):
        return part_of(registry, axis or axis_of(registry, text), text)
    name, colon, options = text.partition(":")
    before, slash, bare = name.rpartition("/")
    if slash and axis not in (None, before):
        raise ZooError(f"'{text}' is on the axis '{before}', but --axis={axis} was given.")
    return part_of(registry, before or axis or _only_axis(registry, name), f"{bare}{colon}{options}")


def _only_class(file: str) -> str:
    """The one public class that a file defines. Raises ZooError if there is none, or more than one."""
    try:
        with tokenize.open(file) as opened:
            tree = ast.parse(opened.read())
    except OSError as error:
        raise ZooError(f"'{file}' cannot be read: {error.strerror}.") from error
    except (SyntaxError, ValueError) as error:
        raise ZooError(f"'{file}' is not valid Python: {error}.") from error
    names = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    if len(names) != 1:
        which = f"it has {', '.join(names)}" if names else "it has none"
        raise ZooError(f"'{file}': name the class, as in {file}:{next(iter(names), 'ClassName')}; {which}.")
    return names[0]


def _only_axis(registry: Registry, name: str) -> str:
    """The one axis that has a variant called `name`. Raises ZooError if there is none, or more than one."""
    axes = [variant.axis for variant in registry.variants() if variant.name == name]
    if not axes:
        raise unknown_name("variant", name, {v.name for v in registry.variants()}, "zoo list")
    if len(axes) > 1:
        raise ZooError(
            f"'{name}' is on {len(axes)} axes: {', '.join(f'{axis}/{name}' for axis in axes)}. Name one."
        )
    return axes[0]


def axis_of(registry: Registry, text: str) -> str:
    """The axis for which the class "file.py:Class" is made. Raises ZooError if that cannot be inferred."""
    cls = registry.resolve("attention", text)[0].load()  # any axis will do to import it
    packages = {v.path.rpartition(".")[0]: v.axis for v in registry.variants() if v.path.startswith("zoo.")}
    for one in getattr(cls, "__mro__", ()):
        if (axis := packages.get(one.__module__.rpartition(".")[0])) is not None:
            return axis
    given = _arguments(cls)
    for axis, sign in SIGNS.items():
        if set(sign.arguments) <= set(given) and _has_methods(cls, sign):
            return axis
    shown = f"{text.rpartition(':')[2]}({', '.join(given)})"
    raise ZooError(
        f"{text}: its axis cannot be inferred from {shown}. Use --axis with one of {', '.join(HANDED)}."
    )


def _has_methods(cls: Any, sign: Sign) -> bool:
    methods = [
        vars(one).get(name)
        for name in sign.methods
        for one in getattr(cls, "__mro__", ())
        if name in vars(one)
    ]
    found = {method.__name__: method for method in methods if inspect.isfunction(method)}
    if not set(sign.methods) <= found.keys():
        return False
    return set(sign.takes) <= set(_arguments(found[sign.methods[0]]))


def _arguments(function: Callable[..., Any]) -> list[str]:
    """The names of its arguments, [] where they cannot be told."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []
