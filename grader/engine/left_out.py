"""Calls that lack an option, and constants where an argument should be read that nothing reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from grader.engine.edit_kinds import called
from grader.engine.scopes import Scopes

MOST_OPTIONS = 6  # of one call
MOST_UNREAD = 4


class LeftOut:
    """What may have been left out in one file.

    Args:
        trees: of the file, and of right code.
        scopes: of the file.
    """

    def __init__(self, trees: Sequence[ast.Module], scopes: Scopes) -> None:
        self._scopes = scopes
        self._options: dict[str, dict[str, ast.keyword]] = {}  # of what is called, as text
        for node in (node for tree in trees for node in ast.walk(tree)):
            if isinstance(node, ast.Call):
                options = self._options.setdefault(called(node.func), {})
                options |= {ast.unparse(word): word for word in node.keywords if word.arg is not None}

    def options(self, node: ast.Call) -> Iterator[ast.Call]:
        """A call with a keyword that another call of a function of the same name has."""
        given = {word.arg for word in node.keywords}
        words = [word for word in self._options[called(node.func)].values() if word.arg not in given]
        for word in words[:MOST_OPTIONS]:
            yield ast.Call(node.func, node.args, [*node.keywords, word])

    def unread(self, node: ast.AST) -> Iterator[ast.AST]:
        """An argument of the function that it never reads: in place of a constant, or of what a call leaves out."""
        if not isinstance(node, (ast.Constant, ast.Call)) or isinstance(getattr(node, "value", 0), str):
            return
        for name in self._scopes.unread(node.lineno)[:MOST_UNREAD]:
            value = ast.Name(name, ast.Load())
            if isinstance(node, ast.Constant):
                yield value
            else:
                yield ast.Call(node.func, [*node.args, value], node.keywords)
                yield ast.Call(node.func, node.args, [*node.keywords, ast.keyword(name, value)])
