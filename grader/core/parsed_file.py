"""A file as a syntax tree, and the same file with one thing changed.

No line moves: what took several lines is followed by empty or continued ones, so a line number means the same before
and after.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from functools import cached_property

TO_PEOPLE = {"print", "warn", "info", "debug", "warning"}  # what these are given is nobody's result
_NEEDS_PARENTHESES = (ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp, ast.Tuple)


@dataclass(frozen=True)
class Mutant:
    """A changed file: the operator, the lines of the change, and the new text."""

    operator: str
    line: int
    end_line: int
    text: str


@dataclass(frozen=True)
class Candidate:
    """A change that may be possible: the operator, the node, and what to write in its place."""

    operator: str
    node: ast.expr | ast.stmt
    changed: ast.AST | str


class ParsedFile:
    """A text and its tree, with what operators ask of it."""

    def __init__(self, text: str) -> None:
        self.text, self.tree = text, ast.parse(text)
        self.lines = text.encode().splitlines(keepends=True)
        self._dump = ast.dump(self.tree)

    @cached_property
    def modules(self) -> set[str]:
        """Names of imported modules, and of what stands for an object: f(x) of these is not a method of a value."""
        found = {"self", "cls"}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found |= {(one.asname or one.name).partition(".")[0] for one in node.names}
            if isinstance(node, ast.ClassDef):
                found.add(node.name)
        return found

    @cached_property
    def nodes(self) -> list[ast.expr | ast.stmt]:
        """Expressions and statements that compute something: no types, no texts for people."""
        kept: list[ast.expr | ast.stmt] = []
        left: list[ast.AST] = [self.tree]
        while left:
            node = left.pop()
            if is_for_people(node):
                continue
            if isinstance(node, (ast.expr, ast.stmt)):
                kept.append(node)
            for name, value in ast.iter_fields(node):
                if name not in ("annotation", "returns", "type_comment", "msg"):
                    left += [one for one in (value if isinstance(value, list) else [value]) if _is_node(one)]
        return sorted(kept, key=lambda one: (one.lineno, one.col_offset, -(one.end_lineno or 0)))

    @cached_property
    def functions(self) -> list[ast.FunctionDef]:
        return [node for node in self.nodes if isinstance(node, ast.FunctionDef)]

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]

    def mutant(self, candidate: Candidate) -> Mutant | None:
        """The changed file; None if it is not Python, or the same."""
        found = self._replaced(candidate.node, candidate.changed)
        if found is None:
            return None
        text, end = found
        try:
            tree = ast.parse(text)
            compile(text, "mutant", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None
        if ast.dump(tree) == self._dump:
            return None
        return Mutant(candidate.operator, candidate.node.lineno, end, text)

    def _replaced(self, node: ast.expr | ast.stmt, changed: ast.AST | str) -> tuple[str, int] | None:
        """The text with the node's own part written anew, and the last line that changed."""
        end_line = node.end_lineno or node.lineno
        if isinstance(changed, str):  # whole lines
            new, count = changed.encode(), end_line - node.lineno + 1
            lines = [*self.lines[: node.lineno - 1], new, *self.lines[node.lineno - 1 + count :]]
            return b"".join(lines).decode(), end_line
        start, end, first, last = node.lineno - 1, end_line - 1, node.col_offset, node.end_col_offset
        written = ast.unparse(ast.fix_missing_locations(copy.deepcopy(changed)))
        if "\n" in written:
            return None
        if isinstance(node, ast.expr) and isinstance(changed, _NEEDS_PARENTHESES):
            written = f"({written})"
        before, after = self.lines[start][:first].decode(), self.lines[end][last:].decode()
        if isinstance(node, ast.stmt):
            whole = f"{before}{written}{after.rstrip()}\n" + "\n" * (end - start)
        else:
            whole = before + written + " \\\n" * (end - start) + after
        return b"".join([*self.lines[:start], whole.encode(), *self.lines[end + 1 :]]).decode(), end_line


def _is_node(found: object) -> bool:
    return isinstance(found, ast.AST)


def is_for_people(node: ast.AST) -> bool:
    """Docstrings, messages, what is printed, and what runs only as a script."""
    if isinstance(node, (ast.Raise, ast.JoinedStr)):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or is_for_people(node.value)
    if isinstance(node, ast.Call):
        return name_called(node) in TO_PEOPLE
    if isinstance(node, ast.AnnAssign):
        return "TypeAlias" in ast.unparse(node.annotation)
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def name_called(node: ast.Call) -> str:
    """The last part of what is called: "softmax" in F.softmax(x)."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def as_constant(value: object) -> ast.expr:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)  # type: ignore[arg-type]


def number_of(node: ast.AST) -> object:
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        return -node.operand.value  # type: ignore[operator]
    return node.value if isinstance(node, ast.Constant) else None
