"""A pass over a program: what is handed on by keyword unless it is None, written out."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

from typing import Any

import libcst as cst

from zoo.export.calls import (
    called,
    calls_in,
    keyword,
    returned,
    with_arguments,
    with_keyword_only,
    without_mention,
)
from zoo.export.docstrings import with_docstring
from zoo.export.flatten import Unit
from zoo.export.program import Place, Program
from zoo.export.simplify import constant, mapped, substitute
from zoo.export.trees import code, docstring_of, names_in, parameters, visited, walk


def write_out_optional(program: Program) -> None:
    """`given(a=x)`, what is handed on by keyword unless it is None: written out."""
    given = _given_name(
        program,
    )
    if given is None:
        return
    for unit, function in program.functions():
        changed = _given_inlined(function, given)
        if changed is not function:
            program.replace(unit, function, changed)
    _given_results(program, given)
    if program.settled:  # what is never given is known by then
        _given_parameters(program, given)


def _given_name(program: Program) -> str | None:
    from zoo.models import transformer

    return next((u.name for u in program.units.values() if u.value is transformer.given), None)


def _given_results(program: Program, given: str) -> None:
    """Results `x, given(name=y)`: `x, y`, and the keyword where they are used."""
    for unit, function in list(program.functions()):
        returns = returned(function)
        place = None
        keys: set[tuple[str, ...]] = set()
        for value in returns:
            if isinstance(value, cst.Tuple):
                for number, one in enumerate(value.elements):
                    if _is_given(one.value, given):
                        place = number
                        keys.add(tuple(a.keyword.value for a in one.value.args if a.keyword))
        if place is None or len(keys) != 1 or len(returns) != 1:
            continue
        names = keys.pop()
        if len(names) > 1:
            continue
        name = function.name.value

        def change(_: Any, node: Any, names: Any = names) -> Any:
            if isinstance(node, cst.Element) and _is_given(node.value, given):
                return node.with_changes(value=node.value.args[0].value if names else constant(None))
            return node

        changed = mapped(function, change)
        if names and function.returns is not None:  # no dict of arguments any more, but the one argument
            text = code(function.returns.annotation).replace("dict[str, Any]", "Any")
            changed = changed.with_changes(returns=cst.Annotation(cst.parse_expression(text)))
        program.replace(unit, function, changed)
        for other, caller in list(program.functions()):
            fresh = _unpacked_given(caller, name, place, names)
            if fresh is not caller:
                program.replace(other, caller, fresh)


def _given_parameters(program: Program, given: str) -> None:
    """Parameters that take `given(name=x)`: one for each name."""
    for unit, function in list(program.functions()):
        mappings = [
            p for p in parameters(function) if p.annotation and "Mapping[" in code(p.annotation.annotation)
        ]
        for one in mappings:
            _expand_parameter(program, unit, function.name.value, one.name.value, given)


def _expand_parameter(program: Program, unit: Unit, method: str, parameter: str, given: str) -> None:
    """One parameter of a method for each keyword that its calls give in the place of `parameter`."""
    function = next(f for u, f in program.functions() if u is unit and f.name.value == method)
    place = program.place(unit, function)
    keys = _keys_given(program, place, parameter, given)
    if keys is None or not any(_hands_on(call, parameter) for call in calls_in(function)):
        return
    taken = {p.name.value for p in parameters(function)}
    stem = parameter.removeprefix("to_")
    second = any(
        p.name.value != parameter and p.annotation and "Mapping[" in code(p.annotation.annotation)
        for p in parameters(function)
    )
    names = {key: f"{stem}_{key}" if key in taken or (second and stem != "self") else key for key in keys}
    annotations = {names[key]: _annotation_of(program, key, unit, function, parameter) for key in keys}
    program.replace(unit, function, _expanded(function, parameter, names, annotations))
    for other in list(program.units.values()):
        for caller in [f for u, f in program.functions() if u is other]:

            def outside(original: Any, node: Any, other: Unit = other, caller: Any = caller) -> Any:
                if not isinstance(node, cst.Call):
                    return node
                if place not in (program.callees(other, caller, original) or ()):
                    return node
                return _written_out(node, parameter, names)

            fresh = mapped(caller, outside)
            if fresh is not caller:
                program.replace(other, caller, fresh)


def _hands_on(call: cst.Call, parameter: str) -> bool:
    """Return whether a call has `**parameter`."""
    return any(one.star == "**" and code(one.value) == parameter for one in call.args)


def _keys_given(program: Program, place: Place, parameter: str, given: str) -> list[str] | None:
    """The keywords in all `parameter=given(...)` of calls of `place`; None where one of them gives something else."""
    keys: list[str] = []
    for unit, caller in program.functions():
        for call in calls_in(caller):
            places = program.callees(unit, caller, call)
            named = [one for one in call.args if one.keyword and one.keyword.value == parameter]
            if named and places is None:
                return None
            for one in named if place in (places or ()) else ():
                if not _is_given(one.value, given) or any(k.keyword is None for k in one.value.args):
                    return None
                keys += [k.keyword.value for k in one.value.args if k.keyword]
    return list(dict.fromkeys(keys))


def _expanded(
    function: cst.FunctionDef, parameter: str, names: dict[str, str], annotations: dict[str, str]
) -> cst.FunctionDef:
    """A function with a parameter for each of `names`, by keyword, in the place of one that holds them."""

    def inside(_: Any, node: Any) -> Any:
        if isinstance(node, cst.Call) and _hands_on(node, parameter):
            kept = [one for one in node.args if not (one.star == "**" and code(one.value) == parameter)]
            return with_arguments(node, kept + [keyword(key, cst.Name(name)) for key, name in names.items()])
        return node

    changed = mapped(function, inside)
    new = [
        cst.Param(
            cst.Name(name),
            cst.Annotation(cst.parse_expression(annotation)),
            default=cst.Name("None"),
            equal=cst.AssignEqual(cst.SimpleWhitespace(" "), cst.SimpleWhitespace(" ")),
        )
        for name, annotation in annotations.items()
    ]
    if document := docstring_of(changed.body):
        changed = with_docstring(changed, without_mention(document, {parameter}))
    kwonly: list[cst.Param] = []
    for one in changed.params.kwonly_params:
        kwonly += new if one.name.value == parameter else [one]
    return changed.with_changes(params=with_keyword_only(changed.params, kwonly))


def _written_out(call: cst.Call, parameter: str, names: dict[str, str]) -> cst.Call:
    """A call with the arguments inside of `parameter=given(...)` as its own."""
    kept: list[cst.Arg] = []
    for one in call.args:
        if one.keyword and one.keyword.value == parameter:
            kept += [keyword(names[k.keyword.value], k.value) for k in one.value.args if k.keyword]
        else:
            kept.append(one)
    return with_arguments(call, kept) if kept != list(call.args) else call


def _annotation_of(program: Program, key: str, unit: Unit, function: cst.FunctionDef, parameter: str) -> str:
    """The annotation that the functions which get it in the end have for it."""
    for call in calls_in(function):
        if any(x.star == "**" and code(x.value) == parameter for x in call.args):
            for place in program.callees(unit, function, call) or ():
                target = next(
                    (f for u, f in program.functions() if u.name == place[0] and f.name.value == place[1]),
                    None,
                )
                for p in parameters(target) if target else ():
                    if p.name.value == key and p.annotation:
                        text = code(p.annotation.annotation)
                        owner = program.units[place[0]]
                        for name in [n.value for n in names_in(p.annotation.annotation)]:
                            module = owner.modules.get(place[1], owner.modules[""])
                            program.renamed.setdefault(
                                (unit.modules[""], name), program.resolve(module, name, True) or name
                            )
                        return text if "None" in text else f"{text} | None"
    program.imports["Any"] = ("typing", "Any", "Any")
    return "Any"


def _is_given(node: Any, given: str) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == given


def _given_inlined(function: cst.FunctionDef, given: str) -> cst.FunctionDef:
    """Calls of `given` without what is None; local names for them replaced by the calls; `**given(...)` written out."""

    def less(_: Any, node: Any) -> Any:
        if _is_given(node, given):
            kept = [one for one in node.args if code(one.value) != "None"]
            return with_arguments(node, kept) if len(kept) != len(node.args) else node
        if isinstance(node, cst.Call) and any(
            one.star == "**" and _is_given(one.value, given) for one in node.args
        ):
            arguments: list[cst.Arg] = []
            for one in node.args:
                if one.star == "**" and _is_given(one.value, given):
                    arguments += [keyword(a.keyword.value, a.value) for a in one.value.args if a.keyword]
                else:
                    arguments.append(one)
            return with_arguments(node, arguments)
        return node

    changed = mapped(function, less)
    held: dict[str, cst.BaseExpression] = {}

    class Split(cst.CSTTransformer):
        def leave_SimpleStatementLine(
            self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
        ) -> Any:
            small = updated_node.body[0]
            if not isinstance(small, cst.Assign) or len(small.targets) != 1:
                return updated_node
            target, value = small.targets[0].target, small.value
            pairs = [(target, value)]
            if isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
                pairs = [(t.value, v.value) for t, v in zip(target.elements, value.elements, strict=False)]
            if all(isinstance(t, cst.Name) and _is_given(v, given) for t, v in pairs):
                held.update({t.value: v for t, v in pairs if isinstance(t, cst.Name)})
                return cst.RemoveFromParent()
            return updated_node

    body = visited(changed.body, Split())
    if held:
        changed = changed.with_changes(body=substitute(body, held))
    return changed


def _unpacked_given(
    caller: cst.FunctionDef, name: str, place: int, names: tuple[str, ...]
) -> cst.FunctionDef:
    """A function that unpacks `x, more = name(...)` and hands on `**more`: with what `more` is, by keyword."""
    mores: list[str] = []

    class Targets(cst.CSTVisitor):
        def visit_Assign(self, node: cst.Assign) -> None:
            target = node.targets[0].target
            if (
                isinstance(node.value, cst.Call)
                and called(node.value) == name
                and isinstance(target, cst.Tuple)
            ):
                mores.append(code(target.elements[place].value))

    walk(caller, Targets())
    if not mores:
        return caller

    def change(_: Any, node: Any) -> Any:
        if isinstance(node, cst.Call):
            arguments: list[cst.Arg] = []
            for one in node.args:
                if one.star == "**" and code(one.value) in mores:
                    arguments += [keyword(key, cst.Name(key)) for key in names]
                else:
                    arguments.append(one)
            if arguments != list(node.args):
                return with_arguments(node, arguments)
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call) and called(node.value) == name:
            target = node.targets[0].target
            if isinstance(target, cst.Tuple):
                elements = list(target.elements)
                fresh = names[0] if names else "_"
                elements[place] = elements[place].with_changes(value=cst.Name(fresh))
                return node.with_changes(targets=[cst.AssignTarget(target.with_changes(elements=elements))])
        return node

    return mapped(caller, change)
