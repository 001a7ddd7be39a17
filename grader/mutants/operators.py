"""Operators of mutation that change one node, whatever is around it."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from grader.core.parsed_file import ParsedFile, as_constant, name_called, number_of
from grader.mutants import calls

Change = Callable[[ParsedFile, ast.AST], Iterator[ast.AST]]
SWAPPED: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mod,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
JOINING = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)
SMALL = 1e-2  # numbers below are there for safety


def _dim(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """dim=-1 -> dim=-2, and the other way round."""
    if isinstance(node, ast.Call):
        for index, word in enumerate(node.keywords):
            number = number_of(word.value)
            if word.arg in ("dim", "axis", "dim0", "dim1", "start_dim") and isinstance(number, int):
                changed = copy.deepcopy(node)
                changed.keywords[index].value = as_constant(_other_dim(number))
                yield changed


def _other_dim(dim: int) -> int:
    return {-1: -2, -2: -1, 0: 1, 1: 0, 2: 1}.get(dim, dim - 1)


def _constants(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Another number, truth value or option."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        yield as_constant(not value)
    elif isinstance(value, (int, float)):
        if 0 < value < SMALL:
            yield from map(as_constant, (0.0, value * 1000))
        else:
            yield as_constant(value + 1)
            if value not in (0, 1):
                yield as_constant(value - 1 if isinstance(value, int) else value / 2)
            if value >= 3:
                yield as_constant(value * 2)
    elif isinstance(value, str):
        for other in OTHER_TEXTS.get(value, ()):
            yield as_constant(other)


OTHER_TEXTS = {
    "sum": ("mean",), "mean": ("sum",), "none": ("mean",), "batchmean": ("mean",), "-inf": ("inf", "0"),
    "inf": ("-inf",), "pre": ("post",), "post": ("pre",), "floor": ("trunc",), "trunc": ("floor",),
    "constant": ("reflect",),
}  # fmt: skip


def _equations(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Two axes of an equation (einsum, einops) the other way round, on one side of its arrow."""
    value = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(value, str) or "->" not in value:
        return
    left, _, right = value.partition("->")
    for side, whole in ((left, f"{{}}->{right}"), (right, f"{left}->{{}}")):
        axes = list(re.finditer(r"[A-Za-z_]\w*" if " " in value else r"[A-Za-z]", side))
        for one, other in pairwise(axes):
            if one[0] != other[0] and "," not in side[one.end() : other.start()]:
                between = side[one.end() : other.start()]
                turned = side[: one.start()] + other[0] + between + one[0] + side[other.end() :]
                yield as_constant(whole.format(turned))


def _operators(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Another arithmetic operator."""
    if isinstance(node, ast.BinOp):
        for other in SWAPPED.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.AugAssign):
        for other in SWAPPED.get(type(node.op), ()):
            yield ast.AugAssign(node.target, other(), node.value)
        yield ast.Assign([node.target], node.value)


def _operands(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Operands in the other order, where that matters."""
    if isinstance(node, ast.BinOp) and isinstance(
        node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod)
    ):
        yield ast.BinOp(node.right, node.op, node.left)
    if (
        isinstance(node, ast.Call)
        and len(node.args) >= 2
        and not any(isinstance(a, ast.Starred) for a in node.args)
    ):
        for i in range(len(node.args) - 1):
            if ast.dump(node.args[i]) != ast.dump(node.args[i + 1]):
                args = list(node.args)
                args[i : i + 2] = args[i + 1], args[i]
                yield ast.Call(node.func, args, node.keywords)
    if (
        isinstance(node, (ast.Tuple, ast.List))
        and 2 <= len(node.elts) <= 4
        and isinstance(node.ctx, ast.Load)
    ):
        for i in range(len(node.elts) - 1):
            items = list(node.elts)
            items[i : i + 2] = items[i + 1], items[i]
            yield type(node)(items, ast.Load())


def _comparisons(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Another comparison."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARED.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)


def _signs(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A sign, or an inversion, left out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert, ast.Not)):
        yield node.operand


def _sign_added(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A sign too many: a product, or what is returned."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.MatMult, ast.Mult, ast.Div)):
        yield ast.UnaryOp(ast.USub(), node)


def _operand_left_out(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """One side of a sum, a product or a conjunction alone."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (*JOINING, ast.Sub, ast.Div)):
        yield node.left
        if isinstance(node.op, JOINING):
            yield node.right
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        yield from node.values
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2:
        yield node.elts[0]


def _slices(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A bound of a slice left out."""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.slice, ast.Slice)
    ):
        bounds = node.slice
        for left in (ast.Slice(None, bounds.upper, bounds.step), ast.Slice(bounds.lower, None, bounds.step)):
            yield ast.Subscript(node.value, left, ast.Load())


def _indices(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """An index, or a bound of a slice, off by one."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for number, item in enumerate(items):
        for changed in _off_by_one(item):
            many = [*items[:number], changed, *items[number + 1 :]]
            where = ast.Tuple(many, ast.Load()) if isinstance(node.slice, ast.Tuple) else many[0]
            yield ast.Subscript(node.value, where, ast.Load())


def _off_by_one(item: ast.expr) -> Iterator[ast.expr]:
    if isinstance(item, ast.Slice):
        for name in ("lower", "upper"):
            bound = getattr(item, name)
            if bound is not None and number_of(bound) is None:
                for op in (ast.Add(), ast.Sub()):
                    changed = copy.copy(item)
                    setattr(changed, name, ast.BinOp(bound, op, ast.Constant(1)))
                    yield changed
    elif isinstance(item, (ast.Name, ast.BinOp)):
        for op in (ast.Add(), ast.Sub()):
            yield ast.BinOp(item, op, ast.Constant(1))


def _branches(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Always one branch of a condition."""
    if isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse


def _shared(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """One thing so many times, in place of so many things: [f() for _ in range(n)] -> [f()] * n."""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
        each = node.generators[0].iter
        made = isinstance(node.elt, ast.Call)
        if isinstance(each, ast.Call) and name_called(each) == "range" and len(each.args) == 1 and made:
            yield ast.BinOp(ast.List([node.elt], ast.Load()), ast.Mult(), each.args[0])


def _training(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Train mode taken for eval mode, or for always on or off."""
    if isinstance(node, ast.Attribute) and node.attr == "training" and isinstance(node.ctx, ast.Load):
        yield ast.UnaryOp(ast.Not(), node)
        yield from map(as_constant, (True, False))


def _registered(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A buffer made a parameter, or an attribute; a module without its bias."""
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and name_called(node.value) == "register_buffer"
    ):
        args = node.value.args
        if len(args) >= 2 and isinstance(args[0], ast.Constant) and isinstance(args[0].value, str):
            target = ast.Attribute(ast.Name("self", ast.Load()), args[0].value, ast.Store())
            yield ast.Assign([target], args[1], lineno=0)
            made = ast.parse("torch.nn.Parameter(x)", mode="eval").body
            assert isinstance(made, ast.Call)
            made.args = [args[1]]
            yield ast.Assign([target], made, lineno=0)
    if (
        isinstance(node, ast.Call)
        and name_called(node) == "Linear"
        and not any(w.arg == "bias" for w in node.keywords)
    ):
        yield ast.Call(node.func, node.args, [*node.keywords, ast.keyword("bias", as_constant(False))])


def _statements(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A statement left out."""
    if isinstance(node, (ast.AugAssign, ast.Break, ast.Continue, ast.Delete)):
        yield ast.Pass()
    if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Await)):
        yield ast.Pass()
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.value)):
            yield ast.Pass()
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        yield ast.Pass()
    if isinstance(node, ast.Return) and node.value is not None:
        yield ast.Expr(node.value)


def _unused(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A result not kept: x = x.f() -> x.f()."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Call):
        target, base = node.targets[0], calls.base_of(node.value)
        if base is not None and ast.unparse(target) == ast.unparse(base):
            yield ast.Expr(node.value)


def _jumps(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """break for continue, and the other way round."""
    if isinstance(node, ast.Break):
        yield ast.Continue()
    if isinstance(node, ast.Continue):
        yield ast.Break()


OPERATORS: dict[str, Change] = {
    "another dim": _dim,
    "another constant": _constants,
    "another equation": _equations,
    "another operator": _operators,
    "operand order": _operands,
    "another comparison": _comparisons,
    "sign or inversion left out": _signs,
    "sign added": _sign_added,
    "mask inverted": calls.masks,
    "another function": calls.other_calls,
    "call left out": calls.left_out,
    "call doubled": calls.doubled,
    "call moved": calls.moved,
    "operand left out": _operand_left_out,
    "keyword dropped": calls.keywords,
    "argument dropped": calls.arguments,
    "no mask given": calls.none_given,
    "bound of a slice left out": _slices,
    "index off by one": _indices,
    "one branch": _branches,
    "range shortened": calls.loops,
    "shared": _shared,
    "train mode": _training,
    "buffer or parameter": _registered,
    "detached": calls.detached,
    "half precision": calls.halved,
    "in place": calls.in_place,
    "statement left out": _statements,
    "result not kept": _unused,
    "another jump": _jumps,
}
