"""What a loop starts with: equal scores for what must differ, as hypotheses that begin alike stay alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.file_text import FileText
from grader.edits.syntax import called

ZEROS = ("zeros", "new_zeros")


def first_alone(node: ast.AST, file: FileText) -> Iterator[tuple[int, str]]:
    """Scores of several hypotheses that all start at 0, where the first alone does, and the others at -inf.

    Args:
        node: what may be such a statement, or such a list.
        file: its text.

    Yields:
        The line, and the file with it.
    """
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and called(node.value.func) in ZEROS:
        target = ast.unparse(node.targets[0])
        sizes = node.value.args
        if len(sizes) == 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
            sizes = sizes[0].elts
        if len(sizes) == 2:
            yield node.lineno, file.with_after(node, _statement(f"{target}[:, 1:] = float('-inf')"))
        elif len(sizes) == 1 and isinstance(sizes[0], ast.BinOp) and isinstance(sizes[0].op, ast.Mult):
            rows = f"{target}.view(-1, {ast.unparse(sizes[0].right)})"
            yield node.lineno, file.with_after(node, _statement(f"{rows}[:, 1:] = float('-inf')"))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
        items = node.left.elts
        if len(items) == 1 and isinstance(items[0], ast.Constant) and items[0].value == 0:
            first, count = ast.unparse(node.left), ast.unparse(node.right)
            others = ast.parse(f"{first} + [float('-inf')] * ({count} - 1)", mode="eval").body
            yield node.lineno, file.with_one(node, others)


def _statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]
