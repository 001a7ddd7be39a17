"""One file, as changes of its lines look at it: its text, its tree, its names, and right code to take steps from."""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import cached_property
from itertools import pairwise

from grader.edits.file_text import FileText
from grader.edits.parsed import nodes_of, parsed
from grader.edits.scopes import Scopes
from grader.edits.syntax import PATHS


class Code:
    """One file.

    Args:
        text: of the file, which is Python.
        ran: lines of functions that ran; all, if there are none.
        right: the text of right code.

    Attributes:
        file: the text, with parts of it replaced.
        trees: of the file, and of right code.
        scopes: the file's names.
        constants: the numbers of right code, those that say most first: 1e-9 before 2.
    """

    def __init__(self, text: str, ran: Collection[int] = (), right: str = "") -> None:
        self.file = FileText(text)
        self.trees = [parsed(text), parsed(right)]
        self.ran = frozenset(ran)
        self.scopes = Scopes(self.tree, ran)
        self.constants = constants(right)

    @property
    def tree(self) -> ast.Module:
        return self.trees[0]

    def given(self, node: ast.expr | ast.stmt) -> list[str]:
        """The arguments of the function around an expression or a statement."""
        return self.scopes.given(node.lineno)

    def function(self, node: ast.expr | ast.stmt) -> ast.FunctionDef | None:
        """The function around an expression or a statement."""
        return self.scopes.function(node.lineno)

    @cached_property
    def assigned(self) -> dict[ast.FunctionDef, list[ast.Assign]]:
        """By function: the statements that give something a value, in order."""
        found: dict[ast.FunctionDef, list[ast.Assign]] = {}
        for node in nodes_of(self.tree):
            function = self.function(node) if isinstance(node, ast.Assign) else None
            if isinstance(node, ast.Assign) and function is not None:
                found.setdefault(function, []).append(node)
        return {function: sorted(some, key=lambda one: one.lineno) for function, some in found.items()}

    @cached_property
    def values(self) -> set[int]:
        """Ids of expressions that may stand for a value: no module, no function that is called."""
        read = (n for n in nodes_of(self.tree) if isinstance(getattr(n, "ctx", ast.Load()), ast.Load))
        return {id(n) for n in read if id(n) not in self.no_values and getattr(n, "id", "") not in PATHS}

    @cached_property
    def no_values(self) -> set[int]:
        """Ids of what is called, and of what a statement calls for what it does."""
        nodes = list(nodes_of(self.tree))
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        return called | {id(node.value) for node in nodes if isinstance(node, ast.Expr)}

    @cached_property
    def lost(self) -> set[int]:
        """Ids of statements that give a local a value which the next one in the same block replaces, unread."""
        found = set[int]()
        for node in nodes_of(self.tree):
            for field in ("body", "orelse"):
                block = getattr(node, field, None)
                for one, after in pairwise(block if isinstance(block, list) else ()):
                    both = (one, after)
                    if all(isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) for n in both):
                        name = one.targets[0].id
                        read = (n.id for n in ast.walk(after.value) if isinstance(n, ast.Name))
                        if name == after.targets[0].id and name not in read:
                            found.add(id(one))
        return found

    @cached_property
    def nodes(self) -> dict[int, list[ast.AST]]:
        """By line; those that ran, without types."""
        found: dict[int, list[ast.AST]] = {}

        def walk(node: ast.AST, inside: bool = False) -> None:
            if isinstance(node, ast.ClassDef) and len(node.bases) > 1:
                found.setdefault(node.lineno, []).append(node)
            if isinstance(node, (ast.ClassDef, ast.Import, ast.ImportFrom)):
                for child in (*node.body, *node.decorator_list) if isinstance(node, ast.ClassDef) else ():
                    walk(child, inside)
                return
            if inside and not self.has_run(node):
                return
            if isinstance(node, (ast.expr, ast.stmt)):
                found.setdefault(node.lineno, []).append(node)
            function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for name, value in ast.iter_fields(node):
                if name not in ("annotation", "returns"):
                    decorates = name == "decorator_list"
                    for child in value if isinstance(value, list) else [value]:
                        if isinstance(child, ast.Call if decorates else ast.AST):
                            walk(child, inside or (function and name == "body"))

        walk(self.tree)
        return found

    def has_run(self, node: ast.AST) -> bool:
        """Whether a statement has run, as far as that is known."""
        if not self.ran or not isinstance(node, ast.stmt):
            return True
        return any(line in self.ran for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def constants(text: str) -> list[float]:
    """The numbers of a file, those that say most first: 1e-9 before 2."""
    found = {
        node.value: None
        for node in nodes_of(parsed(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    }
    return sorted(found, key=lambda one: isinstance(one, int))
