"""What a function does elsewhere, tried where it does less: with a name that is out of date, in a branch that ends too
early, in a call that hands on less than another one, for a key of a table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from grader.edits.code import Code
from grader.edits.parsed import MOST_FILES, nodes_of, replaced_parts
from grader.edits.syntax import called, renamed

MOST = 3  # of one kind, at one place
VALUES = (ast.BinOp, ast.Call)
Wrapper = ast.UnaryOp | ast.Call


def out_of_date(node: ast.AST, code: Code) -> Iterator[ast.Name]:
    """A local that was made of the one that is read, the last one first: `masked` for `scores` after
    `masked = scores.masked_fill(...)`."""
    if isinstance(node, ast.Name) and id(node) in code.values:
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


def made_as_beside(node: ast.AST, code: Code) -> Iterator[ast.Assign]:
    """A value that goes through as much as another one of the function does: `k = split(self.k(key))` for
    `k = self.k(key)` beside `q = split(self.q(query))`."""
    function = code.function(node) if isinstance(node, ast.Assign) else None
    if not isinstance(node, ast.Assign) or function is None:
        return
    found = {}
    for other in (one for one in code.assigned.get(function, []) if one is not node):
        for part in (one for one in ast.walk(other.value) if one is not other.value):
            names = _names_for(part, node.value)
            if isinstance(part, ast.expr) and names is not None:
                new = ast.parse(
                    ast.unparse(replaced_parts(other.value, (part, node.value))), mode="eval"
                ).body
                for old, name in names:
                    new = renamed(new, old, name)
                found[ast.unparse(new)] = new
    yield from (ast.Assign(node.targets, one) for one in list(found.values())[:MOST])


def _names_for(part: ast.AST, value: ast.expr) -> list[tuple[str, str]] | None:
    """What names of a call become in one like it, of another module of `self`; None if it is not like it."""
    if not isinstance(part, ast.Call) or not isinstance(value, ast.Call) or len(part.args) != len(value.args):
        return None
    own = all(
        isinstance(one.func, ast.Attribute) and called(one.func.value) == "self" for one in (part, value)
    )
    if not own or not part.args:
        return None
    both = zip(part.args, value.args, strict=True)
    return [
        (a.id, b.id) for a, b in both if isinstance(a, ast.Name) and isinstance(b, ast.Name) and a.id != b.id
    ]


def called_like(node: ast.AST, code: Code) -> Iterator[ast.Call]:
    """A call with the arguments of another one of the same function that hands on more, or with None where that has
    one that this leaves out; with the numbers that another one of the same method has: `ids.ne(0)`."""
    function = code.function(node) if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or function is None:
        return
    calls = [one for one in ast.walk(function) if isinstance(one, ast.Call)]
    alike = [one for one in calls if ast.unparse(one.func) == ast.unparse(node.func)]
    own = list(map(ast.unparse, node.args))
    everywhere = (one for one in nodes_of(code.tree) if isinstance(one, ast.Call) and one.args)
    for other in everywhere if own and isinstance(node.func, ast.Attribute) else ():
        fixed = all(isinstance(one, ast.Constant) for one in other.args)
        if fixed and ast.unparse(other.func) == ast.unparse(node.func) and not other.keywords:
            yield ast.Call(node.func, other.args, node.keywords)
    for other in [one for one in alike if len(one.args) > len(own)][:MOST]:
        if {*own} <= {*map(ast.unparse, other.args)}:
            given = [one if ast.unparse(one) in own else ast.Constant(None) for one in other.args]
            yield ast.Call(node.func, given, node.keywords)
            yield ast.Call(node.func, other.args, node.keywords)


def wrapped_like(node: ast.AST, code: Code) -> Iterator[ast.AST]:
    """What is negated elsewhere, or goes through a function of the file's own, where it does not: `~self.hidden(src)`;
    `return swap(last(h))` beside another `return swap(h)`."""
    if isinstance(node, ast.Return) and node.value is not None and (function := code.function(node)):
        others = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one is not node]
        around = [one for one in others if isinstance(one, Wrapper) and _inside(one, code.tree) is not None]
        if _inside(node.value, code.tree) is None:
            yield from (ast.Return(_around(one, node.value)) for one in around[:MOST])
    elif isinstance(node, (ast.Call, ast.Name, ast.Attribute)) and not isinstance(
        getattr(node, "ctx", None), ast.Store
    ):
        kinds = (ast.UnaryOp, ast.Call) if isinstance(node, ast.Call) else (ast.UnaryOp,)
        around = [one for one in _wrapped(code.tree).get(_said(node), ()) if isinstance(one, kinds)]
        yield from (_around(one, node) for one in around[:MOST] if _inside(one, code.tree) is not node)


@lru_cache(MOST_FILES)
def _wrapped(tree: ast.Module) -> dict[str, list[Wrapper]]:
    """What is negated, or goes through a function of the file's own, by the function or the name inside; each once."""
    found: dict[str, dict[str, Wrapper]] = {}
    for node in nodes_of(tree):
        inside = _inside(node, tree)
        if isinstance(node, Wrapper) and inside is not None and (said := _said(inside)):
            found.setdefault(said, {})[ast.unparse(_around(node, ast.Name("_", ast.Load())))] = node
    return {said: list(some.values()) for said, some in found.items()}


def _inside(node: ast.AST, tree: ast.Module) -> ast.expr | None:
    """What is negated, or is the one argument of a function of the file's own; None of anything else."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        return node.operand
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return node.args[0] if called(node.func) in _defined(tree) else None
    return None


@lru_cache(MOST_FILES)
def _defined(tree: ast.Module) -> set[str]:
    return {one.name for one in nodes_of(tree) if isinstance(one, ast.FunctionDef)}


def _around(wrapper: Wrapper, value: ast.expr) -> ast.expr:
    """The same around something else."""
    if isinstance(wrapper, ast.UnaryOp):
        return ast.UnaryOp(wrapper.op, value)
    return ast.Call(wrapper.func, [value], [])


def _said(node: ast.expr) -> str:
    """The function that is called, or the name that is read."""
    of = node.func if isinstance(node, ast.Call) else node
    return (
        ast.unparse(of) + "()" * isinstance(node, ast.Call)
        if isinstance(of, (ast.Name, ast.Attribute))
        else ""
    )


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
