"""A range of the right length that begins in the wrong place, and the first of several in place of all."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator

from grader.edits.code import Code
from grader.edits.parsed import nodes_of, replaced_parts
from grader.edits.syntax import called, method, method_free

HEAPS = "heappush", "heapify", "heapreplace", "heappushpop"


def begun_elsewhere(node: ast.AST) -> Iterator[ast.AST]:
    """`(a, b)` for `(0, b - a)` among the arguments of a call; `x[a:b]` for `x[: b - a]`."""
    if isinstance(node, ast.Call):
        starts = [None, *node.args] if len(node.args) == 1 else node.args
        for i, (start, end) in enumerate(itertools.pairwise(starts)):
            bounds = _moved(start, end)
            if bounds:
                yield ast.Call(node.func, [*node.args[:i], *bounds, *node.args[i + 2 :]], node.keywords)
    elif isinstance(node, ast.Slice) and node.step is None:
        bounds = _moved(node.lower, node.upper)
        if bounds:
            yield ast.Slice(*bounds)


def of_blocks(node: ast.AST) -> Iterator[ast.AST]:
    """Blocks of a size that begin one after the other, `a : a + size`, where each begins at the end of the last."""
    bounds = [node.lower, node.upper] if isinstance(node, ast.Slice) and node.step is None else []
    if isinstance(node, ast.Call) and called(node.func) == "slice" and not node.keywords:
        bounds = list(node.args)
    start, end = bounds if len(bounds) == 2 else (None, None)
    if not isinstance(start, ast.Name) or not isinstance(end, ast.BinOp) or not isinstance(end.op, ast.Add):
        return
    sides = [end.left, end.right]
    if start.id in [getattr(one, "id", None) for one in sides]:
        size = next((one for one in sides if getattr(one, "id", None) != start.id), None)
        if size is not None:
            first = ast.BinOp(start, ast.Mult(), size)
            both: list[ast.expr] = [first, ast.BinOp(first, ast.Add(), size)]
            yield (
                ast.Slice(*both)
                if isinstance(node, ast.Slice)
                else ast.Call(ast.Name("slice", ast.Load()), both, [])
            )


def _moved(start: ast.expr | None, end: ast.expr | None) -> list[ast.expr]:
    """The bounds of as many, where they end; none if they cannot be known."""
    first = start is None or (isinstance(start, ast.Constant) and start.value == 0)
    cut = first and isinstance(end, ast.BinOp) and isinstance(end.op, ast.Sub)
    return [end.right, end.left] if cut and isinstance(end, ast.BinOp) else []


def back_in_order(node: ast.AST) -> Iterator[ast.stmt]:
    """A statement that reads rows in an order, `rows[order]`, with them back in the order that they had before it; one
    that makes a tensor that may be an order, with the inverse of it."""
    if not isinstance(node, (ast.Return, ast.Assign)) or node.value is None:
        return
    made = node.value.func if isinstance(node.value, ast.Call) else None
    if isinstance(node, ast.Assign) and made is not None and called(made) in ORDERS:
        yield ast.Assign(node.targets, method(node.value, "argsort"))
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):  # `back = order`
        yield ast.Assign(node.targets, ast.parse(BACK.format(node.value.id), mode="eval").body)
    orders = list(_orders(node.value))
    for name in dict.fromkeys(one.id for one in orders):
        back = ast.parse(BACK.format(name), mode="eval").body
        yield replaced_parts(node, *((one, back) for one in orders if one.id == name))


def _orders(node: ast.AST) -> Iterator[ast.Name]:
    """The names by which something is read: `x[order]`, `x[:, order]`."""
    for one in ast.walk(node):
        index = one.slice if isinstance(one, ast.Subscript) else None
        yield from (part for part in getattr(index, "elts", [index]) if isinstance(part, ast.Name))


ORDERS = "tensor", "as_tensor", "LongTensor", "argsort"
BACK = "sorted(range(len({0})), key={0}.__getitem__)"  # the inverse of a permutation
ROUNDS = (ast.For, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def heap_in_order(node: ast.AST, code: Code) -> Iterator[ast.AST]:
    """The first few of a heap, `heap[:n]`, of which only the very first is the smallest: of the heap sorted."""
    of = node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else None
    if isinstance(node, ast.Subscript) and isinstance(of, ast.Name) and of.id in _heaps(code.tree):
        yield ast.Subscript(method_free("sorted", of), node.slice, node.ctx)


def _heaps(tree: ast.Module) -> set[str]:
    """The names that something is pushed to as to a heap."""
    calls = (one for one in nodes_of(tree) if isinstance(one, ast.Call) and called(one.func) in HEAPS)
    return {one.args[0].id for one in calls if one.args and isinstance(one.args[0], ast.Name)}


def of_all(node: ast.AST, code: Code) -> Iterator[str]:
    """What a loop goes through, the same of all of them where it is of the first one: `groups[0]["params"]`."""
    if not isinstance(node, ROUNDS):
        return
    for iterable in [node.iter] if isinstance(node, ast.For) else [one.iter for one in node.generators]:
        for part in ast.walk(iterable):
            index = part.slice if isinstance(part, ast.Subscript) else None
            if isinstance(part, ast.Subscript) and isinstance(index, ast.Constant) and index.value == 0:
                inner = _InPlaceOf(ast.dump(part)).visit(copy.deepcopy(iterable))
                rounds = [
                    ast.comprehension(ast.Name("one", ast.Store()), part.value, [], 0),
                    ast.comprehension(ast.Name("each", ast.Store()), inner, [], 0),
                ]
                yield code.file.with_one(iterable, ast.ListComp(ast.Name("each", ast.Load()), rounds))


class _InPlaceOf(ast.NodeTransformer):
    """Writes `one` in place of an expression. Args: dumped: the expression."""

    def __init__(self, dumped: str) -> None:
        self._dumped = dumped

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if ast.dump(node) == self._dumped:
            return ast.Name("one", ast.Load())
        self.generic_visit(node)
        return node
