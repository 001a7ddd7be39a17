"""The classes, functions and constants of a file, and which of them a call in it may reach."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import libcst as cst
from torch import nn

from zoo.export.flatten import Flattener, Unit
from zoo.export.observe import Facts
from zoo.export.simplify import mapped, substitute
from zoo.export.trees import (
    NameVisitor,
    bound_names,
    code,
    is_builtin,
    is_own,
    names_in,
    self_attribute,
    source_of,
    walk,
)

Place = tuple[str, str]
"""A function: name of its unit, name of the method ("" of a function)."""


class Program:
    """Units by name, and passes over them until nothing changes."""

    def __init__(self, flattener: Flattener, facts: Facts, roots: frozenset[str]) -> None:
        self.flattener, self.facts, self.roots = flattener, facts, roots
        self.units: dict[str, Unit] = {}
        self.imports: dict[str, tuple[str, str, str]] = {}
        self.asked: set[str] = set()
        """Methods that are called from outside."""
        self.literals: set[tuple[str, str]] = set()
        """Classes and parameters of their constructors in whose place a number or text was put."""
        self.renamed: dict[tuple[str, str], str] = {}
        self.clean: dict[str, Any] = {}
        self.settled = False
        self._looked_up: dict[str, tuple[Any, list[str], dict[str, tuple[str, str, str]]]] = {}

    def add_class(self, cls: type) -> Unit:
        """The unit of a class."""
        for unit in self.units.values():
            if unit.value is cls:
                return unit
        unit = self.flattener.flattened(cls)
        return self.enter(unit)

    def enter(self, unit: Unit) -> Unit:
        """Add a unit, under a name that no other has."""
        name, number = unit.name, 2
        while unit.name in self.units:
            unit.name, number = f"{name}{number}", number + 1
        if unit.name != name and isinstance(unit.node, (cst.ClassDef, cst.FunctionDef)):
            unit.node = unit.node.with_changes(name=cst.Name(unit.name))
        elif unit.name != name:
            unit.node = substitute_targets(unit.node, name, unit.name)
        self.units[unit.name] = unit
        return unit

    def collect(self, root: str) -> list[str]:
        """All that is reached from a unit, what is used before what uses it."""
        order: list[str] = []
        on_the_way: set[str] = set()
        self.imports = {}

        def visit(name: str) -> None:
            if name in on_the_way:
                return
            on_the_way.add(name)
            for other in self._used_by(self.units[name]):
                visit(other)
            order.append(name)

        visit(root)
        return order

    def _used_by(self, unit: Unit) -> list[str]:
        held = self._looked_up.get(unit.name)
        if held is None or held[0] is not unit.node or any(name not in self.units for name in held[1]):
            before, self.imports = self.imports, {}
            found = self._look_up(unit)
            held = self._looked_up[unit.name] = (unit.node, found, self.imports)
            self.imports = before
        self.imports |= held[2]
        return held[1]

    def _look_up(self, unit: Unit) -> list[str]:
        found: list[str] = []
        replaced: dict[str, dict[str, str]] = {}
        for part, module, node in pieces(unit):
            hidden = bound_names(node) if isinstance(node, cst.FunctionDef) else set()
            inner = annotation_names(node)
            for name in dict.fromkeys(one.value for one in names_in(node)):
                if (name in hidden and name not in inner) or name in ("self", "config", "Config"):
                    continue
                if name == unit.name or (name in self.units and self.units[name] is unit):
                    continue
                target = self.resolve(module, name, only_annotation=name in inner and not beyond(node, name))
                for other in unit.modules.get(f"{part} of base", "").split() if target is None else ():
                    target = target or self.resolve(other, name)
                if target is None:
                    continue
                if target != name:
                    replaced.setdefault(part, {})[name] = target
                if target in self.units and target not in found:
                    found.append(target)
        for part, names in replaced.items():
            unit.node = rename(unit, part, names)
        return found

    def resolve(self, module: str, name: str, only_annotation: bool = False) -> str | None:
        """The name in the file of what a name means in a module: a unit's, or itself where it is imported."""
        if is_builtin(name) and name not in source_of(module).definitions:
            return None
        source = source_of(module)
        if name in source.definitions:
            if (module, name) in self.renamed:
                return self.renamed[module, name]
            value = getattr(source.module, name, None)
            if only_annotation and isinstance(value, type):
                return self._annotation(value)
            node = source.definitions[name]
            if isinstance(node, cst.ClassDef) and isinstance(value, type):
                unit = self.add_class(value)
            elif isinstance(node, cst.FunctionDef):
                unit = self.enter(self.flattener.function(getattr(source.module, name)))
            else:
                unit = self.enter(Unit(name, node, {"": module}))
            self.renamed[module, name] = unit.name
            return unit.name
        if name in source.imports:
            origin, attribute, bound = source.imports[name]
            origin = _absolute(origin, module)
            if attribute and is_own(_imported(origin), self.roots):
                return self.resolve(origin, attribute, only_annotation)
            self.imports[bound] = (origin, attribute, bound)
            return name
        return name if name in self.units else None

    def _annotation(self, value: type) -> str:
        """A class that is only named in annotations: those of the file that stand for it."""
        for unit in self.units.values():
            if unit.value is value:
                return unit.name
        heirs = [
            u.name for u in self.units.values() if isinstance(u.value, type) and issubclass(u.value, value)
        ]
        if len(heirs) == 1:
            return heirs[0]
        made = [one for one in self.facts.instances if issubclass(one, value)]
        if len(made) == 1:
            return self.add_class(made[0]).name
        if heirs:
            return " | ".join(heirs)
        if issubclass(value, nn.Module):
            self.imports["nn"] = ("torch", "nn", "nn")
            return "nn.Module"
        return self.add_class(value).name

    def place(self, unit: Unit, function: cst.FunctionDef) -> Place:
        """The place of a function."""
        return unit.name, function.name.value if isinstance(unit.node, cst.ClassDef) else ""

    def functions(self) -> Iterator[tuple[Unit, cst.FunctionDef]]:
        """All functions and methods."""
        for unit in list(self.units.values()):
            if isinstance(unit.node, cst.FunctionDef):
                yield unit, unit.node
            else:
                for function in methods(unit):
                    yield unit, function

    def replace(self, unit: Unit, function: cst.FunctionDef, changed: cst.FunctionDef) -> None:
        """Put a changed function in the place of one."""
        if unit.node is function:
            unit.node = changed
            return
        body = [
            changed if isinstance(one, cst.FunctionDef) and one.name.value == function.name.value else one
            for one in unit.node.body.body
        ]
        unit.node = unit.node.with_changes(body=unit.node.body.with_changes(body=body))

    def kinds(self, unit: Unit, attribute: str) -> set[type]:
        """The classes of the values of an attribute, of all objects of a class; of a list, of what is in it."""
        objects = self.facts.instances.get(unit.value, []) if isinstance(unit.value, type) else []
        return {type(getattr(one, attribute)) for one in objects if hasattr(one, attribute)}

    def callees(self, unit: Unit, function: cst.FunctionDef | None, call: cst.Call) -> list[Place] | None:
        """The functions of the file that a call may reach; None where that is not known."""
        target = call.func
        if isinstance(target, cst.Name):
            name = target.value
            other = self.units.get(name)
            if other is not None:
                return [(name, "__init__")] if isinstance(other.node, cst.ClassDef) else [(name, "")]
            if function is not None and (elements := self._elements(unit, function, name)):
                return self._forwards(elements)
            if function is not None and name in bound_names(function):
                return None
            return []
        if isinstance(target, cst.Attribute):
            method = target.attr.value
            if code(target.value) == "self":
                if any(f.name.value == method for f in methods(unit)):
                    return [(unit.name, method)]
                kinds = self.kinds(unit, method)
                return self._forwards(kinds) if kinds else []
            if code(target.value) == "super()":
                return []
            owner = self_attribute(target.value)
            kinds = self.kinds(unit, owner) if owner else set()
            units = [
                u
                for u in self.units.values()
                if isinstance(u.value, type) and (not kinds or u.value in kinds)
            ]
            return [(u.name, method) for u in units if any(f.name.value == method for f in methods(u))]
        return []

    def _forwards(self, kinds: set[type]) -> list[Place]:
        found: list[Place] = []
        for unit in self.units.values():
            if unit.value in kinds:
                name = "forward" if issubclass(unit.value, nn.Module) else "__call__"
                if any(f.name.value == name for f in methods(unit)):
                    found.append((unit.name, name))
        return found

    def _elements(self, unit: Unit, function: cst.FunctionDef, name: str) -> set[type]:
        """The classes of what a loop variable runs over."""
        found: set[type] = set()
        objects = self.facts.instances.get(unit.value, []) if isinstance(unit.value, type) else []
        for text in _looped_over(function, name):
            for one in objects:
                held = getattr(one, text, None)
                if isinstance(held, nn.ModuleList):
                    found.update(type(x) for x in held)
        return found


@lru_cache(maxsize=50_000)
def _looped_over(function: cst.FunctionDef, name: str) -> list[str]:
    """The attributes of `self` that a loop variable runs over."""
    found: list[str] = []

    class Loops(cst.CSTVisitor):
        def visit_For(self, node: cst.For) -> None:
            if name in {one.value for one in names_in(node.target)}:
                found.extend(attributes_of_self(node.iter))

    walk(function, Loops())
    return found


def attributes_of_self(node: cst.CSTNode) -> list[str]:
    """The attributes of `self` in an expression."""
    found: list[str] = []

    class Found(cst.CSTVisitor):
        def visit_Attribute(self, node: cst.Attribute) -> None:
            if (name := self_attribute(node)) is not None:
                found.append(name)

    walk(node, Found())
    return found


def methods(unit: Unit) -> list[cst.FunctionDef]:
    """The methods of a class."""
    if not isinstance(unit.node, cst.ClassDef):
        return []
    return [one for one in unit.node.body.body if isinstance(one, cst.FunctionDef)]


def pieces(unit: Unit) -> Iterator[tuple[str, str, Any]]:
    """A unit in parts whose names are looked up in one module: name of the part, module, tree."""
    if not isinstance(unit.node, cst.ClassDef):
        yield "", unit.modules[""], unit.node
        return
    for base in unit.node.bases:
        yield "bases", unit.modules.get("bases", unit.modules[""]), base.value
    for decorator in unit.node.decorators:
        yield "", unit.modules[""], decorator.decorator
    for one in unit.node.body.body:
        name = name_of(one)
        yield name, unit.modules.get(name, unit.modules[""]), one


def name_of(node: Any) -> str:
    """The name that a statement of a class or file binds; '' for none."""
    if isinstance(node, cst.FunctionDef):
        return node.name.value
    if isinstance(node, cst.SimpleStatementLine):
        small = node.body[0]
        target = small.target if isinstance(small, cst.AnnAssign) else None
        if isinstance(small, cst.Assign):
            target = small.targets[0].target
        return target.value if isinstance(target, cst.Name) else ""
    return ""


def rename(unit: Unit, part: str, names: dict[str, str]) -> Any:
    """A unit with other names in one of its parts."""
    values = {name: cst.parse_expression(text) for name, text in names.items()}
    if not isinstance(unit.node, cst.ClassDef):
        return _renamed(unit.node, values)
    body = [_renamed(one, values) if name_of(one) == part else one for one in unit.node.body.body]
    return unit.node.with_changes(body=unit.node.body.with_changes(body=body))


def _renamed(node: Any, values: dict[str, cst.BaseExpression]) -> Any:
    name = name_of(node)
    return substitute(node, {key: value for key, value in values.items() if key != name})


def substitute_targets(node: Any, name: str, other: str) -> Any:
    """A constant under another name."""
    return mapped(
        node, lambda _, one: cst.Name(other) if isinstance(one, cst.Name) and one.value == name else one
    )


@lru_cache(maxsize=50_000)
def annotation_names(node: Any) -> set[str]:
    """Names that occur in annotations."""
    found: set[str] = set()

    class Annotations(cst.CSTVisitor):
        def visit_Annotation(self, node: cst.Annotation) -> None:
            found.update(one.value for one in names_in(node.annotation))

    walk(node, Annotations())
    return found


def beyond(node: Any, name: str) -> bool:
    """Return whether a name occurs outside of annotations too."""
    return name in _outside_annotations(node)


@lru_cache(maxsize=50_000)
def _outside_annotations(node: Any) -> set[str]:
    found: set[str] = set()

    class Names(NameVisitor):
        def visit_Annotation(self, node: cst.Annotation) -> bool:
            return False

        def visit_Name(self, node: cst.Name) -> None:
            found.add(node.value)

    walk(node, Names())
    return found


def _absolute(origin: str, module: str) -> str:
    dots = len(origin) - len(origin.lstrip("."))
    if not dots:
        return origin
    found = sys.modules[module]
    package = (found.__package__ or "").split(".")
    parts = package[: len(package) - dots + 1]
    return ".".join([*parts, origin.lstrip(".")]).strip(".")


def _imported(name: str) -> str:
    try:
        importlib.import_module(name)
    except ImportError:
        return ""
    return name
