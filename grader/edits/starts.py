"""What a loop, or an object, starts with: equal scores for what must differ, as hypotheses that begin alike stay alike;
nothing, where a method that may never be called sets it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.code import Code
from grader.edits.file_text import FileText
from grader.edits.parsed import nodes_of
from grader.edits.syntax import called, defaults_of, renamed

ZEROS = ("zeros", "new_zeros")


def first_alone(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """Scores of several hypotheses that all start at 0, where the first alone does, and the others at -inf.

    Args:
        node: what may be such a statement, or such a list.

    Yields:
        The line, and the file with it.
    """
    file = code.file
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


def from_the_start(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """An attribute that only other methods set, which the constructor sets like them, with the defaults of theirs.

    Args:
        node: what may be a constructor.

    Yields:
        The last line of the constructor, and the file with it.
    """
    if isinstance(node, ast.FunctionDef) and node.name == "__init__":
        owners = (one for one in nodes_of(code.tree) if isinstance(one, ast.ClassDef))
        for owner in (one for one in owners if node in one.body):
            yield from _set_from_the_start(node, owner, code.file)


def _set_from_the_start(
    made: ast.FunctionDef, owner: ast.ClassDef, file: FileText
) -> Iterator[tuple[int, str]]:
    methods = [one for one in owner.body if isinstance(one, ast.FunctionDef) and one is not made]
    own = {ast.unparse(target) for target, _ in _set(made)}
    for method in methods:
        defaults = {name: ast.unparse(value) for name, value in defaults_of(method).items()}
        for target, value in _set(method):
            read = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
            given = {one.arg for one in method.args.args[1:]}
            if ast.unparse(target) not in own and read & given <= defaults.keys():
                for name in read & given:
                    value = renamed(value, name, f"({defaults[name]})")
                last = made.body[-1]
                statement = _statement(f"{ast.unparse(target)} = {ast.unparse(value)}")
                yield last.end_lineno or last.lineno, file.with_after(last, statement)


def _set(function: ast.FunctionDef) -> Iterator[tuple[ast.Attribute, ast.expr]]:
    """The attributes of `self` that a function sets, each with its value."""
    for one in ast.walk(function):
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        if (
            isinstance(one, ast.Assign)
            and isinstance(target, ast.Attribute)
            and called(target.value) == "self"
        ):
            yield target, one.value


def _statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]
