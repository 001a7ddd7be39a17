"""The same change in several places that are alike: who gets a step of q wrong often gets it wrong of k and v too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from grader.edits.parsed import nodes_of, replaced_parts
from grader.edits.syntax import PATHS, called

MOST_ALIKE = 6
ATOMS = (ast.Name, ast.Constant, ast.Attribute)


class Alike:
    """The expressions of one file that differ only in what they work on. Args: tree: of the file."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree

    def changed(self, node: ast.expr, new: ast.AST) -> Iterator[tuple[ast.expr, ast.AST]]:
        """An expression and those alike, each with what the same change makes of it; nothing if none is alike."""
        parts = {id(one) for one in ast.walk(new)}
        for key, of in self._keys.get(id(node), ()):
            group = self._groups[key]
            if 1 < len(group) <= MOST_ALIKE and (of is None or id(of) in parts):
                for other, its in group:
                    yield other, new if other is node else replaced_parts(new, (of, its))
                return

    def calls_of(self, node: ast.Call) -> list[ast.Call]:
        """The calls of the same function with as many arguments, if they are a few."""
        text = ast.dump(node.func)
        calls = (
            one for one in nodes_of(self._tree) if isinstance(one, ast.Call) and ast.dump(one.func) == text
        )
        found = [one for one in calls if len(one.args) == len(node.args)]
        return found if len(found) <= MOST_ALIKE else []

    def named(self, name: str) -> list[ast.Call]:
        """The calls of functions and methods of a name, if they are a few."""
        calls = (one for one in nodes_of(self._tree) if isinstance(one, ast.Call))
        found = [one for one in calls if called(one.func) == name]
        return found if len(found) <= MOST_ALIKE else []

    def numbered(self, node: ast.Attribute, stem: str) -> tuple[list[str], list[ast.Attribute]]:
        """The attributes that the class around one makes under this name and a number, and those that its function
        reads, in order."""
        classes = [
            one for one in nodes_of(self._tree) if isinstance(one, ast.ClassDef) and _around(one, node)
        ]
        around = max(classes, key=lambda one: one.lineno, default=None)
        if around is None:
            return [], []
        functions = [one for one in around.body if _around(one, node)]
        inside = [one for one in ast.walk(around) if isinstance(one, ast.Attribute)]
        alike = [one for one in inside if re.fullmatch(rf"{re.escape(stem)}\d+", one.attr)]
        made = {one.attr for one in alike if isinstance(one.ctx, ast.Store)}
        read = [
            one for one in alike if isinstance(one.ctx, ast.Load) and any(_around(f, one) for f in functions)
        ]
        in_order = sorted(made, key=lambda name: int(name.removeprefix(stem)))
        return in_order, sorted(read, key=lambda one: (one.lineno, one.col_offset))

    def cut_alike(self, node: ast.Subscript) -> list[ast.Subscript]:
        """The values that are read up to the same end as one, `x[:n]`, itself among them."""
        if not isinstance(node.slice, ast.Slice) or node.slice.lower is not None or node.slice.upper is None:
            return []
        text = ast.dump(node.slice)
        every = (
            one
            for one in nodes_of(self._tree)
            if isinstance(one, ast.Subscript) and ast.dump(one.slice) == text
        )
        found = [one for one in every if isinstance(one.ctx, ast.Load)]
        return found if len(found) <= MOST_ALIKE else []

    @cached_property
    def indices(self) -> list[str]:
        """Names that stand alone as an index, or come first in one."""
        slices = [one.slice for one in nodes_of(self._tree) if isinstance(one, ast.Subscript)]
        first = [one.elts[0] if isinstance(one, ast.Tuple) and one.elts else one for one in slices]
        return list(dict.fromkeys(one.id for one in first if isinstance(one, ast.Name)))[:MOST_ALIKE]

    def statements_beside(self, node: ast.stmt) -> list[ast.stmt]:
        """The statements of the block that a statement is in, itself among them."""
        for one in nodes_of(self._tree):
            body = getattr(one, "body", None)
            if isinstance(body, list) and node in body:
                return body
        return [node]

    @cached_property
    def _keys(self) -> dict[int, list[tuple[str, ast.expr | None]]]:
        """By expression: its text without what it works on (the second item): the nearest, then a chain's first."""
        found: dict[int, list[tuple[str, ast.expr | None]]] = {}
        for node in nodes_of(self._tree):
            if isinstance(node, ast.expr) and not isinstance(node, ATOMS):
                of = first = worked_on(node)
                while of is not None and not isinstance(of, ATOMS):
                    first, of = of, worked_on(of)
                holes = dict.fromkeys([worked_on(node), first if of is None else of])
                marked = (replaced_parts(node, (hole, ast.Name("_", ast.Load()))) for hole in holes)
                found[id(node)] = [*zip(map(ast.dump, marked), holes, strict=True)]
        return found

    @cached_property
    def _groups(self) -> dict[str, list[tuple[ast.expr, ast.expr | None]]]:
        """By such a text, the expressions that have it, each with what it works on."""
        found: dict[str, list[tuple[ast.expr, ast.expr | None]]] = {}
        for node in (one for one in nodes_of(self._tree) if isinstance(one, ast.expr)):
            for key, of in self._keys.get(id(node), ()):
                found.setdefault(key, []).append((node, of))
        return found


def _around(node: ast.ClassDef | ast.stmt, part: ast.expr) -> bool:
    """Return whether a statement has an expression in one of its lines."""
    return node.lineno <= part.lineno <= (node.end_lineno or node.lineno)


def worked_on(node: ast.expr) -> ast.expr | None:
    """What a step works on: the object of a method, the first argument, what is indexed, the left operand."""
    if isinstance(node, ast.Call):
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        if of is not None and getattr(of, "id", "") not in PATHS | {"copy"}:
            return of
        return node.args[0] if node.args else None
    if isinstance(node, ast.Subscript):
        return node.value
    return node.left if isinstance(node, ast.BinOp) else None
