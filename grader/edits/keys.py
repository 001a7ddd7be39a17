"""Keys under which values are kept for later calls, and what such a key may lack."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from grader.edits.code import Code

BY_KEY = ("get", "setdefault", "pop")
MOST_MORE = 6  # what a key may lack
OF_TENSORS = ("dtype", "device", "shape")


def with_longer_key(node: ast.AST, code: Code) -> Iterator[str]:
    """A key, `CACHE[size]`, with one more of the function's arguments, or with what a tensor has besides its numbers:
    where it gets a name, or else in all places where the function uses it."""
    function = code.function(node) if isinstance(node, (ast.Assign, ast.Name)) else None
    asked = {} if function is None else _asked(function)
    if isinstance(node, ast.Assign) and asked:
        if ast.unparse(node.targets[0]) in {ast.unparse(one) for keys in asked.values() for one in keys}:
            yield from (code.file.with_one(node.value, new) for new in _longer(node.value, code))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in asked:
        keys = asked[node.id]
        same = [one for one in keys if ast.unparse(one) == ast.unparse(keys[0])]
        if node.lineno == keys[0].lineno:  # at the first of them
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


@lru_cache(64)
def _asked(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """The keys of what has a name, and is asked for one, as no tensor is."""
    found: dict[str, list[ast.expr]] = {}
    asked = set()
    for node, name, key in _keys(function):
        found.setdefault(name, []).append(key)
        asked |= set() if isinstance(node, ast.Subscript) else {name}
    return {name: keys for name, keys in found.items() if name in asked}


def keys_of(function: ast.AST, name: str) -> list[ast.expr]:
    """What a dictionary of this name is indexed with, and asked for."""
    return [key for _, of, key in _keys(function) if of == name]


def _keys(function: ast.AST) -> Iterator[tuple[ast.AST, str, ast.expr]]:
    """Where something that has a name is indexed, or asked for a key: its name, and the key."""
    for node in ast.walk(function):
        owner: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            owner, key = node.value, node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner, key = node.func.value if node.func.attr in BY_KEY else None, node.args[0]
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            owner, key = node.comparators[0], node.left
        if isinstance(owner, ast.Name):
            yield node, owner.id, key
