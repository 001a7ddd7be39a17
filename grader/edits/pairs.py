"""Two changes that belong together, in one statement or in it and the next one: neither of them helps alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice, pairwise

from grader.edits.code import Code
from grader.edits.file_text import FileText
from grader.edits.parsed import nodes_of, replaced_parts

MOST_PAIRS = 60  # of a statement
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)
EITHER = (ast.Add, ast.Mult)  # what may be left out on both sides

Change = tuple[ast.expr, ast.expr]


class Pairs:
    """Of one file."""

    def __init__(self, code: Code) -> None:
        self._file = code.file
        self._next: dict[int, ast.stmt] = {}
        for node in nodes_of(code.tree):
            for _, body in ast.iter_fields(node):
                if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                    self._next.update((id(one), after) for one, after in pairwise(body))

    def left_out(self, node: ast.AST) -> Iterator[str]:
        """The file without an operand or a slice in two places: `e * (a - b)` for `e / (n - 1) * (a - b)`."""
        if isinstance(node, SIMPLE):
            yield from islice(self._left_out(node), MOST_PAIRS)

    def exchanged(self, node: ast.AST) -> Iterator[str]:
        """The file in which two statements one after the other have each other's value: `a, b` of `divmod`, say."""
        after = self._next.get(id(node))
        if isinstance(node, ast.Assign) and isinstance(after, ast.Assign):
            read = {ast.unparse(n) for n in ast.walk(after.value) if isinstance(n, (ast.Name, ast.Attribute))}
            alike = type(node.value) is type(after.value) and ast.dump(node.value) != ast.dump(after.value)
            if alike and not read & set(map(ast.unparse, node.targets)):
                text = FileText(self._file.with_one(after, ast.Assign(after.targets, node.value)))
                yield text.with_one(node, ast.Assign(node.targets, after.value))

    def _left_out(self, node: ast.stmt) -> Iterator[str]:
        after = self._next.get(id(node))
        own = list(_shorter(node))
        for i, one in enumerate(own):
            for other in own[i + 1 :]:
                yield self._file.with_one(node, replaced_parts(node, one, other))
        for other in _shorter(after) if isinstance(after, SIMPLE) else ():
            assert after is not None
            text = FileText(self._file.with_one(after, replaced_parts(after, other)))
            yield from (text.with_one(node, replaced_parts(node, one)) for one in own)


def _shorter(statement: ast.stmt) -> Iterator[Change]:
    """Expressions of a statement, each with what is left of it without an operand, or as a whole."""
    for node in ast.walk(statement):
        if isinstance(node, ast.BinOp):
            yield node, node.left
            if isinstance(node.op, EITHER):
                yield node, node.right
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_sliced(node):
            yield node, node.value


def _is_sliced(node: ast.Subscript) -> bool:
    return any(isinstance(one, ast.Slice) for one in ast.walk(node.slice))
