"""Makes changed code end: a change may make a loop, or a recursion, endless."""

from __future__ import annotations

import ast
import re

from grader.engine.edit_kinds import called

MOST_ROUNDS = 100  # of a loop of changed code, ...
MOST_LOOPING_S = 2.0  # ... and seconds of CPU until no loop begins another round, and no function that recurs
ENDS = "_loops_end_at"
_NESTED = re.compile(r"^( +)for .*\n(?:\1 .*\n|\s*\n)*?\1 .*\bfor\b", re.MULTILINE)
_ROUND = re.compile(r"\bfor\b.+\bin (\w+):")
_BEGIN = ast.parse(f"{ENDS} = __import__('time').process_time() + {MOST_LOOPING_S}").body
_LATE = ast.parse(f"__import__('time').process_time() > {ENDS}", mode="eval").body
_STOP = ast.parse("raise RuntimeError('it takes too long')").body[0]
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def ending(text: str, *, recursive: bool = False) -> str:
    """The same program, ending: a `while` goes round at most so many times, and for so long.

    So do loops in loops, and one over a list that may grow meanwhile: each round may take longer than the one before.

    Args:
        recursive: no function begins after that time either.

    Raises:
        SyntaxError: it is no Python.
    """
    grown = {name for name in _ROUND.findall(text) if re.search(rf"\b{name}\.(append|extend|insert)\(", text)}
    if "while" not in text and not grown and not recursive and not _NESTED.search(text):
        return text
    tree = ast.parse(text)
    first = sum(isinstance(one, ast.ImportFrom) and one.module == "__future__" for one in tree.body)
    first += ast.get_docstring(tree) is not None
    tree = _Ending(recursive).visit(tree)
    tree.body[first:first] = _BEGIN
    return ast.unparse(tree)


def calls_itself(text: str) -> bool:
    """Whether a function of the file calls one of its own name."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return any(
        isinstance(node, ast.Call) and called(node.func) == one.name
        for one in functions
        for node in ast.walk(one)
    )


class _Ending(ast.NodeTransformer):
    def __init__(self, recursive: bool) -> None:
        self._recursive = recursive

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Statements alone: no loop is within an expression."""
        for block in _BLOCKS:
            if found := getattr(node, block, None):
                setattr(node, block, [self.visit(one) for one in found])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if self._recursive:
            node.body.insert(0, ast.If(_LATE, [_STOP], []))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, ast.If(_LATE, [ast.Break()], []))
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        stop = ast.If(ast.UnaryOp(ast.Not(), node.test), [*node.orelse, ast.Break()], [])
        rounds = ast.Call(ast.Name("range", ast.Load()), [ast.Constant(MOST_ROUNDS)], [])
        body = [stop, ast.If(_LATE, [ast.Break()], []), *node.body]
        return ast.For(ast.Name("_round_of_loop", ast.Store()), rounds, body, [], lineno=0)
