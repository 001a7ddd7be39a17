"""A pass over a program: elements of results that nobody looks at."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

from functools import lru_cache
from typing import Any

import libcst as cst

from zoo.export.calls import called, droppable, returned
from zoo.export.docstrings import docstring_line
from zoo.export.flatten import Unit
from zoo.export.program import Program
from zoo.export.simplify import constant, mapped, substitute
from zoo.export.trees import code, docstring_of, is_constant, names_in, walk, without_docstring


def drop_results(program: Program) -> None:
    """Elements of results that are always None, or that nobody looks at."""
    by_name: dict[str, list[tuple[Unit, cst.FunctionDef]]] = {}
    for unit, function in program.functions():
        by_name.setdefault(function.name.value, []).append((unit, function))
    for name, found in by_name.items():
        if name in program.asked or name == "forward":
            continue
        given = [returned(function) for _, function in found]
        if not all(given) or not all(isinstance(v, cst.Tuple) for values in given for v in values):
            continue
        sizes = {len(v.elements) for values in given for v in values}
        if len(sizes) != 1:
            continue
        size = sizes.pop()
        uses = [use for unit in program.units.values() for use in _uses(unit.node, name)]
        if not uses or any(use is None for use in uses):
            continue
        for number in range(size):
            none = all(
                is_constant(v.elements[number].value) and code(v.elements[number].value) == "None"
                for values in given
                for v in values
            )
            ignored = all(number in use for use in uses if use is not None)
            pure = all(droppable(v.elements[number].value) for values in given for v in values)
            if (none or (ignored and pure)) and size > 1:
                _drop_result(program, name, found, number, size)
                return


def _drop_result(
    program: Program, name: str, found: list[tuple[Unit, cst.FunctionDef]], number: int, size: int
) -> None:
    for unit, function in found:

        def inner(_: Any, node: Any) -> Any:
            if isinstance(node, cst.Return) and isinstance(node.value, cst.Tuple):
                return node.with_changes(value=_less(node.value, number))
            return node

        changed = mapped(function, inner)
        if function.returns is not None:
            changed = changed.with_changes(returns=_less_annotation(function.returns, number))
        document = docstring_of(changed.body)
        if document and number == size - 1 and " and " in document.split("\n")[0]:
            first, *rest = document.split("\n")
            head = first.rpartition(" and ")[0].rstrip(",")
            line = docstring_line(
                "\n".join([f"{head}.", *rest]).rstrip(), 8 if isinstance(unit.node, cst.ClassDef) else 4
            )
            changed = changed.with_changes(
                body=changed.body.with_changes(body=[*line, *without_docstring(changed.body)])
            )
        program.replace(unit, function, changed)
    for unit in list(program.units.values()):
        for _, caller in [(u, f) for u, f in program.functions() if u is unit]:
            changed = _without_result(caller, name, number, size)
            if changed is not caller:
                program.replace(unit, caller, changed)


@lru_cache(maxsize=50_000)
def _uses(node: Any, name: str) -> list[set[int] | None]:
    """How the results of calls of `name` are used: which elements nobody looks at; None where that is not known."""
    found: list[set[int] | None] = []
    counted = 0

    class Uses(cst.CSTVisitor):
        def __init__(self) -> None:
            self.function: Any = None

        def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
            self.function = node

        def visit_Assign(self, node: cst.Assign) -> None:
            target = node.targets[0].target
            if (
                isinstance(node.value, cst.Call)
                and called(node.value) == name
                and isinstance(target, cst.Tuple)
            ):
                names = [code(one.value) for one in target.elements]
                read = [one.value for one in names_in(self.function.body)] if self.function else []
                unused = {
                    i
                    for i, one in enumerate(names)
                    if one == "_" or (one.isidentifier() and read.count(one) == 1)
                }
                found.append(unused)

        def visit_Subscript(self, node: cst.Subscript) -> None:
            if isinstance(node.value, cst.Call) and called(node.value) == name:
                index = code(node.slice[0].slice) if len(node.slice) == 1 else ""
                found.append(set(range(9)) - {int(index)} if index.isdigit() else None)

        def visit_Call(self, node: cst.Call) -> None:
            nonlocal counted
            counted += called(node) == name

    walk(node, Uses())
    return found if len(found) == counted else [None]


def _less(value: cst.Tuple, number: int) -> cst.BaseExpression:
    kept = [cst.Element(one.value) for i, one in enumerate(value.elements) if i != number]
    return kept[0].value if len(kept) == 1 else value.with_changes(elements=kept)


def _less_annotation(returns: cst.Annotation, number: int) -> cst.Annotation:
    value = returns.annotation
    if not isinstance(value, cst.Subscript) or code(value.value) != "tuple":
        return returns
    kept = [one for i, one in enumerate(value.slice) if i != number]
    if len(kept) == 1 and isinstance(kept[0].slice, cst.Index):
        return returns.with_changes(annotation=kept[0].slice.value)
    kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return returns.with_changes(annotation=value.with_changes(slice=kept))


def _without_result(caller: cst.FunctionDef, name: str, number: int, size: int) -> cst.FunctionDef:
    gone: list[str] = []

    def change(_: Any, node: Any) -> Any:
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call) and called(node.value) == name:
            target = node.targets[0].target
            if isinstance(target, cst.Tuple) and len(target.elements) == size:
                gone.append(code(target.elements[number].value))
                return node.with_changes(targets=[cst.AssignTarget(_less(target, number))])
        if (
            isinstance(node, cst.Subscript)
            and isinstance(node.value, cst.Call)
            and called(node.value) == name
        ):
            index = int(code(node.slice[0].slice))
            if size == 2:
                return node.value
            moved = index - (index > number)
            return node.with_changes(slice=[cst.SubscriptElement(cst.Index(cst.Integer(str(moved))))])
        return node

    changed = mapped(caller, change)
    values = {one: constant(None) for one in gone if one.isidentifier() and one != "_"}
    return changed.with_changes(body=substitute(changed.body, values)) if values else changed
