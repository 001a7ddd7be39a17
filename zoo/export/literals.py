"""Passes over a program: arguments and attributes that are the same number or text everywhere, put in their places."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

from typing import Any

import libcst as cst

from zoo.export.arguments import without_arguments
from zoo.export.calls import calls_in, handed_on, without_parameters
from zoo.export.flatten import Unit, bound_arguments
from zoo.export.program import Place, Program, methods
from zoo.export.simplify import mapped, substitute
from zoo.export.trees import assigned_names, code, names_in, parameters, self_attribute, walk


def put_in_literals(program: Program) -> bool:
    """Parameters of functions and constructors that always get the same number or text; whether there were any."""
    functions = {program.place(unit, f): f for unit, f in program.functions()}
    functions = {place: f for place, f in functions.items() if place[1] in ("", "__init__")}
    literals = {
        place: {
            name: next(iter(values.values()))
            for name, values in given.items()
            if len(values) == 1 and _reads_well(functions[place], name, next(iter(values.values())))
        }
        for place, given in _given(program, functions).items()
    }
    dropping = {place: {*values} for place, values in literals.items() if values}
    if not dropping:
        return False
    for unit in program.units.values():
        unit.node = without_arguments(program, unit, functions, dropping)
        given = literals.get((unit.name, "__init__"), {})  # a factor of 1 is not there any more
        program.literals |= {(unit.name, name) for name, value in given.items() if code(value) != "1.0"}
    for unit, function in list(program.functions()):
        place = program.place(unit, function)
        if place in dropping:
            changed = function.with_changes(body=substitute(function.body, literals[place]))
            program.replace(unit, function, without_parameters(changed, dropping[place]))
    return True


def _given(program: Program, functions: dict[Place, Any]) -> dict[Place, dict[str, dict[str, Any]]]:
    """What the parameters of each function get, by its text; nothing of those that others call, or that change."""
    handed = set().union(*(handed_on(unit.node) for unit in program.units.values()))
    found: dict[Place, dict[str, dict[str, Any]]] = {}
    unknown = {place for place in functions if place[0] in handed}
    for unit, caller in program.functions():
        for call in calls_in(caller):
            for place in program.callees(unit, caller, call) or ():
                if place not in functions:
                    continue
                arguments = bound_arguments(functions[place], call)
                if arguments is None:
                    unknown.add(place)
                    continue
                for name, value in arguments.items():
                    found.setdefault(place, {}).setdefault(name, {})[code(value)] = value
    for place, given in found.items():
        changed = assigned_names(functions[place].body.body)
        read = {one.value for one in names_in(functions[place].body)}
        found[place] = {n: v for n, v in given.items() if n not in changed and n in read}
    return {place: given for place, given in found.items() if place not in unknown}


def _reads_well(function: cst.FunctionDef, name: str, value: Any) -> bool:
    """Return whether a value can stand for the parameter: a text, a factor of 1, or a number that is read once."""
    if not _is_literal(value):
        return False
    times = sum(one.value == name for one in names_in(function.body))
    return times == 1 or isinstance(value, cst.SimpleString) or code(value) == "1.0"


def _is_literal(node: Any) -> bool:
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.Minus) and _is_literal(node.expression)
    return isinstance(node, (cst.Integer, cst.Float, cst.SimpleString))


def put_in_texts(program: Program) -> None:
    """Attributes that are a text, and are read by their own class alone."""
    read = {name for unit in program.units.values() for name in _attributes_of_others(unit.node)}
    for unit in program.units.values():
        texts = _texts(unit)
        texts = {name: value for name, value in texts.items() if name not in read}

        def change(_: Any, node: Any, texts: dict[str, Any] = texts) -> Any:
            return texts.get(self_attribute(node) or "", node)

        for function in methods(unit) if texts else ():
            if function.name.value != "__init__":
                program.replace(unit, function, mapped(function, change))


def _texts(unit: Unit) -> dict[str, Any]:
    """The attributes that the constructor assigns a text to, and nothing else assigns to."""
    found: dict[str, Any] = {}
    assigned: list[str] = []

    class Assignments(cst.CSTVisitor):
        def visit_Assign(self, node: cst.Assign) -> None:
            name = self_attribute(node.targets[0].target)
            if name:
                assigned.append(name)
                if isinstance(node.value, cst.SimpleString):
                    found[name] = node.value

    for function in methods(unit):
        walk(function, Assignments())
    return {name: value for name, value in found.items() if assigned.count(name) == 1}


def _attributes_of_others(node: Any) -> set[str]:
    found: set[str] = set()

    class Others(cst.CSTVisitor):
        def visit_Attribute(self, node: cst.Attribute) -> None:
            if self_attribute(node) is None:
                found.add(node.attr.value)

    walk(node, Others())
    return found


def drop_default_choices(program: Program) -> None:
    """`f(x, n) if n else f(x)` where f takes 0 for n by itself: `f(x, n)`."""
    for unit, function in list(program.functions()):

        def change(original: Any, node: Any, unit: Unit = unit, function: Any = function) -> Any:
            if not isinstance(node, cst.IfExp) or not _asks_for_more(node):
                return node
            places = program.callees(unit, function, original.body) or []
            targets = [f for u, f in program.functions() if program.place(u, f) in places]
            number = len(node.orelse.args)
            for one in targets:
                given = parameters(one)[number : number + 1]
                if not given or given[0].default is None or code(given[0].default) != "0":
                    return node
            return node.body if targets else node

        changed = mapped(function, change)
        if changed is not function:
            program.replace(unit, function, changed)


def _asks_for_more(node: cst.IfExp) -> bool:
    """Return whether both branches are the same call, but for the condition as one more argument of the first."""
    one, other = node.body, node.orelse
    if not isinstance(one, cst.Call) or not isinstance(other, cst.Call) or code(one.func) != code(other.func):
        return False
    texts = [code(arg.value) for arg in one.args]
    return texts == [*(code(arg.value) for arg in other.args), code(node.test)]
