"""`--strict`: a file that leaves the work to a library's own attention is not graded.

It is a rule for people, read from the source and nothing else: it finds honest use, not disguise.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

FORBIDDEN = frozenset(
    {
        "MultiheadAttention",
        "Transformer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
        "_native_multi_head_attention",
        "_scaled_dot_product_attention",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "flex_attention",
        "multi_head_attention_forward",
        "scaled_dot_product_attention",
    }
)


def library_attention(source: str) -> str:
    """Why `--strict` refuses this file, with the lines; "" if it does not, or if Python cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # about the learner's own literals; Python tells them when they run it
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    uses = sorted(set(_uses(tree)))
    if not uses:
        return ""
    listed = "\n".join(f"  line {line}: {what}" for line, what in uses)
    return (
        f"--strict asks for attention of your own, and forbids that of a library:\n{listed}\n"
        "Without --strict, such code is graded like any other."
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
    """Whether an attribute of this belongs to the file's own objects: `self`, or a class of the file."""
    root = node
    while isinstance(root, (ast.Attribute, ast.Call)):
        root = root.value if isinstance(root, ast.Attribute) else root.func
    return isinstance(root, ast.Name) and (root.id in own or root.id in ("self", "cls", "super"))
