"""`--no-library-attention`: reject a file that leaves the work to a library's own attention.

It is a rule for learners, not a security boundary. Reading the source before anything runs finds honest use. What is
disguised there (`getattr`, `eval`, `torch.ops`) is noted where it runs, by `grader.worker.library`, and fails the file
after the test in which it was seen. Code that is out to hide it can: it runs beside what watches it.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator

from grader.worker.library_names import FORBIDDEN

Uses = set[tuple[int, str]]
"""Line (0: unknown) and name of each."""


def library_attention(source: str) -> str:
    """Return why `--no-library-attention` rejects this source, with the lines; "" if accepted or not parseable."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # about the learner's own literals; Python tells them when they run it
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return _refusal(set(_uses(tree)))


def library_attention_seen(uses: Uses) -> str:
    """Return why `--no-library-attention` fails a file that made these calls; "" if there are none."""
    return _refusal((line, f"{name} was called") for line, name in uses)


def _refusal(uses: Iterable[tuple[int, str]]) -> str:
    listed = "\n".join(f"  line {line}: {what}" if line else f"  {what}" for line, what in sorted(uses))
    return listed and (
        f"--no-library-attention rejects a file that uses a built-in attention:\n{listed}\n"
        "Write the attention yourself, or grade without that option."
    )


def _uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    own = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if (node.module or "").partition(".")[0] == "torch":
                yield from (
                    (node.lineno, f"from {node.module} import {a.name}")
                    for a in node.names
                    if a.name in FORBIDDEN
                )
        elif isinstance(node, ast.Attribute):
            if node.attr in FORBIDDEN and not _own_object(node.value, own):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Name):
            if node.id in FORBIDDEN and node.id not in own and isinstance(node.ctx, ast.Load):
                yield node.lineno, node.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            given = [
                a.value for a in node.args[1:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)
            ]
            if given and given[0] in FORBIDDEN and not _own_object(node.args[0], own):
                yield node.lineno, ast.unparse(node)


def _own_object(node: ast.expr, own: set[str]) -> bool:
    """Return whether an attribute of this belongs to the file's own objects: `self`, or a class of the file."""
    root = node
    while isinstance(root, (ast.Attribute, ast.Call)):
        root = root.value if isinstance(root, ast.Attribute) else root.func
    return isinstance(root, ast.Name) and (root.id in own or root.id in ("self", "cls", "super"))
