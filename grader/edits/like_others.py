"""What a function does elsewhere, tried where it does less: with a name that is out of date, in a branch that ends too
early, in a call that hands on less than another one, for a key of a table."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.code import Code
from grader.edits.syntax import called

MOST = 3  # of one kind, at one place
VALUES = (ast.BinOp, ast.Call)


def out_of_date(node: ast.AST, code: Code) -> Iterator[ast.Name]:
    """A local that was made of the one that is read, the last one first: `masked` for `scores` after
    `masked = scores.masked_fill(...)`."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        before = [one for one in _assigned(node, code) if (one.end_lineno or 0) < node.lineno]
        made = [called(one.targets[0]) for one in reversed(before) if _reads(one.value, node.id)]
        newer = [name for name in dict.fromkeys(made) if name not in ("", node.id)]
        yield from (ast.Name(name, ast.Load()) for name in newer[:MOST])


def returned_like(node: ast.AST, code: Code) -> Iterator[ast.Return]:
    """What the function makes elsewhere of a local that is returned as it is."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
        name = node.value.id
        made = [one.value for one in _assigned(node, code) if isinstance(one.value, VALUES)]
        yield from [ast.Return(one) for one in made if _reads(one, name)][:MOST]


def made_like(node: ast.AST, code: Code) -> Iterator[ast.Assign]:
    """A local made by the call that makes it in another branch: `out = self.join(values)` for `out = cat(values)`."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        target = ast.unparse(node.targets[0])
        for other in _assigned(node, code):
            call = other.value
            if other is not node and isinstance(call, ast.Call) and ast.unparse(other.targets[0]) == target:
                for given in (node.value.args[:1], [node.value]) if len(call.args) == 1 else ():
                    yield ast.Assign(node.targets, ast.Call(call.func, list(given), call.keywords))


def called_like(node: ast.AST, code: Code) -> Iterator[ast.Call]:
    """A call with the arguments of another one of the same function that hands on more, or with None where that has
    one that this leaves out."""
    function = code.function(node) if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or function is None:
        return
    calls = [one for one in ast.walk(function) if isinstance(one, ast.Call)]
    alike = [one for one in calls if ast.unparse(one.func) == ast.unparse(node.func)]
    own = list(map(ast.unparse, node.args))
    for other in [one for one in alike if len(one.args) > len(own)][:MOST]:
        if {*own} <= {*map(ast.unparse, other.args)}:
            given = [one if ast.unparse(one) in own else ast.Constant(None) for one in other.args]
            yield ast.Call(node.func, given, node.keywords)
            yield ast.Call(node.func, other.args, node.keywords)


def of_table(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A table in which one key has the function or the class of another one."""
    names = [one for one in getattr(node, "values", ()) if isinstance(one, (ast.Name, ast.Attribute))]
    if isinstance(node, ast.Dict) and len(names) == len(node.values):
        different = {ast.unparse(one): one for one in names}
        for one in names if len(different) <= MOST else ():
            others = (other for text, other in different.items() if text != ast.unparse(one))
            yield from ((one.lineno, code.file.with_one(one, other)) for other in others)


def _assigned(node: ast.expr | ast.stmt, code: Code) -> list[ast.Assign]:
    """The statements of the function around one that give one name a value."""
    function = code.function(node)
    made = code.assigned.get(function, []) if function is not None else []
    return [one for one in made if isinstance(one.targets[0], ast.Name)]


def _reads(node: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))
