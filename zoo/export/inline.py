"""Passes over a program: calls that give a constant or an argument, and functions that are called once."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

from typing import Any

import libcst as cst
import torch

from zoo.export.calls import calls_in, droppable, handed_on, is_property
from zoo.export.flatten import Unit, bound_arguments, inlined_call
from zoo.export.program import Place, Program, methods
from zoo.export.simplify import constant, mapped, substitute
from zoo.export.trees import (
    attributes_in,
    code,
    is_constant,
    names_in,
    parameters,
    self_attribute,
    without_docstring,
)

SHORT, FEW = 80, 3
"""Longest expression, and most statements, of a function that is put in the place of its only call."""


def drop_trivial_calls(program: Program) -> None:
    """Calls of functions that give a constant, or one of their arguments."""
    functions = {program.place(unit, f): f for unit, f in program.functions()}
    plain = {
        place: value
        for place, f in functions.items()
        if (value := gives(f)) is not None and place[1] != "forward" and not place[1].startswith("__init")
    }
    properties = {place[1]: value for place, value in plain.items() if is_property(functions[place])}
    counted = [place[1] for place in functions]
    if not plain:
        return
    ends = {place[1] or place[0] for place in plain} | {"__call__"}

    for unit in list(program.units.values()):

        def change(original: Any, node: Any, unit: Unit = unit, function: Any = None) -> Any:
            if isinstance(node, cst.Attribute) and counted.count(node.attr.value) == 1:
                value = properties.get(node.attr.value)
                return value if value is not None and is_constant(value) else node
            if not isinstance(node, cst.Call):
                return node
            method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
            foreign = method and not self_attribute(node.func.value) and code(node.func.value) != "self"
            if foreign and hasattr(torch.Tensor, method):
                return node
            places = program.callees(unit, function, original)
            if not places or not all(place in plain for place in places):
                return node
            if len({code(plain[place]) for place in places}) != 1 or is_property(functions[places[0]]):
                return node
            value = plain[places[0]]
            arguments = bound_arguments(functions[places[0]], node)
            if arguments is None or not all(
                droppable(one) for name, one in arguments.items() if name != code(value)
            ):
                return node
            return arguments.get(code(value), value)

        if isinstance(unit.node, cst.SimpleStatementLine):
            continue
        for function in [f for u, f in program.functions() if u is unit]:
            if not (ends & {*attributes_in(function), *(one.value for one in names_in(function))}) and (
                "__call__" not in {place[1] for place in plain}
            ):
                continue
            changed = mapped(function, lambda o, n, f=function, c=change: c(o, n, function=f))
            if changed is not function:
                program.replace(unit, function, changed)


EMPTY = cst.ensure_type(cst.parse_statement("def __init__(self): pass"), cst.FunctionDef)
EMPTY_CALL = cst.parse_expression("super().__init__()")


def use_plain_bases(program: Program) -> None:
    """Classes that only hand arguments on to a base of torch: the base itself where they are made."""
    for unit in list(program.units.values()):
        if not isinstance(unit.node, cst.ClassDef) or len(unit.node.bases) != 1:
            continue
        body = without_docstring(unit.node.body)
        init = body[0] if len(body) == 1 and isinstance(body[0], cst.FunctionDef) else None
        base = code(unit.node.bases[0].value)
        lines = without_docstring(init.body) if init is not None and init.name.value == "__init__" else []
        small = (
            lines[0].body[0] if len(lines) == 1 and isinstance(lines[0], cst.SimpleStatementLine) else None
        )
        call = small.value if isinstance(small, cst.Expr) else None
        if not body:  # it takes what the base takes
            init, call = EMPTY, EMPTY_CALL
        if (
            not isinstance(call, cst.Call)
            or code(call.func) != "super().__init__"
            or not base.startswith("nn.")
            or base == "nn.Module"
        ):
            continue
        if any(unit.name in handed_on(other.node) for other in program.units.values()):
            continue

        def change(
            _: Any, node: Any, unit: Unit = unit, init: Any = init, call: Any = call, base: str = base
        ) -> Any:
            if not isinstance(node, cst.Call) or code(node.func) != unit.name:
                return node
            values = bound_arguments(init, node)
            if values is None:
                return node
            made = substitute(call, values)
            return made.with_changes(func=cst.parse_expression(base), lpar=node.lpar, rpar=node.rpar)

        for other in program.units.values():
            other.node = mapped(other.node, change)


def inline_once(program: Program, split: bool = False) -> bool:
    """Put methods that are called once, and are one expression or the end of their caller, in their place.

    `split` is that of `inlined_call`.
    """
    calls: dict[Place, list[tuple[Unit, str, cst.Call]]] = {}
    for unit, function in program.functions():
        for call in calls_in(function):
            for place in program.callees(unit, function, call) or ():
                calls.setdefault(place, []).append((unit, function.name.value, call))
    done = False
    for place, found in calls.items():
        short = len(found) > 1 and _only_asks_a_part(program, place)
        for unit, caller, call in found if short else found[: len(found) == 1]:
            done = _inlined(program, place, unit, caller, call, split) or done
    return done


def _inlined(program: Program, place: Place, unit: Unit, caller: str, call: cst.Call, split: bool) -> bool:
    """Put what stands at a place in that of its only call; whether that was possible."""
    if not place[1]:
        return _inlined_function(program, unit, caller, call)
    owner = program.units[place[0]]
    if place[1].startswith("__") or place[1] == "forward" or place[1] in program.asked:
        return False
    if owner is unit and code(call.func) != f"self.{place[1]}":
        return False
    if owner is not unit and not (_stateless(owner) and code(call.func).startswith("self.")):
        return False
    target = next(f for f in methods(owner) if f.name.value == place[1])
    function = next((f for f in methods(unit) if f.name.value == caller), None)
    if function is None or target.decorators:
        return False
    changed = inlined_call(function, target, code(call.func), split)
    if changed is None:
        return False
    program.replace(unit, function, changed)
    for part in (place[1], f"{place[1]} of base"):
        for module in owner.modules.get(part, "").split() or [owner.modules[""]]:
            _looked_up_in(unit, caller, module)
    return True


def _only_asks_a_part(program: Program, place: Place) -> bool:
    """Return whether a method is `return self.part.method(...)`, with nothing but its own parameters."""
    target = next((f for f in methods(program.units[place[0]]) if f.name.value == place[1]), None)
    body = without_docstring(target.body) if target is not None else []
    small = body[0].body[0] if len(body) == 1 and isinstance(body[0], cst.SimpleStatementLine) else None
    call = small.value if isinstance(small, cst.Return) else None
    if target is None or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return False
    names = [one.name.value for one in parameters(target)]
    return self_attribute(call.func.value) is not None and [code(one.value) for one in call.args] == names


def _stateless(owner: Unit) -> bool:
    """Return whether objects of a class have one method, which does not look at them."""
    if not isinstance(owner.node, cst.ClassDef) or owner.node.bases:
        return False
    body = without_docstring(owner.node.body)
    return len(body) == 1 and isinstance(body[0], cst.FunctionDef) and "self" not in code(body[0].body)


def unwrap(program: Program) -> None:
    """Objects whose only purpose is to hold another: that itself."""
    for unit in list(program.units.values()):
        held = _held(unit)
        if held is None:
            continue
        name, value = held

        def change(_: Any, node: Any, unit: Unit = unit, name: str = name, value: Any = value) -> Any:
            if isinstance(node, cst.Call) and code(node.func) == unit.name:
                return value
            if isinstance(node, cst.Attribute) and node.attr.value == name and code(node.value) != "self":
                return node.value
            if isinstance(node, cst.Name) and node.value == unit.name:
                return cst.Name(code(value.func))
            return node

        for other in program.units.values():
            if other is not unit:
                other.node = mapped(other.node, change)


def _held(unit: Unit) -> tuple[str, cst.Call] | None:
    """The attribute that a class has and nothing else, and the call without arguments that makes it."""
    if not isinstance(unit.node, cst.ClassDef) or unit.node.bases:
        return None
    body = without_docstring(unit.node.body)
    init = body[0] if len(body) == 1 and isinstance(body[0], cst.FunctionDef) else None
    lines = without_docstring(init.body) if init is not None and not parameters(init) else []
    small = lines[0].body[0] if len(lines) == 1 and isinstance(lines[0], cst.SimpleStatementLine) else None
    if not isinstance(small, cst.Assign) or not isinstance(small.value, cst.Call) or small.value.args:
        return None
    name = self_attribute(small.targets[0].target)
    return (name, small.value) if name and isinstance(small.value.func, cst.Name) else None


def _inlined_function(program: Program, unit: Unit, caller: str, call: cst.Call) -> bool:
    """Put a function that is one expression in the place of its only call; whether that was possible."""
    owner = program.units.get(code(call.func))
    if owner is None or not isinstance(owner.node, cst.FunctionDef) or owner is unit:
        return False
    one = without_docstring(owner.node.body)
    small = one[0].body[0] if len(one) == 1 and isinstance(one[0], cst.SimpleStatementLine) else None
    if owner.name in set().union(*(handed_on(other.node) for other in program.units.values())):
        return False
    if isinstance(small, cst.Return) and (small.value is None or len(code(small.value)) > SHORT):
        return False
    if len(one) > FEW:
        return False
    function = next((f for u, f in program.functions() if u is unit and f.name.value == caller), None)
    changed = None if function is None else inlined_call(function, owner.node, owner.name)
    if function is None or changed is None:
        return False
    program.replace(unit, function, changed)
    _looked_up_in(unit, caller if isinstance(unit.node, cst.ClassDef) else "", owner.modules[""])
    return True


def _looked_up_in(unit: Unit, part: str, module: str) -> None:
    """Names of a part of a unit may come from this module too, as something of it was put in."""
    key = f"{part} of base"
    unit.modules[key] = " ".join(dict.fromkeys([*unit.modules.get(key, "").split(), module]))


def gives(function: cst.FunctionDef) -> Any:
    """The constant or parameter that is all that a function gives; None if it does more."""
    body = without_docstring(function.body)
    if not body:
        return constant(None)
    if len(body) != 1 or not isinstance(body[0], cst.SimpleStatementLine):
        return None
    small = body[0].body[0]
    if isinstance(small, cst.Pass):
        return constant(None)
    if not isinstance(small, cst.Return):
        return None
    if small.value is None:
        return constant(None)
    names = [one.name.value for one in parameters(function)]
    if isinstance(small.value, cst.Name) and (is_constant(small.value) or small.value.value in names):
        return small.value
    return None
