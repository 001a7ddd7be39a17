"""Small changes to one line of a file, each of which may undo a mistake there; some are no Python.

A place is proved if one of them makes wrong results right. They are what people get wrong most: a sign, an operator, a
dim, a number off by one, a name in place of another, a call too many.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
COMPARISONS: tuple[tuple[type[ast.cmpop], ...], ...] = (
    (ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
)
FUNCTIONS = (
    ("relu", "gelu", "sigmoid", "tanh"),
    ("softmax", "log_softmax"),
    ("mean", "sum"),
    ("sin", "cos"),
    ("argmax", "argmin"),
    ("max", "min"),
    ("maximum", "minimum"),
    ("tril", "triu"),
    ("square", "abs"),
    ("sqrt", "rsqrt", "square"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("all", "any"),
    ("cat", "stack"),
    ("repeat", "repeat_interleave"),
    ("append", "extend"),
)
REDUCTIONS = {"mean", "sum", "var", "std", "amax", "norm", "any", "all"}
DIMS = (-1, -2, 0, 1, 2, 3)
MOST_NAMES = 12
PATHS = {"self", "torch", "nn", "F", "math", "np"}


class Edits:
    """Args: text: of the file, which is Python."""

    def __init__(self, text: str) -> None:
        self._lines = text.encode().splitlines(keepends=True)
        self._tree = ast.parse(text)

    def among(
        self, suspected: Sequence[int], odd: Sequence[int], others: Sequence[int] = ()
    ) -> Iterator[tuple[int, str]]:
        """Lines, each with the file as it is with one thing in this line changed; the most likely changes first.

        Args:
            suspected: the most likely lines.
            odd: lines where something is not right.
            others: all that may be.
        """
        first = list(dict.fromkeys(suspected))
        second = [line for line in dict.fromkeys(odd) if line not in first]
        rest = [line for line in dict.fromkeys([*second, *others]) if line not in first]
        conditions = [
            line for line in rest if any(id(n) in self._conditions for n in self._nodes.get(line, ()))
        ]
        second = [line for line in second if line not in conditions]
        rest = [line for line in rest if line not in conditions and line not in second]
        changed, renamed = (self._changed,), (self._renamed, self._inverted)
        for lines, changes in (
            (first, changed),
            (conditions, changed),
            (second, changed),
            (first, renamed),
            (conditions, renamed),
            (rest, changed),
            (second, renamed),
            (rest, renamed),
        ):
            for line in lines:
                for change in changes:
                    for node in self._nodes.get(line, ()):
                        yield from ((line, self._with(node, new)) for new in change(node))

    def forced(self) -> Iterator[tuple[int, str]]:
        """Lines of conditions, each with the file in which it is always, or never, true, or looks for None."""
        for line, nodes in self._nodes.items():
            for node in (one for one in nodes if id(one) in self._conditions):
                new: list[ast.AST] = [ast.Constant(value) for value in (True, False)]
                for name in self._names(line)[:MOST_NAMES]:
                    for kind in (ast.IsNot, ast.Is):
                        new.append(ast.Compare(ast.Name(name, ast.Load()), [kind()], [ast.Constant(None)]))
                yield from ((line, self._with(node, one)) for one in new)

    @cached_property
    def _conditions(self) -> set[int]:
        return {id(node.test) for node in ast.walk(self._tree) if isinstance(node, (ast.If, ast.Assert))}

    @cached_property
    def _nodes(self) -> dict[int, list[ast.AST]]:
        """By line; without what may loop for ever, and types."""
        found: dict[int, list[ast.AST]] = {}

        def walk(node: ast.AST) -> None:
            if isinstance(node, (ast.While, ast.ClassDef, ast.Import, ast.ImportFrom)):
                for child in node.body if isinstance(node, ast.ClassDef) else ():
                    walk(child)
                return
            if isinstance(node, (ast.expr, ast.stmt)):
                found.setdefault(node.lineno, []).append(node)
            for name, value in ast.iter_fields(node):
                if name not in ("annotation", "returns", "decorator_list"):
                    for child in value if isinstance(value, list) else [value]:
                        if isinstance(child, ast.AST):
                            walk(child)

        walk(self._tree)
        return found

    def _with(self, node: ast.AST, new: ast.AST) -> str:
        assert isinstance(node, (ast.expr, ast.stmt))
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        written = ast.unparse(ast.fix_missing_locations(new))
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            written = f"({written})"
        start = b"".join(self._lines[:first]) + self._lines[first][: node.col_offset]
        end = self._lines[last][node.end_col_offset :] + b"".join(self._lines[last + 1 :])
        return (start + written.encode() + end).decode("utf-8", "replace")

    def _changed(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            for kinds in COMPARISONS:
                if type(node.ops[0]) in kinds:
                    others = [one for one in kinds if one is not type(node.ops[0])]
                    yield from (ast.Compare(node.left, [one()], node.comparators) for one in others)
        elif isinstance(node, ast.BinOp):
            yield from self._of_two(node)
        elif isinstance(node, ast.BoolOp):
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            yield from node.values
        elif isinstance(node, ast.UnaryOp):
            yield node.operand
        elif isinstance(node, ast.Constant) and node.value is None:
            yield from (ast.Name(name, ast.Load()) for name in self._names(node.lineno)[:MOST_NAMES])
        elif isinstance(node, ast.Constant):
            yield from (ast.Constant(value) for value in self._numbers(node.value))
        elif isinstance(node, ast.IfExp):
            yield from (ast.IfExp(node.test, node.orelse, node.body), node.body, node.orelse)
        elif isinstance(node, ast.Call):
            yield from self._of_call(node)
        elif isinstance(node, ast.Slice):
            yield from (
                ast.Slice(None, node.upper, node.step),
                ast.Slice(node.lower, None, node.step),
                ast.Slice(ast.Constant(1), None),
                ast.Slice(None, ast.UnaryOp(ast.USub(), ast.Constant(1))),
            )
        elif (
            isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == 2 and isinstance(node.ctx, ast.Load)
        ):
            yield type(node)(node.elts[::-1], ast.Load())
        elif isinstance(node, ast.AugAssign):
            yield ast.Pass()
            yield from (
                ast.AugAssign(node.target, one(), node.value) for one in OPERATORS.get(type(node.op), ())
            )
        elif isinstance(node, ast.Assign):
            yield ast.Pass()
            if isinstance(node.targets[0], ast.Name) and "self" in self._names(node.lineno):
                kept = ast.Attribute(ast.Name("self", ast.Load()), node.targets[0].id, ast.Store())
                yield ast.Assign([kept], node.value)
        elif isinstance(node, ast.Expr):
            yield from (ast.Return(node.value), ast.Pass())
            root = node.value
            while isinstance(root, (ast.Call, ast.Attribute)):
                root = root.func if isinstance(root, ast.Call) else root.value
            if isinstance(root, ast.Name) and root.id not in PATHS:
                yield ast.Assign([ast.Name(root.id, ast.Store())], node.value)

    def _inverted(self, node: ast.AST) -> Iterator[ast.AST]:
        """A value with a sign, a mask or a condition inverted."""
        read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Call)) and read:
            yield from (ast.UnaryOp(one(), node) for one in (ast.Invert, ast.USub))
        if id(node) in self._conditions and isinstance(node, ast.expr):
            yield ast.UnaryOp(ast.Not(), node)

    @staticmethod
    def _of_two(node: ast.BinOp) -> Iterator[ast.AST]:
        for other in OPERATORS.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)
        if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod)):
            yield ast.BinOp(node.right, node.op, node.left)
        yield from (node.left, node.right)
        if isinstance(node.op, (ast.Div, ast.Mult)):
            yield ast.BinOp(node.left, node.op, ast.BinOp(node.right, ast.Pow(), ast.Constant(0.5)))
        if isinstance(node.op, ast.MatMult):
            dims = [ast.UnaryOp(ast.USub(), ast.Constant(n)) for n in (2, 1)]
            for left, right in ((True, False), (False, True)):
                turned = [
                    ast.Call(ast.Attribute(one, "transpose", ast.Load()), list[ast.expr](dims), [])
                    if turn
                    else one
                    for one, turn in ((node.left, left), (node.right, right))
                ]
                yield ast.BinOp(turned[0], node.op, turned[1])

    @staticmethod
    def _numbers(value: object) -> list[Any]:
        if isinstance(value, bool):
            return [not value]
        if isinstance(value, int):
            near: list[Any] = [value - 1, value + 1, -value]
            return [*near, *(one for one in DIMS if one not in (value, *near))] if abs(value) < 4 else near
        return [-value, 0.0, 1.0] if isinstance(value, float) else []

    @staticmethod
    def _of_call(node: ast.Call) -> Iterator[ast.AST]:
        function, args, words = node.func, node.args, node.keywords
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        for kinds in FUNCTIONS:
            for other in kinds if name in kinds else ():
                called = copy.copy(function)
                setattr(called, "attr" if isinstance(function, ast.Attribute) else "id", other)
                yield ast.Call(called, args, words)
        of = function.value if isinstance(function, ast.Attribute) else None
        if of is not None and not (isinstance(of, ast.Name) and of.id in PATHS):
            yield of
            if isinstance(of, ast.Call) and isinstance(of.func, ast.Attribute):
                yield of.func.value
        if args and not isinstance(args[0], ast.Starred):
            yield args[0]
        for i in range(len(args) - 1):
            yield ast.Call(function, [*args[:i], args[i + 1], args[i], *args[i + 2 :]], words)
        for i in range(len(words)):
            yield ast.Call(function, args, words[:i] + words[i + 1 :])
        if name in REDUCTIONS and not any(word.arg == "keepdim" for word in words):
            yield ast.Call(function, args, [*words, ast.keyword("keepdim", ast.Constant(True))])
        if name in ("tril", "triu") and not words:
            yield ast.Call(function, args, [ast.keyword("diagonal", ast.Constant(1))])
        if name in ("var", "std") and not any(word.arg in ("unbiased", "correction") for word in words):
            yield ast.Call(function, args, [*words, ast.keyword("unbiased", ast.Constant(False))])

    def _renamed(self, node: ast.AST) -> Iterator[ast.AST]:
        """Another name of the same function, another attribute of the same class."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in PATHS:
            for name in self._names(node.lineno)[:MOST_NAMES]:
                if name not in (node.id, "self"):
                    yield ast.Name(name, ast.Load())
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            for name in self._attributes(node.lineno)[:MOST_NAMES]:
                if name != node.attr and isinstance(node.ctx, ast.Load):
                    yield ast.Attribute(node.value, name, ast.Load())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = [n.value for n in ast.walk(self._tree) if isinstance(n, ast.Constant)]
            others = {one for one in found if isinstance(one, str) and len(one) < 8 and one != node.value}
            yield from map(ast.Constant, sorted(others)[:4])

    def _around(self, line: int, kinds: tuple[type[ast.AST], ...]) -> Sequence[ast.AST]:
        found = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or line)  # type: ignore[attr-defined]
        ]
        return sorted(found, key=lambda node: -node.lineno)  # type: ignore[attr-defined]

    def _names(self, line: int) -> list[str]:
        """Arguments, and locals that are assigned before a line, the nearest first."""
        functions = self._around(line, (ast.FunctionDef,))
        if not functions:
            return []
        made = [
            (node.lineno, node.id)
            for node in ast.walk(functions[0])
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno <= line
        ]
        args = [node.arg for node in ast.walk(functions[0]) if isinstance(node, ast.arg)]
        names = [name for _, name in sorted(made, reverse=True)] + args
        return list(dict.fromkeys(names))

    def _attributes(self, line: int) -> list[str]:
        """What `self` has in the class around a line."""
        classes = self._around(line, (ast.ClassDef,))
        found = [
            (abs(node.lineno - line), node.attr)
            for node in (ast.walk(classes[0]) if classes else ())
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ]
        return list(dict.fromkeys(name for _, name in sorted(found)))
