"""Axes and layouts, in one change each: sizes, dims and indices of tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from grader.edits.code import Code
from grader.edits.edit_kinds import ALONG, by_one
from grader.edits.syntax import (
    SELF,
    called,
    constant,
    function_named,
    method,
)

EXTREMES = {"max": "amax", "amax": "amax", "min": "amin", "amin": "amin"}
ONE_AXIS = (0, 1, -1)  # where a result may lack an axis
TURNING = ("permute", "transpose", "movedim", "swapaxes", "swapdims")
MOST_SIZES = 5  # of a view whose sizes are exchanged
NEW = ast.Constant(None)  # as an index: another dimension


def laid_out(node: ast.AST) -> Iterator[ast.AST]:
    """A view whose sizes are exchanged, so that another axis is split, or that takes the place of a transposition; what
    lies side by side put in turns, and the other way round."""
    if not isinstance(node, ast.Call):
        return
    outer = node
    if called(node.func) == "cat" and node.args:
        turns = ast.Call(
            function_named(node.func, "stack"), node.args[:1], [ast.keyword("dim", constant(-1))]
        )
        yield method(turns, "flatten", constant(-2))
    elif called(node.func) in ("flatten", "reshape", "view") and isinstance(node.func, ast.Attribute):
        stack = node.func.value
        if isinstance(stack, ast.Call) and called(stack.func) == "stack" and stack.args:
            yield ast.Call(
                function_named(stack.func, "cat"), stack.args[:1], [ast.keyword("dim", constant(-1))]
            )
    if called(node.func) in TURNING and isinstance(node.func, ast.Attribute):
        inner = node.func.value
        if not isinstance(inner, ast.Call):
            return
        node = inner
    sizes, split = _sizes_of(node)
    for i, j in combinations(range(len(sizes)), 2):
        others = list(sizes)
        others[i], others[j] = others[j], others[i]
        viewed = ast.Call(node.func, split(others), node.keywords)
        if outer is node:
            yield method(viewed, "transpose", constant(i - len(sizes)), constant(j - len(sizes)))
        else:
            yield ast.Call(ast.Attribute(viewed, called(outer.func), ast.Load()), outer.args, outer.keywords)
            yield method(viewed, "transpose", constant(1), constant(2))
            turned = method(viewed, "transpose", constant(i), constant(j))
            yield ast.Call(ast.Attribute(turned, called(outer.func), ast.Load()), outer.args, outer.keywords)


def stored_in_one_place(node: ast.AST) -> Iterator[ast.Subscript]:
    """What gets a value everywhere, `x[:] = 1`, which gets it in its first or last column or row."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        whole = ast.Slice(None, None, None)
        if isinstance(node.slice, ast.Slice) and ast.unparse(node.slice) == ":":
            for at in (0, -1):
                yield ast.Subscript(node.value, ast.Tuple([whole, constant(at)], ast.Load()), ast.Store())
                yield ast.Subscript(node.value, constant(at), ast.Store())


def _sizes_of(node: ast.Call) -> tuple[Sequence[ast.expr], Callable[[list[ast.expr]], list[ast.expr]]]:
    """The sizes of a view, or of what a dimension is split into, and what makes arguments of others."""
    given, least = node.args, 3
    if called(node.func) == "unflatten":
        given, least = node.args[1:], 2
    elif called(node.func) not in ("view", "reshape"):
        given = []
    before = node.args[: len(node.args) - len(given)]
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        sizes = given[0].elts
        return sizes if least <= len(sizes) <= MOST_SIZES else [], lambda new: [
            *before,
            ast.Tuple(new, ast.Load()),
        ]
    return given if least <= len(given) <= MOST_SIZES else [], lambda new: [*before, *new]


@lru_cache(64)
def _indices_of(function: ast.AST) -> set[str]:
    """The names in what a function takes of something by an index."""
    indexed = (one for one in ast.walk(function) if isinstance(one, ast.Subscript))
    return {one.id for each in indexed for one in ast.walk(each.slice) if isinstance(one, ast.Name)}


def composed(node: ast.AST, code: Code) -> Iterator[ast.AST]:
    """An index of what an index has left, as one of the whole: `rows = rows[kept]` for `rows = kept`."""
    function = code.function(node) if isinstance(node, (ast.Assign, ast.Name)) else None
    if not isinstance(node, (ast.Assign, ast.Name)) or function is None:
        return
    indices = _indices_of(function)
    if isinstance(node, ast.Name):
        kept = code.scopes.stored_attributes
        if isinstance(node.ctx, ast.Load) and node.id in indices and node.id in kept:
            yield ast.Subscript(ast.Attribute(SELF, node.id, ast.Load()), node, ast.Load())
        return
    target = node.targets[0]
    if isinstance(target, ast.Name) and target.id in indices and not isinstance(node.value, ast.Constant):
        names = (one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == target.id)
        if any(one.lineno < node.lineno for one in names):
            whole = ast.Name(target.id, ast.Load())
            yield ast.Assign(node.targets, ast.Subscript(whole, node.value, ast.Load()))


def one_axis(node: ast.AST) -> Iterator[ast.AST]:
    """A result, or the first of several, with an axis of size 1 more, or less."""
    if not isinstance(node, ast.Return) or node.value is None:
        return
    items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    for name in ("unsqueeze", "squeeze"):
        for dim in ONE_AXIS:
            new = method(items[0], name, constant(dim))
            yield ast.Return(new if items[0] is node.value else ast.Tuple([new, *items[1:]], ast.Load()))


def along_last(node: ast.AST) -> Iterator[ast.expr]:
    """The largest or smallest number of all, `x.max()`, as one for each row."""
    if isinstance(node, ast.Call) and called(node.func) in EXTREMES and not node.keywords:
        keep = ast.keyword("keepdim", constant(True))
        name = EXTREMES[called(node.func)]
        if isinstance(node.func, ast.Attribute) and not node.args:
            yield ast.Call(ast.Attribute(node.func.value, name, ast.Load()), [constant(-1)], [keep])
        elif len(node.args) == 1 and called(getattr(node.func, "value", node)) == "torch":
            yield ast.Call(function_named(node.func, name), [node.args[0], constant(-1)], [keep])


def for_each_row(node: ast.AST) -> Iterator[ast.expr]:
    """What a reduction of a reduction says of all, `x.any(dim=-1).all()`, as one for each row."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        inner = node.func.value
        if called(node.func) not in ALONG or not isinstance(inner, ast.Call):
            return
        if called(inner.func) in ALONG and (inner.args or inner.keywords):
            words = [one for one in inner.keywords if one.arg != "keepdim"]
            yield ast.Call(inner.func, inner.args, [*words, ast.keyword("keepdim", constant(True))])
        node = inner


def shape_of_one(node: ast.Tuple | ast.List) -> Iterator[ast.expr]:
    """The whole shape of a tensor, in place of some of its sizes: `(x.shape[0], 1, x.shape[-1])`."""
    sizes = [one for item in node.elts for one in ast.walk(item)]
    owners = [one.value for one in sizes if isinstance(one, ast.Subscript) and called(one.value) == "shape"]
    owners += [
        ast.Attribute(one.func.value, "shape", ast.Load())
        for one in sizes
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "size"
    ]
    if isinstance(node.ctx, ast.Load) and len({ast.unparse(one) for one in owners}) == 1 < len(node.elts):
        yield owners[0]


def transposed(value: ast.expr) -> Iterator[ast.expr]:
    """A value that is computed, with two axes exchanged."""
    if isinstance(value, (ast.Call, ast.BinOp)):
        for dims in ((1, 2), (-2, -1)):
            yield method(value, "transpose", *map(constant, dims))


def indexed(node: ast.Subscript) -> Iterator[ast.Subscript]:
    """An index that is a name, one more and one less, also where a value is stored; a dimension more."""
    several = isinstance(node.slice, ast.Tuple)
    if isinstance(node.slice, ast.Slice):
        more: list[list[ast.expr]] = [[node.slice, NEW], [NEW, node.slice], [ast.Slice(), node.slice]]
        yield from (ast.Subscript(node.value, ast.Tuple(new, ast.Load()), node.ctx) for new in more)
    items: list[ast.expr] = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for i, one in enumerate(items):
        for new in by_one(one) if isinstance(one, ast.Name) else ():
            index: ast.expr = ast.Tuple([*items[:i], new, *items[i + 1 :]], ast.Load()) if several else new
            yield ast.Subscript(node.value, index, node.ctx)
