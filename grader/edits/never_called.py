"""Functions and methods that a file has and never calls: who leaves out a call often leaves what it would call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from grader.edits.code import Code
from grader.edits.parsed import nodes_of
from grader.edits.syntax import SELF, called, loaded, method

MOST_UNCALLED = 3  # of more it cannot be said which one is missing
MOST_PLACES = 40


class NeverCalled:
    """Of one file; the functions of right code are for others to call."""

    def __init__(self, code: Code) -> None:
        self._file, (self._tree, self._right), self._code = code.file, code.trees, code

    def called_after_all(self) -> Iterator[tuple[int, str]]:
        """Lines, each with the file in which such a function is called there: for what it does, if it takes nothing;
        else on a value that was just made, in whose place its result comes."""
        uncalled = self._uncalled()
        for owner, function in uncalled if len(uncalled) <= MOST_UNCALLED else ():
            given = len(function.args.args) - (owner is not None)
            if given == 0 and owner is not None:
                yield from self._for_what_it_does(owner, function)
            elif given == 1:
                yield from self._on_values(owner, function)

    def _uncalled(self) -> list[tuple[ast.ClassDef | None, ast.FunctionDef]]:
        """Those functions, each with the class that it is a method of."""
        nodes = nodes_of(self._tree)
        named = {one.id for one in nodes if isinstance(one, ast.Name)}
        named |= {one.attr for one in nodes if isinstance(one, ast.Attribute)}
        named |= {one.name for one in nodes_of(self._right) if isinstance(one, ast.FunctionDef)}
        classes = [one for one in nodes if isinstance(one, ast.ClassDef)]
        scopes: list[tuple[ast.ClassDef | None, list[ast.stmt]]] = [(None, self._tree.body)]
        scopes += [(one, one.body) for one in classes]
        return [
            (owner, one)
            for owner, body in scopes
            for one in body
            if isinstance(one, ast.FunctionDef) and one.name not in named
            if not one.decorator_list and not one.name.startswith("__") and not hasattr(nn.Module, one.name)
        ]

    def _for_what_it_does(self, owner: ast.ClassDef, function: ast.FunctionDef) -> Iterator[tuple[int, str]]:
        made = [
            node.targets[0]
            for node in nodes_of(self._tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            if called(node.value.func) == owner.name
        ]
        objects = {ast.unparse(one): one for one in made}
        for other in (one for one in nodes_of(self._tree) if isinstance(one, ast.FunctionDef)):
            if other is function or not self._code.has_run(other):
                continue
            read = {ast.unparse(one) for one in ast.walk(other) if isinstance(one, (ast.Name, ast.Attribute))}
            of: list[ast.expr] = [one for name, one in objects.items() if name in read]
            of += [SELF] if other in owner.body else []
            body = other.body[ast.get_docstring(other) is not None :]
            for one in of:
                call = ast.Expr(method(loaded(one), function.name))
                yield body[0].lineno, self._file.with_before(body[0], call)
                if not isinstance(body[-1], ast.Return):
                    yield body[-1].lineno, self._file.with_after(body[-1], call)

    def _on_values(self, owner: ast.ClassDef | None, function: ast.FunctionDef) -> Iterator[tuple[int, str]]:
        left = MOST_PLACES
        inside = {id(one) for scope in ([owner] if owner else [self._tree]) for one in ast.walk(scope)}
        for node in nodes_of(self._tree):
            if not isinstance(node, (ast.Assign, ast.Return)) or node.value is None or id(node) not in inside:
                continue
            if function.lineno <= node.lineno <= (function.end_lineno or 0) or not self._code.has_run(node):
                continue
            name: ast.expr = ast.Name(function.name, ast.Load())
            if owner is not None:
                name = ast.Attribute(SELF, function.name, ast.Load())
            wrapped = ast.Call(name, [node.value], [])
            new = ast.Return(wrapped) if isinstance(node, ast.Return) else ast.Assign(node.targets, wrapped)
            left -= 1
            if left < 0:
                return
            yield node.lineno, self._file.with_one(node, new)
