"""Operators of mutation that need what is around a node: other variables, attributes and statements."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeGuard

from grader.core.parsed_file import ParsedFile, as_constant, is_for_people

Scoped = Callable[[ParsedFile], "Iterator[tuple[ast.expr | ast.stmt, ast.AST | str]]"]


def _names_of(function: ast.FunctionDef) -> dict[str, set[str]]:
    """Variables by what they have in common: the same annotation, the same call, the same unpacking."""
    kinds: dict[str, set[str]] = {}
    args = function.args
    for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]:
        if arg.arg not in ("self", "cls"):
            kind = ast.unparse(arg.annotation) if arg.annotation is not None else "an argument"
            kinds.setdefault(kind, set()).add(arg.arg)
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Tuple):
                names = [one.id for one in target.elts if isinstance(one, ast.Name)]
                kinds.setdefault(ast.unparse(target), set()).update(names)
            elif isinstance(target, ast.Name) and isinstance(node.value, ast.Call):
                kinds.setdefault(f"of {ast.unparse(node.value.func)}", set()).add(target.id)
    return kinds


def _wrong_variables(file: ParsedFile) -> Iterator[tuple[ast.expr, ast.AST]]:
    """Another variable of the same kind: another argument, another part of what was unpacked."""
    for function in file.functions:
        kinds = [names for names in _names_of(function).values() if len(names) > 1]
        for name in _inside(file, function):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load):
                others = {other for names in kinds if name.id in names for other in names} - {name.id}
                for other in sorted(others):
                    yield name, ast.Name(other, ast.Load())


def _wrong_attributes(file: ParsedFile) -> Iterator[tuple[ast.expr, ast.AST]]:
    """Another attribute made by the same call: self.norm1 -> self.norm2."""
    for one in file.classes:
        kinds: dict[str, set[str]] = {}
        for node in ast.walk(one):
            if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Call, ast.Name)):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                        made = node.value.func if isinstance(node.value, ast.Call) else node.value
                        kind = ast.unparse(made) if isinstance(node.value, ast.Call) else "an argument"
                        kinds.setdefault(kind, set()).add(target.attr)
        for node in _inside(file, one):
            if _is_own(node) and isinstance(node.ctx, ast.Load):
                groups = [names for names in kinds.values() if node.attr in names]
                for other in sorted({o for names in groups for o in names} - {node.attr}):
                    yield node, ast.Attribute(node.value, other, ast.Load())


def _missing_self(file: ParsedFile) -> Iterator[tuple[ast.expr, ast.AST]]:
    """self.x = ... -> x = ..., and self.x -> x where there is an x."""
    for function in file.functions:
        local = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
        for node in _inside(file, function):
            if _is_own(node) and (isinstance(node.ctx, ast.Store) or node.attr in local):
                yield node, ast.Name(node.attr, ast.Load())


def _is_own(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Return whether it is `self.NAME`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _inside(file: ParsedFile, scope: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    first, last = scope.lineno, scope.end_lineno  # type: ignore[attr-defined]
    return (node for node in file.nodes if first <= node.lineno <= last)


def _conditions(file: ParsedFile) -> Iterator[tuple[ast.expr, ast.AST]]:
    """A condition negated, or always true or false."""
    for node in file.nodes:
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield node.test, _negated(node.test)
            if isinstance(node, ast.If):
                yield node.test, as_constant(True)
            if isinstance(node, (ast.If, ast.While)):
                yield node.test, as_constant(False)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            for each in node.generators:
                for test in each.ifs:
                    yield test, _negated(test)
                    yield test, as_constant(True)


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _shortened(file: ParsedFile) -> Iterator[tuple[ast.expr, ast.AST]]:
    """A loop that leaves out the first, or the last."""
    for node in file.nodes:
        loops = [node] if isinstance(node, ast.For) else getattr(node, "generators", [])
        for loop in loops:
            if isinstance(loop.iter, (ast.Name, ast.Attribute)):
                for part in (ast.Slice(ast.Constant(1)), ast.Slice(None, as_constant(-1))):
                    yield loop.iter, ast.Subscript(loop.iter, part, ast.Load())


def _swapped(file: ParsedFile) -> Iterator[tuple[ast.stmt, str]]:
    """Two statements in the other order, where one uses what the other changes."""
    for node in file.nodes:
        for block in ("body", "orelse"):
            statements = getattr(node, block, None)
            for one, other in pairwise(statements) if isinstance(statements, list) else ():
                simple = (ast.Assign, ast.AugAssign, ast.Expr, ast.AnnAssign)
                if not isinstance(one, simple) or not isinstance(other, simple) or is_for_people(one):
                    continue
                if (
                    one.lineno != one.end_lineno
                    or other.lineno != other.end_lineno
                    or other.lineno != one.lineno + 1
                ):
                    continue
                if _changed(one) & _used(other) or _changed(other) & (_used(one) | _changed(one)):
                    first, second = file.lines[one.lineno - 1].decode(), file.lines[other.lineno - 1].decode()
                    if first.strip() and second.endswith("\n"):
                        both = copy.copy(one)
                        both.end_lineno = other.lineno
                        yield both, second + first


def _changed(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    found = {ast.unparse(part) for one in targets if isinstance(one, ast.expr) for part in ast.walk(one)
             if isinstance(part, (ast.Name, ast.Attribute))}  # fmt: skip
    if isinstance(node, ast.Expr):  # a method may change what it is called of
        found |= {ast.unparse(n) for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute))}
    return found - {"self", "torch", "nn", "F", "math"}


def _used(node: ast.stmt) -> set[str]:
    found = {ast.unparse(n) for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute))}
    return found - {"self", "torch", "nn", "F", "math"}


SCOPED: dict[str, Scoped] = {
    "wrong variable": _wrong_variables,
    "wrong attribute": _wrong_attributes,
    "missing self": _missing_self,
    "another condition": _conditions,
    "loop shortened": _shortened,
    "statements swapped": _swapped,
}
