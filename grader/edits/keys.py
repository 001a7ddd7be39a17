"""Keys under which values are kept for later calls, and what such a key may lack."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.code import Code

BY_KEY = ("get", "setdefault", "pop")
MOST_MORE = 6  # what a key may lack
OF_TENSORS = ("dtype", "device", "shape")


def with_longer_key(node: ast.AST, code: Code) -> Iterator[str]:
    """A key, `CACHE[size]`, with one more of the function's arguments, or with what a tensor has besides its numbers:
    where it gets a name, or else in all places where the function uses it."""
    if isinstance(node, ast.Assign):
        function = code.function(node)
        if function is not None and ast.unparse(node.targets[0]) in map(ast.unparse, _all_keys(function)):
            yield from (code.file.with_one(node.value, new) for new in _longer(node.value, code))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        function = code.function(node)
        keys = (
            [] if function is None or not _is_asked(function, node.id) else list(keys_of(function, node.id))
        )
        same = [one for one in keys if ast.unparse(one) == ast.unparse(keys[0])]
        if keys and node.lineno == keys[0].lineno:  # at the first of them
            for new in _longer(keys[0], code):
                yield code.file.with_all([(one, new) for one in same])


def _longer(key: ast.expr, code: Code) -> Iterator[ast.Tuple]:
    own = key.elts if isinstance(key, ast.Tuple) else [key]
    given = [name for name in code.given(key) if name not in ("self", "cls")]
    read = {one.id for one in ast.walk(key) if isinstance(one, ast.Name)}
    more: list[ast.expr] = [ast.Name(name, ast.Load()) for name in given if name not in read]
    more += [ast.Attribute(ast.Name(name, ast.Load()), of, ast.Load()) for name in given for of in OF_TENSORS]
    written = {ast.unparse(one) for one in own}
    for one in [one for one in more if ast.unparse(one) not in written][:MOST_MORE]:
        yield ast.Tuple([*own, one], ast.Load())


def _all_keys(function: ast.AST) -> Iterator[ast.expr]:
    """What the function uses as a key of anything that has a name."""
    names = {one.id: None for one in ast.walk(function) if isinstance(one, ast.Name)}
    for name in [one for one in names if _is_asked(function, one)]:
        yield from keys_of(function, name)


def _is_asked(function: ast.AST, name: str) -> bool:
    """Whether it is asked for a key, as no tensor is."""
    keys = keys_of(function, name, indexed=False)
    return next(keys, None) is not None


def keys_of(function: ast.AST, name: str, *, indexed: bool = True) -> Iterator[ast.expr]:
    """What a dictionary of this name is indexed with, and asked for. Args: indexed: the former too."""
    for node in ast.walk(function):
        owner = node.value if isinstance(node, ast.Subscript) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in BY_KEY:
            owner = node.func.value
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            owner = node.comparators[0]
        if isinstance(owner, ast.Name) and owner.id == name:
            if isinstance(node, ast.Subscript) and indexed:
                yield node.slice
            elif isinstance(node, ast.Compare):
                yield node.left
            elif isinstance(node, ast.Call):
                yield from node.args[:1]
