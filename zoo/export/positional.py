"""A pass over a program: classes are made as one writes it, by position and without what is the default."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from zoo.export.calls import with_arguments
from zoo.export.program import Program, methods
from zoo.export.simplify import mapped, without_none
from zoo.export.trees import code, parameters

LITERAL = re.compile(r"-?[\d.]+(e-?\d+)?|'.*'")


def write_positional(program: Program) -> None:
    """Defaults and positional arguments where classes are made by keyword."""
    units = list(program.units.values())
    inits = {
        unit.name: next((f for f in methods(unit) if f.name.value == "__init__"), None)
        for unit in units
        if isinstance(unit.node, cst.ClassDef)
    }
    given = _given(program, inits)
    for unit in units:
        init = inits.get(unit.name)
        if init is None:
            continue

        def defaults(one: cst.Param, name: str = unit.name) -> cst.Param:
            return _with_default(one, given.get((name, one.name.value), set()))

        params = init.params.with_changes(
            params=[defaults(p) for p in init.params.params],
            kwonly_params=[defaults(p) for p in init.params.kwonly_params],
        )
        inits[unit.name] = init.with_changes(params=params)
        program.replace(unit, init, inits[unit.name])

    def write(_: Any, node: Any) -> Any:
        init = inits.get(code(node.func)) if isinstance(node, cst.Call) else None
        return node if init is None else _by_position(init, node)

    for unit in units:
        unit.node = mapped(unit.node, write)


def _given(program: Program, inits: dict[str, Any]) -> dict[tuple[str, str], set[str]]:
    """Return what each parameter of each class gets, wherever one is made; "" where it is left to the default."""
    given: dict[tuple[str, str], set[str]] = {}

    def look(_: Any, node: Any) -> Any:
        init = inits.get(code(node.func)) if isinstance(node, cst.Call) else None
        if init is not None:
            names = [p.name.value for p in parameters(init)]
            said = {
                a.keyword.value if a.keyword else names[i]: code(a.value) for i, a in enumerate(node.args)
            }
            for name in names:
                given.setdefault((code(node.func), name), set()).add(said.get(name, ""))
        return node

    for unit in program.units.values():
        mapped(unit.node, look)
    return given


def _with_default(one: cst.Param, values: set[str]) -> cst.Param:
    """A parameter with the number or text for its default that it always gets."""
    value = next(iter(values)) if len(values) == 1 else ""
    if one.default is None or not LITERAL.fullmatch(value):
        return one
    changed = one.with_changes(default=cst.parse_expression(value))
    if one.annotation is None:
        return changed
    return changed.with_changes(annotation=cst.Annotation(without_none(one.annotation.annotation)))


def _by_position(init: cst.FunctionDef, call: cst.Call) -> cst.Call:
    """A call by position, as far as its arguments stand in the order of the parameters."""
    if not call.args or any(one.keyword is None for one in call.args):
        return call
    values = {one.keyword.value: one for one in call.args if one.keyword}
    arguments: list[cst.Arg] = []
    skipped = False
    for p in init.params.params:
        name = p.name.value
        if name == "self" or name not in values:
            skipped = skipped or name != "self"
            continue
        one = values.pop(name)
        if p.default is not None and code(p.default) == code(one.value):
            skipped = True
        elif skipped:
            arguments.append(one)
        else:
            arguments.append(cst.Arg(one.value))
    defaults = {p.name.value: code(p.default) for p in parameters(init) if p.default is not None}
    arguments += [one for name, one in values.items() if defaults.get(name) != code(one.value)]
    return with_arguments(call, arguments)
