"""A file with one statement more: a call that right code makes for what it does, `model.train()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

MOST_PLACES = 12  # in a function


def with_calls(lines: Sequence[bytes], tree: ast.Module, right: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines, each with the file in which such a call comes before it, first about where right code has it.

    Calls of what the file calls anyway, and of names that it does not have there, are left out.

    Args:
        lines: of the file.
        tree: of the same.
        right: of right code.
    """
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    everywhere = {name for node in tree.body for name in _names(node)}
    own = _functions(tree)
    for key, model in _functions(right).items():
        if key not in own:
            continue
        body, steps = _steps(own[key]), _steps(model)
        known = everywhere | _names(own[key])
        for number, step in enumerate(steps):
            if not isinstance(step, ast.Expr) or not isinstance(step.value, ast.Call):
                continue
            if ast.unparse(step.value.func) in called or not _read(step) <= known:
                continue
            share = number / len(steps)
            order = sorted(range(len(body)), key=lambda i: abs(i / len(body) - share))
            for i in order[:MOST_PLACES]:
                at = body[i].lineno - 1
                new = f"{' ' * body[i].col_offset}{ast.unparse(step)}\n".encode()
                yield at + 1, b"".join([*lines[:at], new, *lines[at:]]).decode("utf-8", "replace")


def _functions(tree: ast.Module) -> dict[tuple[str, str], ast.FunctionDef]:
    """Functions by the class they belong to, or "", and their name."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bodies = [("", tree.body), *((node.name, node.body) for node in classes)]
    return {
        (name, one.name): one for name, body in bodies for one in body if isinstance(one, ast.FunctionDef)
    }


def _steps(function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function, without its docstring."""
    return function.body[ast.get_docstring(function) is not None :]


def _names(node: ast.AST) -> set[str]:
    """Names that a statement gives to something: arguments, locals, functions, what is imported."""
    found = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    found |= {(n.asname or n.name).partition(".")[0] for n in ast.walk(node) if isinstance(n, ast.alias)}
    return found | {n.name for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


def _read(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
