"""Syntax trees of files, each made and walked once: many changes look through all of a file."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TypeVar

N = TypeVar("N", bound=ast.AST)

MOST_FILES = 8


@lru_cache(MOST_FILES)
def parsed(text: str) -> ast.Module:
    """Return the tree of a file; nobody may change it."""
    return ast.parse(text)


@lru_cache(MOST_FILES)
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return all nodes of such a tree, outer ones first."""
    return tuple(ast.walk(tree))


def replaced_parts(node: N, *changes: tuple[ast.AST | None, ast.AST | None]) -> N:
    """A copy of a tree with some of its parts replaced, of which one may be part of another; None is no part."""
    instead = {id(old): new for old, new in changes if old is not None and new is not None}

    def walk(item: object, left: dict[int, ast.AST]) -> object:
        if id(item) in left:  # what it is replaced with may have it as a part
            return walk(left[id(item)], {key: new for key, new in left.items() if key != id(item)})
        if isinstance(item, ast.AST):
            return type(item)(**{name: walk(value, left) for name, value in ast.iter_fields(item)})
        return [walk(one, left) for one in item] if isinstance(item, list) else item

    return walk(node, instead)  # type: ignore[return-value]
