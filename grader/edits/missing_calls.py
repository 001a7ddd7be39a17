"""A file with one statement more: a call that right code makes for what it does, `model.train()`; a decorator."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Sequence

from grader.edits.parsed import nodes_of

OWN = "self."
MOST_PLACES = 12  # in a function


def with_calls(lines: Sequence[bytes], tree: ast.Module, right: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines, each with the file in which such a call comes before it, first about where right code has it.

    Calls of what the file calls anyway, and of names that it does not have there, are left out. The function is the one
    that calls most of the same methods, or has the same name.

    Args:
        lines: of the file.
        tree: of the same.
        right: of right code.
    """
    called = {
        ast.unparse(node.func).removeprefix(OWN) for node in nodes_of(tree) if isinstance(node, ast.Call)
    }
    defined = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    everywhere = {name for node in tree.body if node not in defined for name in _names(node)}
    everywhere |= {node.name for node in defined}
    own = [(of, one) for of, one in _functions(tree) if one.name != "__init__"]
    for name, model in _functions(right):
        alike = [len(_methods(one) & _methods(model)) + (of == name) / 2 for of, one in own]
        functions = [one for (_, one), score in zip(own, alike, strict=True) if score and score == max(alike)]
        steps = _steps(model)
        for number, step in enumerate(steps):
            if isinstance(step, ast.Expr) and isinstance(step.value, ast.Call):
                for function in functions:
                    call = _written(step.value, everywhere | _names(function), function)
                    if call is not None and ast.unparse(call.func).removeprefix(OWN) not in called:
                        yield from _placed(call, number / len(steps), function, lines)


def with_decorators(lines: Sequence[bytes], *trees: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines where a function begins, the last one first, each with the file where a call decorates it as another one.

    A function that has such a `with` is left out. The call takes the place of one of the same module:
    `@torch.no_grad()` of `@torch.enable_grad()`, whose line it is.

    Args:
        lines: of the file.
        trees: of the same, and of right code.
    """
    calls = [
        one
        for tree in trees
        for _, function in _functions(tree)
        for one in function.decorator_list
        if isinstance(one, ast.Call)
    ]
    known = set().union(*map(_names, trees[0].body))
    for name in dict.fromkeys(map(ast.unparse, calls)):
        module = re.split(r"\W", name)[0]
        for _, function in reversed(_functions(trees[0])) if module in known else ():
            if name not in map(ast.unparse, (*function.decorator_list, *_contexts(function))):
                decorators = [one for one in function.decorator_list if isinstance(one, ast.Call)]
                own = [one for one in decorators if re.split(r"\W", ast.unparse(one))[0] == module]
                at = own[-1].lineno - 1 if own else function.lineno - 1
                rest = lines[own[-1].end_lineno or at :] if own else lines[at:]
                new = f"{' ' * function.col_offset}@{name}\n".encode()
                yield at + 1, b"".join([*lines[:at], new, *rest]).decode("utf-8", "replace")


def _contexts(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What a function enters by `with`: what it should have in there is for its own lines to say."""
    for one in ast.walk(function):
        if isinstance(one, ast.With):
            yield from (item.context_expr for item in one.items)


def _written(call: ast.Call, known: set[str], function: ast.FunctionDef) -> ast.Call | None:
    """A call with names that a function has, or attributes of `self` that it reads; None if it has not all of them."""
    read = {ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    found = copy.deepcopy(call)
    for node in ast.walk(found):
        if isinstance(node, ast.Name) and node.id not in known:
            if OWN + node.id not in read:
                return None
            node.id = OWN + node.id
    return found


def _placed(
    call: ast.Call, share: float, function: ast.FunctionDef, lines: Sequence[bytes]
) -> Iterator[tuple[int, str]]:
    """The file with a call before a statement of a function. Args: share: of the function that comes before it."""
    body = _steps(function)
    for i in sorted(range(len(body)), key=lambda i: abs(i / len(body) - share))[:MOST_PLACES]:
        at = body[i].lineno - 1
        new = f"{' ' * body[i].col_offset}{ast.unparse(call)}\n".encode()
        yield at + 1, b"".join([*lines[:at], new, *lines[at:]]).decode("utf-8", "replace")


def _functions(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """Functions, with the class they belong to and their name."""
    classes = [node for node in nodes_of(tree) if isinstance(node, ast.ClassDef)]
    bodies = [("", tree.body), *((f"{node.name}.", node.body) for node in classes)]
    return [(of + one.name, one) for of, body in bodies for one in body if isinstance(one, ast.FunctionDef)]


def _methods(function: ast.FunctionDef) -> set[str]:
    """The names of the methods that it calls."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {one.attr for one in calls if isinstance(one, ast.Attribute)}


def _steps(function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function, without its docstring."""
    return function.body[ast.get_docstring(function) is not None :]


def _names(node: ast.AST) -> set[str]:
    """Names that a statement gives to something: arguments, locals, functions, what is imported."""
    found = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    found |= {(n.asname or n.name).partition(".")[0] for n in ast.walk(node) if isinstance(n, ast.alias)}
    return found | {n.name for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
