"""Steps of code that may be missing elsewhere: a call, an index, an operator, each around an expression left open."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Any

from grader.edits.parsed import nodes_of
from grader.edits.syntax import called

HOLE = "_open"
BUILT_IN = frozenset(
    {"abs", "bool", "float", "int", "len", "list", "max", "min", "range", "set", "sorted", "sum", "tuple"}
)
MODULES = frozenset({"torch", "F", "nn", "math", "np"})
OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
}
MOST_NODES = 14  # of a step, beside the value that it works on


class Fragments:
    """The steps of a program, for use in another one.

    Args:
        trees: of files, the most likely ones first.
        by_locals: only calls and indices that another local goes into: `_[rows]`, `_.masked_fill(done, 0)`.
    """

    def __init__(self, *trees: ast.Module, by_locals: bool = False) -> None:
        steps = (one for tree in trees for one in _steps(tree))
        found = {ast.dump(one): one for one in steps if not by_locals or _by_local(one)}
        self._steps = [(one, _names(one), _attributes(one)) for one in found.values()]

    def __len__(self) -> int:
        return len(self._steps)

    def without(self, other: Fragments) -> Fragments:
        """The steps that another program does not have."""
        found, theirs = Fragments(), {ast.dump(one) for one, _, _ in other._steps}
        found._steps = [each for each in self._steps if ast.dump(each[0]) not in theirs]
        return found

    def called(self, names: Collection[str]) -> Fragments:
        """The steps of these operations alone: functions and methods by their names, operators as `add`, `getitem`."""
        found = Fragments()
        found._steps = [each for each in self._steps if _operation(each[0]) in names]
        return found

    def around(
        self, inner: ast.expr, names: Collection[str], attributes: Collection[str]
    ) -> Iterator[ast.expr]:
        """An expression with one more step around it.

        Args:
            inner: the expression.
            names: what is known there by name: locals, modules.
            attributes: what `self` has there.
        """
        for step, used, own in self._steps:
            if used <= {HOLE, *names} and own <= set(attributes):
                yield _filled(step, inner)


def _steps(tree: ast.Module) -> Iterator[ast.expr]:
    """Every call, index and operator, without the value that it works on."""
    for node in _computing(tree):
        if isinstance(node, ast.Call):
            function, rest = node.func, [*node.args, *(word.value for word in node.keywords)]
            if _is_path(function) or _is_own(function):
                if node.args and _small(rest[1:]) and not _makes(function):
                    yield ast.Call(function, [_hole(), *node.args[1:]], node.keywords)
            elif isinstance(function, ast.Attribute) and _small(rest):
                yield ast.Call(ast.Attribute(_hole(), function.attr, ast.Load()), node.args, node.keywords)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _small([node.slice]):
            yield ast.Subscript(_hole(), node.slice, ast.Load())
        elif isinstance(node, ast.BinOp):
            if _small([node.right]):
                yield ast.BinOp(_hole(), node.op, node.right)
            if _small([node.left]):
                yield ast.BinOp(node.left, node.op, _hole())


def _computing(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the code of functions without types and decorators."""
    functions = [node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef)]
    for statement in (one for function in functions for one in function.body):
        left: list[ast.AST] = [statement]
        while left:
            node = left.pop()
            yield node
            for name, value in ast.iter_fields(node):
                if name != "annotation":
                    left += [
                        one
                        for one in (value if isinstance(value, list) else [value])
                        if isinstance(one, ast.AST)
                    ]


def _operation(step: ast.expr) -> str:
    if isinstance(step, ast.BinOp):
        return OPERATIONS.get(type(step.op), "")
    return called(step.func) if isinstance(step, ast.Call) else "getitem"


def _hole() -> ast.Name:
    return ast.Name(HOLE, ast.Load())


def _makes(function: ast.expr) -> bool:
    """Return whether a call makes a module or is made of types: no step of a computation."""
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name[:1].isupper() or name in ("super", "range", "len")


def _is_own(function: ast.expr) -> bool:
    """Return whether it is a method or a part of `self`."""
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "self"
    )


def _is_path(node: ast.expr) -> bool:
    """Return whether an expression is the name of a module or a function: `torch.nn.functional`, `F.softmax`, `len`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and (node.id in BUILT_IN or node.id in MODULES)


def _small(nodes: list[ast.expr]) -> bool:
    inner = [
        one for node in nodes for one in ast.walk(node) if isinstance(one, (ast.expr, ast.comprehension))
    ]
    return len(inner) <= MOST_NODES and not any(
        isinstance(one, (ast.Lambda, ast.Starred, ast.NamedExpr, ast.comprehension)) for one in inner
    )


def _names(step: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(step) if isinstance(n, ast.Name)} - BUILT_IN


def _by_local(step: ast.expr) -> bool:
    return not isinstance(step, ast.BinOp) and bool(_names(step) - {HOLE, "self", *MODULES})


def _attributes(step: ast.expr) -> set[str]:
    """Return the attributes of `self` that a step reads."""
    return {
        n.attr
        for n in ast.walk(step)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"
    }


def _filled(part: Any, inner: ast.expr) -> Any:
    """A step, or a part of one, with an expression in its open place."""
    if isinstance(part, list):
        return [_filled(one, inner) for one in part]
    if isinstance(part, ast.Name):
        return inner if part.id == HOLE else part
    if not isinstance(part, ast.AST):
        return part
    return type(part)(**{name: _filled(value, inner) for name, value in ast.iter_fields(part)})
