"""What a function does with the numbers that it is given: a limit, a share that is left, a mean."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.edits.code import Code
from grader.edits.syntax import called

MOST_LOCALS = 12
SHARE = re.compile("drop|rate|prob|keep|smooth|share|ratio|fraction|^p$")


def limited(node: ast.AST, code: Code) -> Iterator[ast.Call]:
    """A number that a function is given, but no more, or no less, than another one that it is given."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        numbers = code.scopes.numbers(node.lineno)
        others = [ast.Name(one, ast.Load()) for one in numbers if one != node.id]
        for one in others if node.id in numbers else ():
            yield from (ast.Call(ast.Name(name, ast.Load()), [node, one], []) for name in ("max", "min"))


def without_share(node: ast.AST, code: Code) -> Iterator[ast.BinOp]:
    """A product with, or a quotient by, what a share that the function is given leaves: `x / (1 - p)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        yield from (ast.BinOp(node.left, node.op, rest) for rest in _rests(node, code))


def what_is_left(node: ast.AST, code: Code) -> Iterator[ast.BinOp]:
    """What a share that the function is given leaves, for the whole, `1 - smoothing` for `1.0`; or 1 divided by it."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == 1:
        shares = [one for one in code.given(node) if SHARE.search(one)]
        yield from (ast.BinOp(node, ast.Sub(), ast.Name(one, ast.Load())) for one in shares)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and SHARE.search(called(node.right)):
        yield ast.BinOp(ast.Constant(1), ast.Div(), node)


def by_given_share(node: ast.AST, code: Code) -> Iterator[ast.BinOp]:
    """A quotient of what was counted, where something is drawn by a share that the function is given, as what that
    leaves on average: `1 / (1 - p)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and code.scopes.draws(node.lineno):
        yield from (ast.BinOp(ast.Constant(1), ast.Div(), rest) for rest in _rests(node, code))


def _rests(node: ast.expr, code: Code) -> Iterator[ast.expr]:
    """What the numbers that the function around it is given leave as shares: `1 - p`."""
    for name in code.scopes.numbers(node.lineno):
        yield ast.BinOp(ast.Constant(1), ast.Sub(), ast.Name(name, ast.Load()))


def of_mean(node: ast.AST, code: Code) -> Iterator[ast.Call]:
    """What goes backward, divided by a local."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and isinstance(function, ast.Attribute) and function.attr == "backward":
        for name in code.scopes.names(node.lineno)[:MOST_LOCALS]:
            share = ast.BinOp(function.value, ast.Div(), ast.Name(name, ast.Load()))
            yield ast.Call(ast.Attribute(share, "backward", ast.Load()), node.args, node.keywords)
