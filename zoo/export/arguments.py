"""Passes over a program: parameters and arguments that nothing needs."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

from typing import Any

import libcst as cst

from zoo.export.calls import (
    calls_in,
    droppable,
    handed_on,
    returned,
    with_arguments,
    with_keyword_only,
    without_parameters,
)
from zoo.export.flatten import Unit, bound_arguments
from zoo.export.program import Place, Program
from zoo.export.simplify import substitute, without_none
from zoo.export.trees import assigned_names, code, is_constant, names_in, parameters, visited


def put_in_defaults(program: Program) -> None:
    """Parameters that no call gives anything but their default, where that is a constant."""
    values: dict[Place, dict[str, set[str]]] = {}
    unknown = 0
    functions = {program.place(unit, f): f for unit, f in program.functions()}
    for unit, function in program.functions():
        for call in calls_in(function):
            places = program.callees(unit, function, call)
            if places is None:
                unknown = max(unknown, len(call.args))
            for place in places or ():
                if place not in functions:
                    continue
                arguments = bound_arguments(functions[place], call)
                held = values.setdefault(place, {})
                for one in parameters(functions[place]):
                    name = one.name.value
                    given = "..." if arguments is None else code(arguments[name])
                    held.setdefault(name, set()).add(given)
    handed = set().union(*(handed_on(unit.node) for unit in program.units.values()))
    for unit, function in list(program.functions()):
        place = program.place(unit, function)
        required = sum(one.default is None for one in parameters(function))
        if (
            place[1] in program.asked
            or place[1] == "__init__"
            or (f".{place[1]}" if place[1] else place[0]) in handed
        ):
            continue
        if place[1] == "forward" and required <= unknown:
            continue
        changed = assigned_names(function.body.body)
        constants = {
            one.name.value: one.default
            for one in parameters(function)
            if one.default is not None
            and is_constant(one.default)
            and values.get(place, {}).get(one.name.value) == {code(one.default)}
            and one.name.value not in changed
        }
        if constants and any(one.value in constants for one in names_in(function.body)):
            program.replace(unit, function, function.with_changes(body=substitute(function.body, constants)))


def drop_parameters(program: Program) -> None:
    """Parameters that are not used, with the arguments for them."""
    functions = {program.place(unit, f): f for unit, f in program.functions()}
    dropping = _unused_parameters(program, functions)
    calls = [
        (call, program.callees(unit, function, call))
        for unit, function in program.functions()
        for call in calls_in(function)
    ]
    for unit in program.units.values():  # calls outside of functions
        if isinstance(unit.node, cst.SimpleStatementLine):
            calls += [(call, program.callees(unit, None, call)) for call in calls_in(unit.node)]
    changing = True
    while changing:
        before = {place: set(names) for place, names in dropping.items()}
        for call, places in calls:
            if places is None:
                _keep_for_unknown(call, functions, dropping)
            for place in places or ():
                if dropping.get(place):
                    dropping[place] = _less_needed(call, place, places or [], functions, dropping)
        changing = before != dropping
    if not any(dropping.values()):
        return
    for unit in program.units.values():
        unit.node = without_arguments(program, unit, functions, dropping)
    for unit, function in program.functions():
        if names := dropping.get(program.place(unit, function)):
            program.replace(unit, function, without_parameters(function, names))


def _unused_parameters(program: Program, functions: dict[Place, Any]) -> dict[Place, set[str]]:
    """The parameters of each function that its body does not read; none of what others call as it is."""
    handed = set().union(*(handed_on(unit.node) for unit in program.units.values()))
    found: dict[Place, set[str]] = {}
    for place, function in functions.items():
        used = {one.value for one in names_in(function.body)}
        for one in parameters(function):
            used |= {name.value for name in names_in(one.default)} if one.default else set()
        special = place[1].startswith("__") and place[1] not in ("__init__", "__call__")
        kept = special or (f".{place[1]}" if place[1] else place[0]) in handed
        found[place] = set() if kept else {one.name.value for one in parameters(function)} - used
    return found


def _keep_for_unknown(call: cst.Call, functions: dict[Place, Any], dropping: dict[Place, set[str]]) -> None:
    """Keep what a call may hand over of which it is not known what it calls."""
    keywords = {one.keyword.value for one in call.args if one.keyword}
    count = sum(one.keyword is None for one in call.args)
    for place, names in dropping.items():
        positional = [p.name.value for p in functions[place].params.params if p.name.value != "self"]
        names -= keywords | (set(positional[:count]) if place[1] == "forward" else set())


def _less_needed(
    call: cst.Call,
    place: Place,
    places: list[Place],
    functions: dict[Place, Any],
    dropping: dict[Place, set[str]],
) -> set[str]:
    """The parameters of `place` that can go although a call that may reach any of `places` is there."""
    names, arguments = set(dropping[place]), bound_arguments(functions[place], call)
    if arguments is None:
        names &= {p.name.value for p in functions[place].params.kwonly_params}
        arguments = {one.keyword.value: one.value for one in call.args if one.keyword}
    return {
        name
        for name in names
        if all(
            name in dropping[other] or name not in {p.name.value for p in parameters(functions[other])}
            for other in places
        )
        and (name not in arguments or droppable(arguments[name]))
    }


def without_arguments(
    program: Program, unit: Unit, functions: dict[Place, Any], dropping: dict[Place, set[str]]
) -> Any:
    """A unit whose calls do not give what is dropped."""

    class Arguments(cst.CSTTransformer):
        def __init__(self) -> None:
            self.function: list[cst.FunctionDef] = []

        def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
            self.function.append(node)

        def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> Any:
            self.function.pop()
            return updated_node

        def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
            places = program.callees(unit, self.function[0] if self.function else None, original_node)
            names = set().union(*(dropping.get(place, set()) for place in places or ()))
            if not names:
                return updated_node
            place = next(place for place in places or () if dropping.get(place))
            positional = [p.name.value for p in functions[place].params.params if p.name.value != "self"]
            kept = []
            shifted = False
            for number, one in enumerate(updated_node.args):
                name = one.keyword.value if one.keyword else ""
                if not name and not one.star and number < len(positional):
                    name = positional[number]
                if name in names:
                    shifted = True
                    continue
                kept.append(one)
            return with_arguments(updated_node, kept) if shifted else updated_node

    return visited(unit.node, Arguments())


def require_given(program: Program) -> None:
    """Parameters that every call gives, without their default of None."""
    given: dict[Place, list[set[str]]] = {}
    unknown = 0
    functions = {program.place(unit, f): f for unit, f in program.functions()}
    for unit, function in program.functions():
        for call in calls_in(function):
            places = program.callees(unit, function, call)
            if places is None:
                unknown = max(unknown, len(call.args))
            for place in places or ():
                arguments = _given_names(functions[place], call) if place in functions else set()
                given.setdefault(place, []).append(arguments)
    for unit, function in list(program.functions()):
        place = program.place(unit, function)
        every = set.intersection(*given.get(place, [set()]))
        required = sum(one.default is None for one in parameters(function))
        if place[1] in program.asked and not (unit.value and place[1] == "forward" and required > unknown):
            continue
        if place[1] == "__init__" or (place[1] == "forward" and required <= unknown):
            continue
        params = list(function.params.params)
        for number in range(len(params) - 1, -1, -1):
            one = params[number]
            if one.default is not None and one.name.value in every:
                params[number] = one.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT)
            elif one.default is not None:
                break
        kwonly = [
            one.with_changes(default=None, equal=cst.MaybeSentinel.DEFAULT)
            if one.name.value in every and one.default is not None and code(one.default) == "None"
            else one
            for one in function.params.kwonly_params
        ]
        sure = program.flattener.never_none.get((unit.value, function.name.value), set())

        def fit(one: cst.Param, sure: set[str] = sure) -> cst.Param:
            if one.default is not None or one.annotation is None or one.name.value not in sure:
                return one
            return one.with_changes(annotation=cst.Annotation(without_none(one.annotation.annotation)))

        fresh = function.params.with_changes(params=[fit(one) for one in params])
        fresh = with_keyword_only(fresh, [fit(one) for one in kwonly])
        program.replace(unit, function, _narrowed(function.with_changes(params=fresh)))


def _narrowed(function: cst.FunctionDef) -> cst.FunctionDef:
    """A function whose last result is a parameter that is never None, with that in its annotation."""
    annotation = function.returns.annotation if function.returns else None
    values = returned(function)
    if not isinstance(annotation, cst.Subscript) or code(annotation.value) != "tuple" or not values:
        return function
    if not all(isinstance(value, cst.Tuple) for value in values):
        return function
    last = {code(value.elements[-1].value) for value in values} - assigned_names(function.body.body)
    sure = {
        p.name.value
        for p in parameters(function)
        if p.annotation and "None" not in code(p.annotation.annotation)
    }
    if len(last) != 1 or not last <= sure or not isinstance(annotation.slice[-1].slice, cst.Index):
        return function
    index = annotation.slice[-1].slice
    changed = annotation.slice[-1].with_changes(slice=index.with_changes(value=without_none(index.value)))
    slices = [*annotation.slice[:-1], changed]
    return function.with_changes(returns=cst.Annotation(annotation.with_changes(slice=slices)))


def _given_names(function: cst.FunctionDef, call: cst.Call) -> set[str]:
    """The parameters that a call gives."""
    if any(one.star for one in call.args):
        return set()
    names = [one.name.value for one in function.params.params if one.name.value != "self"]
    return {
        one.keyword.value if one.keyword else names[i]
        for i, one in enumerate(call.args)
        if one.keyword or i < len(names)
    }
