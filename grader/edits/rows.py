"""Rows that are repeated, and indices into a table laid out in one row: beams of sentences, tokens of beams."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.code import Code
from grader.edits.syntax import called, constant, method

MOST_SIZES = 24


def each_repeated(node: ast.AST, code: Code) -> Iterator[str]:
    """All tables of a function that are repeated one after the other, `x.repeat(k, 1)`, with each row repeated."""
    function = code.function(node) if isinstance(node, ast.Call) and _times(node) is not None else None
    if function is None:
        return
    pairs = [
        (one, method(one.func.value, "repeat_interleave", times, constant(0)))
        for one in ast.walk(function)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)
        if (times := _times(one)) is not None
    ]
    if len(pairs) > 1 and pairs[0][0] is node:
        yield code.file.with_all(pairs)


def _times(node: ast.Call) -> ast.expr | None:
    """How often a call repeats all rows, and nothing along other axes."""
    if called(node.func) != "repeat" or not isinstance(node.func, ast.Attribute) or len(node.args) < 2:
        return None
    others = [getattr(one, "value", None) for one in node.args[1:]]
    return node.args[0] if all(one == 1 for one in others) and not node.keywords else None


def of_flat_index(node: ast.AST, code: Code) -> Iterator[ast.Assign]:
    """A flat index taken apart, `i // n, i % n`, the other way round, or by another size."""
    value = node.value if isinstance(node, ast.Assign) else None
    parts = [one for one in value.elts if isinstance(one, ast.BinOp)] if isinstance(value, ast.Tuple) else []
    ops = [one.op for one in parts]
    if (
        not isinstance(node, ast.Assign)
        or {type(op) for op in ops} != {ast.Mod, ast.FloorDiv}
        or len(ops) != 2
    ):
        return
    index, size = parts[0].left, parts[0].right
    own = {one.id for one in (*ast.walk(node.targets[0]), *ast.walk(index)) if isinstance(one, ast.Name)}
    names = [one for one in code.scopes.names(node.lineno) if one not in own]
    for other in (size, *(ast.Name(one, ast.Load()) for one in names[:MOST_SIZES])):
        for first, second in (ops, ops[::-1]):
            taken: list[ast.expr] = [ast.BinOp(index, op, other) for op in (first, second)]
            yield ast.Assign(node.targets, ast.Tuple(taken, ast.Load()))
