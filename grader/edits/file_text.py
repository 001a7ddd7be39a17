"""The text of a file, with some of its expressions or statements replaced."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from itertools import accumulate


class FileText:
    """Args: text: of a file, which is Python."""

    def __init__(self, text: str) -> None:
        ended = text if text.endswith("\n") else f"{text}\n"
        self.lines = ended.encode().splitlines(keepends=True)

    def with_one(self, node: ast.AST, new: ast.AST) -> str:
        """The file with an expression or a statement replaced."""
        if isinstance(node, ast.expr) and not isinstance(node, (ast.Constant, ast.Slice)):
            return self.with_text(node, _in_parentheses(new))
        written = ast.unparse(ast.fix_missing_locations(new))
        if isinstance(node, ast.stmt):  # of several lines
            written = written.replace("\n", "\n" + " " * node.col_offset)
        return self.with_text(node, written)

    def with_text(self, node: ast.AST, written: str) -> str:
        """The file with another text in place of an expression or a statement."""
        assert isinstance(node, (ast.expr, ast.stmt))
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        start = b"".join(self.lines[:first]) + self.lines[first][: node.col_offset]
        end = self.lines[last][node.end_col_offset :] + b"".join(self.lines[last + 1 :])
        return (start + written.encode() + end).decode("utf-8", "replace")

    def with_all(self, pairs: Sequence[tuple[ast.expr, ast.AST]]) -> str:
        """The file with several expressions replaced; "" where one is part of another."""
        last, text = (math.inf, math.inf), b"".join(self.lines)
        starts = [0, *accumulate(map(len, self.lines))]
        for node, new in sorted(pairs, key=lambda pair: (-pair[0].lineno, -pair[0].col_offset)):
            end = node.end_lineno or node.lineno, node.end_col_offset or 0
            if end > last:
                return ""
            last = node.lineno, node.col_offset
            written = _in_parentheses(new).encode()
            if written.endswith(b")"):  # other lines keep their numbers
                written = written[:-1] + b"\n" * (end[0] - last[0]) + b")"
            text = text[: starts[last[0] - 1] + last[1]] + written + text[starts[end[0] - 1] + end[1] :]
        return text.decode("utf-8", "replace")

    def with_after(self, statement: ast.stmt, new: ast.stmt) -> str:
        """The file with another statement after one."""
        written = ast.unparse(ast.fix_missing_locations(new))
        return self.with_line(statement.end_lineno or statement.lineno, statement.col_offset, written)

    def with_before(self, statement: ast.stmt, new: ast.stmt) -> str:
        """The file with another statement before one."""
        written = ast.unparse(ast.fix_missing_locations(new))
        return self.with_line(statement.lineno - 1, statement.col_offset, written)

    def with_line(self, after: int, column: int, written: str) -> str:
        """The file with a line after another one, indented so far."""
        added = f"{' ' * column}{written}\n".encode()
        return b"".join([*self.lines[:after], added, *self.lines[after:]]).decode("utf-8", "replace")

    def without_decorator(self, node: ast.expr) -> str:
        """The file without a decorator; other lines keep their numbers."""
        first, end = node.lineno - 1, node.end_lineno or node.lineno
        return b"".join([*self.lines[:first], b"\n" * (end - first), *self.lines[end:]]).decode(
            "utf-8", "replace"
        )


def _in_parentheses(new: ast.AST) -> str:
    """An expression that may stand anywhere; an index with slices, which may stand in brackets only, without them."""
    if isinstance(new, ast.Tuple) and any(isinstance(one, ast.Slice) for one in new.elts):
        return ", ".join(map(ast.unparse, new.elts)) + "," * (len(new.elts) == 1)
    return f"({ast.unparse(new)})"
