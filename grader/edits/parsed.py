"""Syntax trees of files, each made and walked once: many changes look through all of a file."""

from __future__ import annotations

import ast
from functools import lru_cache

MOST_FILES = 8


@lru_cache(MOST_FILES)
def parsed(text: str) -> ast.Module:
    """Return the tree of a file; nobody may change it."""
    return ast.parse(text)


@lru_cache(MOST_FILES)
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return all nodes of such a tree, outer ones first."""
    return tuple(ast.walk(tree))
