"""Steps that a line may lack: those of its file, of right code, or those that its function takes with another local."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from functools import cache

from grader.edits.code import Code
from grader.edits.fragments import Fragments
from grader.edits.syntax import replaced

FEW = 2  # steps that right code has, and the file has not: each may be tried in many lines
MOST_CHAINED = 3  # calls and indices, one on the result of the other


class Steps:
    """The steps of one file.

    Args:
        modules: what it imports.
        lacking: operations that right code has, and the file has not.
    """

    def __init__(self, code: Code, modules: Collection[str], lacking: Collection[str] = ()) -> None:
        self._fragments, self._tree = Fragments(*code.trees), code.tree
        self._lacking = self._fragments.called(lacking)
        self.few_are_lacking = 0 < len(self._lacking) <= FEW
        self._scopes, self._modules = code.scopes, modules
        self._near = cache(self._made_near)
        self._no_values = code.no_values

    def other(self, node: ast.AST) -> Iterator[ast.AST]:
        """A step of the file, or of right code, in place of one: what a call worked on goes through it."""
        if not isinstance(node, (ast.Call, ast.Subscript)) or isinstance(
            getattr(node, "ctx", None), ast.Store
        ):
            return
        names = {*self._scopes.names(node.lineno), *self._modules}
        inner: list[ast.expr] = node.args[:1] if isinstance(node, ast.Call) else []
        of: ast.expr = node
        for _ in range(MOST_CHAINED):
            of = of.func if isinstance(of, ast.Call) else of
            if not isinstance(of, (ast.Attribute, ast.Subscript)):
                break
            of = of.value
            inner.append(of)
        for one in inner:
            if ast.unparse(one) not in {"self", *self._modules}:
                yield from self._fragments.around(one, names, self._scopes.attributes(node.lineno))

    def index(self, node: ast.AST) -> Iterator[ast.AST]:
        """An index of the file, or of right code, in place of another one."""
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            steps = self._in_a_step(node.value, self._fragments)
            yield from (one for one in steps if isinstance(one, ast.Subscript))

    def more(self, node: ast.AST) -> Iterator[ast.AST]:
        """An expression in a step that the file has elsewhere, or that right code has."""
        yield from self._in_a_step(node, self._fragments)

    def lacking(self, node: ast.AST) -> Iterator[ast.AST]:
        """An expression in a step of an operation that right code has, and the file has not."""
        yield from self._in_a_step(node, self._lacking)

    def of_change(self, text: str) -> Callable[[ast.AST], Iterator[ast.AST]]:
        """An expression in a step that another version of the file has, and the file has not. Args: text: of it."""
        new = Fragments(ast.parse(text)).without(Fragments(self._tree))
        return lambda node: self._in_a_step(node, new)

    def of_near(self, node: ast.AST) -> Iterator[ast.AST]:
        """A local in a step that its function takes with another one: an index, a method."""
        if isinstance(node, ast.Name):
            yield from self._in_a_step(node, self._near(self._scopes.function(node.lineno)))

    def of_state(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what a local is made of anew, in a step that its function takes with another one."""
        if isinstance(node, ast.AugAssign):
            node = ast.Assign(
                [node.target], ast.BinOp(_loaded(node.target), node.op, node.value), lineno=node.lineno
            )
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            return
        old = ast.Name(node.targets[0].id, ast.Load(), lineno=node.lineno)
        if any(isinstance(one, ast.Name) and one.id == old.id for one in ast.walk(node.value)):
            for new in self._in_a_step(old, self._near(self._scopes.function(node.lineno))):
                yield ast.Assign(node.targets, replaced(node.value, old.id, new))

    def _made_near(self, function: ast.FunctionDef | None) -> Fragments:
        """The calls and indices of a function that take locals."""
        return Fragments(ast.Module([] if function is None else [function], []), by_locals=True)

    def _in_a_step(self, node: ast.AST, steps: Fragments) -> Iterator[ast.expr]:
        kinds = (ast.Name, ast.Call, ast.BinOp, ast.Subscript, ast.Compare, ast.Attribute, ast.List)
        if not isinstance(node, kinds) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return
        if id(node) in self._no_values:
            return
        names = self._scopes.names(node.lineno)
        if not isinstance(node, ast.Name) or node.id in {*names} - {"self"}:  # which no operation works on
            yield from steps.around(node, {*names, *self._modules}, self._scopes.attributes(node.lineno))


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body
