"""Signs: one too many, and one that lacks in what gradients are taken of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.code import Code
from grader.edits.syntax import called


def unsigned(node: ast.AST) -> Iterator[ast.expr]:
    """A value without its sign, a condition without its `not`."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield node.operand


def negated_loss(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """What is made before `loss.backward()`, with a sign."""
    if (
        isinstance(node, ast.Call)
        and called(node.func) == "backward"
        and isinstance(node.func, ast.Attribute)
    ):
        function, loss = code.function(node), ast.unparse(node.func.value)
        made = [
            one
            for one in (ast.walk(function) if function is not None else ())
            if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == loss
        ]
        before = [one for one in made if one.lineno < node.lineno]
        for one in before[-1:]:
            yield one.lineno, code.file.with_one(one.value, ast.UnaryOp(ast.USub(), one.value))
