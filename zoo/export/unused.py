"""Passes over a program: methods, names, attributes and modules that nothing needs."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import libcst as cst
import torch
from torch import nn

from zoo.export.calls import droppable
from zoo.export.program import Program, attributes_of_self, methods, name_of, pieces
from zoo.export.simplify import mapped, substitute
from zoo.export.trees import (
    NameVisitor,
    attributes_in,
    bound_names,
    code,
    is_constant,
    is_own,
    names_in,
    parameters,
    self_attribute,
    visited,
    walk,
    without_docstring,
)


def drop_methods(program: Program) -> None:
    """Methods and attributes of classes that nothing asks for."""
    used, beyond = {*program.asked}, {*program.asked}
    for unit in program.units.values():
        for _, _, node in pieces(unit):
            used |= set(attributes_in(node))
        beyond |= _read_of_others(unit.node)
    for unit in program.units.values():
        if not isinstance(unit.node, cst.ClassDef):
            continue
        text = code(unit.node)
        names = {method.name.value for method in methods(unit)}
        kept = []
        for one in unit.node.body.body:
            name = name_of(one)
            if _other_name(one) in names and name not in beyond | _read_of_self(unit.node):
                continue  # other classes that have it ask themselves for it
            inherited = any(
                name in vars(base)
                for base in unit.value.__mro__
                if not is_own(base.__module__, program.roots)
            )
            special = name.startswith("__") or (isinstance(one, cst.FunctionDef) and name == "forward")
            overrides = isinstance(one, cst.FunctionDef) and inherited and name != "extra_repr"
            if isinstance(one, cst.SimpleStatementLine) and isinstance(one.body[0], cst.AnnAssign):
                bare = one.body[0].value is None
                wanted = name in used and (not bare or f'("{name}"' in text)
                if bare and not wanted:
                    continue
            if not name or name in used or special or overrides:
                kept.append(one)
        if len(kept) != len(unit.node.body.body):
            unit.node = unit.node.with_changes(body=unit.node.body.with_changes(body=kept))


def _other_name(statement: Any) -> str:
    """The method that a statement of a class gives another name: `attend_shown = attend`; "" for others."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    return small.value.value if isinstance(small, cst.Assign) and isinstance(small.value, cst.Name) else ""


def drop_locals(program: Program) -> None:
    """Names that are assigned to and never read."""
    for unit, function in program.functions():
        changed = without_unused(function)
        if changed is not function:
            program.replace(unit, function, changed)


def drop_trivial_modules(program: Program) -> None:
    """Modules that do nothing, and factors of 1."""
    for unit in program.units.values():
        objects = program.facts.instances.get(unit.value, []) if isinstance(unit.value, type) else []

        def idle(name: str | None, objects: list[Any] = objects) -> bool:
            values = [getattr(one, name, None) for one in objects] if name else []
            return bool(values) and all(map(_does_nothing, values))

        def one(name: str | None, objects: list[Any] = objects) -> bool:
            values = [getattr(one, name, None) for one in objects] if name else []
            return bool(values) and all(type(value) in (int, float) and value == 1 for value in values)

        def change(_: Any, node: Any, idle: Any = idle, one: Any = one) -> Any:
            if isinstance(node, cst.Call) and len(node.args) == 1 and idle(self_attribute(node.func)):
                return node.args[0].value
            if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
                if one(self_attribute(node.right)):
                    return node.left
                if one(self_attribute(node.left)):
                    return node.right
            return node

        held = {name for value in objects[:1] for name in dir_of(value)}
        if any(idle(name) or one(name) for name in held):
            unit.node = mapped(unit.node, change)


def drop_attributes(program: Program) -> None:
    """Attributes that are never read, or that no object has."""
    beyond: set[str] = set()
    for unit in program.units.values():
        beyond |= _read_of_others(unit.node)
    for unit in program.units.values():
        if not isinstance(unit.node, cst.ClassDef):
            continue
        used = beyond | _read_of_self(unit.node) | program.asked
        objects = program.facts.instances.get(unit.value, [])

        def unused(name: str, used: set[str] = used, objects: Any = objects) -> bool:
            if objects and not any(hasattr(one, name) for one in objects):
                return True
            if name in used:
                return False
            return not any(_has_state(getattr(one, name, None)) for one in objects)

        if any(map(unused, _assigned(unit.node))):
            unit.node = visited(unit.node, _Attributes(unused))


def dir_of(value: Any) -> list[str]:
    """The names of all attributes that an object has of its own, modules among them."""
    modules = [name for name, _ in value.named_children()] if isinstance(value, nn.Module) else []
    return [*modules, *vars(value)] if hasattr(value, "__dict__") else modules


def _does_nothing(value: Any) -> bool:
    if isinstance(value, nn.Dropout):
        return type(value) is nn.Dropout and value.p == 0
    return isinstance(value, nn.Identity) and type(value).forward is nn.Identity.forward


def _has_state(value: Any) -> bool:
    if isinstance(value, nn.Module):
        return any(True for _ in value.state_dict())
    return isinstance(value, torch.Tensor)


def _another(value: cst.BaseExpression, bound: dict[str, int], names: set[str]) -> bool:
    """Return whether a value is a name that is bound once."""
    return isinstance(value, cst.Name) and value.value in names and bound.get(value.value, 0) == 0


def _read_of_self(node: Any) -> set[str]:
    return set(attributes_in(node))


@lru_cache(maxsize=50_000)
def _assigned(node: Any) -> set[str]:
    """Attributes of `self` that are assigned to."""
    found: set[str] = set()

    class Assigned(cst.CSTVisitor):
        def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
            found.update(attributes_of_self(node))

        def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
            found.update(attributes_of_self(node.target))

    walk(node, Assigned())
    return found


@lru_cache(maxsize=50_000)
def _read_of_others(node: Any) -> set[str]:
    """Attributes that are read of anything but `self`."""
    found: set[str] = set()

    class Others(cst.CSTVisitor):
        def visit_Attribute(self, node: cst.Attribute) -> None:
            if code(node.value) not in ("self", "config"):
                found.add(node.attr.value)

    walk(node, Others())
    return found


class _Attributes(cst.CSTTransformer):
    """Removes assignments to attributes of `self`."""

    def __init__(self, unused: Callable[[str], bool]) -> None:
        self.unused = unused

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> Any:
        small = updated_node.body[0]
        if isinstance(small, cst.AnnAssign) and small.value is not None:
            name = self_attribute(small.target)
            return cst.RemoveFromParent() if name and self.unused(name) else updated_node
        if not isinstance(small, cst.Assign) or len(small.targets) != 1:
            return updated_node
        target, value = small.targets[0].target, small.value
        if (name := self_attribute(target)) is not None:
            return cst.RemoveFromParent() if self.unused(name) else updated_node
        if not (isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple)):
            return updated_node
        pairs = list(zip(target.elements, value.elements, strict=False))
        kept = [(t, v) for t, v in pairs if not ((n := self_attribute(t.value)) and self.unused(n))]
        if len(kept) == len(pairs):
            return updated_node
        if not kept:
            return cst.RemoveFromParent()
        text = f"{', '.join(code(t.value) for t, _ in kept)} = {', '.join(code(v.value) for _, v in kept)}"
        changed = cst.parse_statement(text)
        assert isinstance(changed, cst.SimpleStatementLine)
        return changed.with_changes(
            leading_lines=updated_node.leading_lines, trailing_whitespace=updated_node.trailing_whitespace
        )


class EmptyBranches(cst.CSTTransformer):
    """Removes branches that do nothing, and constructors that only call the base's without arguments."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> Any:
        """As in libcst."""
        if not updated_node.body.body:
            if updated_node.orelse is None and droppable(updated_node.test):
                return cst.RemoveFromParent()
            return updated_node.with_changes(body=cst.IndentedBlock([cst.parse_statement("pass")]))
        return updated_node

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        """As in libcst."""
        kept = []
        for one in updated_node.body.body:
            if isinstance(one, cst.FunctionDef) and one.name.value == "__init__" and not parameters(one):
                body = [code(x).strip() for x in without_docstring(one.body)]
                if body in ([], ["super().__init__()"], ["pass"]):
                    continue
            if not (isinstance(one, cst.FunctionDef) and _only_hands_on(one)):
                kept.append(one)
        if len(kept) == len(updated_node.body.body):
            return updated_node
        return updated_node.with_changes(body=updated_node.body.with_changes(body=kept))


def _only_hands_on(function: cst.FunctionDef) -> bool:
    """Return whether a method is `return super().method(...)` with its own parameters."""
    names = ", ".join(one.name.value for one in parameters(function))
    text = [code(one).strip() for one in without_docstring(function.body)]
    return text == [f"return super().{function.name.value}({names})"] and not function.decorators


class _Names(NameVisitor):
    """How often each name of a function is read and bound, and the assignments to it."""

    def __init__(self) -> None:
        self.read: dict[str, int] = defaultdict(int)
        self.bound: dict[str, int] = defaultdict(int)
        self.nodes: dict[str, Any] = {}

    def visit_Assign(self, node: cst.Assign) -> bool:
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                self.bound[target.target.value] += 1
                self.nodes[target.target.value] = node
                continue
            for one in names_in(target.target):
                if one.value in bound_names(node):
                    self.bound[one.value] += 2
                else:
                    self.read[one.value] += 1
        walk(node.value, self)
        return False

    def visit_AnnAssign(self, node: cst.AnnAssign) -> bool:
        if isinstance(node.target, cst.Name) and node.value is not None:
            self.bound[node.target.value] += 1
            self.nodes[node.target.value] = node
        elif not isinstance(node.target, cst.Name):
            walk(node.target, self)
        if node.value is not None:
            walk(node.value, self)
        return False

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if isinstance(node.target, cst.Name):
            self.bound[node.target.value] = 9

    def visit_Name(self, node: cst.Name) -> None:
        self.read[node.value] += 1


def without_unused(function: cst.FunctionDef) -> cst.FunctionDef:
    """A function without what it assigns to names that it never reads; constants are put in."""
    seen = _Names()
    for statement in function.body.body:
        walk(statement, seen)
    read, bound, nodes = dict(seen.read), dict(seen.bound), seen.nodes
    names = {one.name.value for one in parameters(function)}
    top = {
        small.targets[0].target.value: small.value
        for line in function.body.body
        if isinstance(line, cst.SimpleStatementLine)
        for small in line.body
        if isinstance(small, cst.Assign)
        and isinstance(small.targets[0].target, cst.Name)
        and len(small.targets) == 1
    }
    unused = {n for n, node in nodes.items() if not read.get(n) and n not in names and droppable(node.value)}
    constants = {
        n: node.value
        for n, node in nodes.items()
        if bound.get(n) == 1
        and n not in names
        and (
            is_constant(node.value)
            or code(node.value) in ("{}", "1.0")
            or (n in top and _another(node.value, bound, names | nodes.keys()))
        )
    }
    if not unused and not constants:
        return function

    class Less(cst.CSTTransformer):
        def leave_SimpleStatementLine(
            self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
        ) -> Any:
            small = updated_node.body[0]
            target = small.target if isinstance(small, cst.AnnAssign) else None
            if isinstance(small, cst.Assign) and len(small.targets) == 1:
                target = small.targets[0].target
            if isinstance(target, cst.Name) and (target.value in unused or target.value in constants):
                return cst.RemoveFromParent()
            return updated_node

    changed = function.with_changes(body=function.body.visit(Less()))
    return changed.with_changes(body=substitute(changed.body, constants))
