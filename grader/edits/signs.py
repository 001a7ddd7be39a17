"""Signs: one too many, one that lacks in what gradients are taken of, and operators that are taken for each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.code import Code
from grader.edits.edit_kinds import OPERATORS, by_one
from grader.edits.syntax import called, function_named, method

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
}


def unsigned(node: ast.AST) -> Iterator[ast.expr]:
    """A value without its sign, a condition without its `not`."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield node.operand


def negated_loss(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """What is made before `loss.backward()`, with a sign."""
    method = node.func if isinstance(node, ast.Call) else None
    if isinstance(method, ast.Attribute) and method.attr == "backward" and (of := code.function(method)):
        made = [one for one in code.assigned.get(of, []) if one.lineno < method.lineno]
        for one in [one for one in made if ast.unparse(one.targets[0]) == ast.unparse(method.value)][-1:]:
            yield one.lineno, code.file.with_one(one.value, ast.UnaryOp(ast.USub(), one.value))


def flipped(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """An operator, a comparison or a jump that is taken for its counterpart; a number without a 1 that is too many; a
    range that ends one earlier or later; all rows repeated one after the other, or each."""
    if isinstance(node, (ast.Break, ast.Continue)):
        yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()
    elif isinstance(node, ast.BinOp):
        if isinstance(node.right, ast.Constant) and node.right.value == 1:
            yield node.left
        if type(node.op) in OPERATORS:
            yield ast.BinOp(node.left, OPERATORS[type(node.op)][0](), node.right)
    elif isinstance(node, ast.Call) and node.args:
        yield from _call_flipped(node)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield ast.Compare(node.left, [COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)


def _call_flipped(node: ast.Call) -> Iterator[ast.expr]:
    name, (first, *others) = called(node.func), node.args
    of = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name == "range":
        start, end, step = ([], first, others) if not others else ([first], others[0], others[1:])
        for other in by_one(end) if not isinstance(end, (ast.Constant, ast.BinOp)) else ():
            yield ast.Call(node.func, [*start, other, *step], [])
    elif name == "copy":
        yield ast.Call(function_named(node.func, "deepcopy"), node.args, node.keywords)
    elif name == "repeat" and of is not None:
        times = first.value if isinstance(first, ast.Starred) else first
        yield method(of, "repeat_interleave", times, ast.Constant(0))
    elif name == "repeat_interleave" and of is not None:
        some = ast.BinOp(ast.List([of], ast.Load()), ast.Mult(), first)
        yield ast.Call(
            ast.Attribute(ast.Name("torch", ast.Load()), "cat", ast.Load()), [some, *others], node.keywords
        )
