"""Operators of mutation that change one node, whatever is around it."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from grader.core.parsed_file import ParsedFile, as_constant, name_called, number_of

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
OTHER_CALLS = {
    "relu": ("tanh", "sigmoid", "abs"),
    "softmax": ("log_softmax", "sigmoid"),
    "log_softmax": ("softmax",),
    "logsumexp": ("sum",),
    "mean": ("sum", "amax"),
    "sum": ("mean", "prod"),
    "var": ("std",),
    "std": ("var",),
    "sin": ("cos",),
    "cos": ("sin",),
    "exp": ("sigmoid",),
    "log": ("log2", "log10", "log1p"),
    "argmax": ("argmin",),
    "amax": ("amin",),
    "tril": ("triu",),
    "triu": ("tril",),
    "square": ("abs",),
    "rsqrt": ("sqrt", "reciprocal"),
    "sqrt": ("log", "square"),
    "max": ("min",),
    "min": ("max",),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "all": ("any",),
    "any": ("all",),
    "zeros": ("ones",),
    "ones": ("zeros",),
    "zeros_like": ("ones_like",),
    "ones_like": ("zeros_like",),
    "cumsum": ("cumprod",),
    "chunk": ("tensor_split",),
    "repeat_interleave": ("repeat",),
    "logical_and": ("logical_or",),
    "logical_or": ("logical_and",),
    "floor": ("ceil",),
    "no_grad": ("enable_grad",),
    "inference_mode": ("enable_grad",),
    "eval": ("train",),
    "append": ("extend",),
    "ReLU": ("GELU", "Tanh", "ReLU6", "Softplus"),
    "GELU": ("ReLU",),
    "LayerNorm": ("RMSNorm", "Identity"),
    "Dropout": ("Identity", "AlphaDropout"),
}
OF_FUNCTIONAL = {"relu": ("gelu", "softplus", "leaky_relu", "relu6", "silu"), "gelu": ("relu",)}
TWICE = {
    "tril", "sqrt", "square", "softmax", "relu", "transpose", "log_softmax", "sin", "cos", "exp", "unsqueeze", "flip",
}  # fmt: skip
IN_PLACE = {
    "masked_fill", "relu", "clamp", "add", "mul", "sub", "div", "exp", "sqrt", "square", "clamp_min", "tril", "triu",
    "sigmoid", "tanh", "neg", "pow", "unsqueeze", "transpose", "squeeze",
}  # fmt: skip
TENSORS = {
    "matmul", "bmm", "mm", "einsum", "softmax", "log_softmax", "relu", "transpose", "view", "reshape", "permute",
    "masked_fill", "where", "mean", "sum", "cat", "stack", "linear", "embedding", "dropout", "unflatten", "flatten",
    "layer_norm", "gather", "exp", "sqrt", "rsqrt", "square", "pow", "var", "baddbmm", "addmm", "contiguous",
}  # fmt: skip
JOINING = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)
UNMADE = {"__init__", "super", "isinstance", "range", "len", "print", "int", "float", "str", "bool"}
SMALL = 1e-2  # numbers below are there for safety


def _with_name(node: ast.Call, name: str) -> ast.Call:
    """The same call of something else."""
    if isinstance(node.func, ast.Attribute):
        return ast.Call(ast.Attribute(node.func.value, name, ast.Load()), node.args, node.keywords)
    return ast.Call(ast.Name(name, ast.Load()), node.args, node.keywords)


def _method(value: ast.AST, name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(value, name, ast.Load()), list(args), [])  # type: ignore[arg-type]


def _base(node: ast.Call) -> ast.expr | None:
    """What a method is called of: x in x.f(y)."""
    return node.func.value if isinstance(node.func, ast.Attribute) else None


def _of_module(file: ParsedFile, node: ast.Call) -> bool:
    base = _base(node)
    while isinstance(base, ast.Attribute):
        base = base.value
    return isinstance(base, ast.Name) and base.id in file.modules


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


def _masks(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A mask, or a condition, inverted."""
    if isinstance(node, ast.Call) and node.args:
        name, at = name_called(node), 0
        if name in ("masked_fill", "masked_fill_"):
            at = 1 if _of_module(file, node) else 0
        elif name != "where":
            return
        if at < len(node.args) and not isinstance(node.args[at], ast.UnaryOp):
            args = list(node.args)
            args[at] = ast.UnaryOp(ast.Invert(), args[at])
            yield ast.Call(node.func, args, node.keywords)


def _other_calls(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Another activation, reduction or function of the same arguments."""
    if not isinstance(node, ast.Call):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and node.attr in ("relu", "gelu")
        ):
            yield ast.Attribute(node.value, "sigmoid" if node.attr == "relu" else "relu", ast.Load())
        return
    name, base = name_called(node), _base(node)
    functional = base is not None and ast.unparse(base) in ("F", "nn.functional", "torch.nn.functional")
    for other in OF_FUNCTIONAL.get(name, ()) if functional else OTHER_CALLS.get(name, ()):
        if base is not None or name in ("min", "max", "all", "any"):
            yield _with_name(node, other)
    if name == "mean" and base is not None and node.args + node.keywords and not _of_module(file, node):
        kept = [word for word in node.keywords if word.arg in ("dim", "keepdim")]
        yield ast.Attribute(
            ast.Call(ast.Attribute(base, "median", ast.Load()), node.args, kept), "values", ast.Load()
        )
    if isinstance(node.func, ast.Name) and name in ("sorted", "reversed"):
        yield ast.Call(ast.Name("list", ast.Load()), node.args[:1], [])


def _left_out(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A call left out: x.f(...) -> x, f(x) -> x; nn.Parameter(x) -> x; x.T -> x."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "H", "mH", "values", "indices"):
        if isinstance(node.ctx, ast.Load):
            yield node.value
        return
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
        return
    name = name_called(node)
    if name in UNMADE or (name[0].isupper() and name not in ("Parameter", "ModuleList", "Buffer")):
        return
    base = _base(node)
    of_self = isinstance(base, ast.Attribute) and name in ("clone", "detach", "to", "float")
    if base is not None and (of_self or not _of_module(file, node)):
        yield base
    elif node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]


def _doubled(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A call twice: x.f() -> x.f().f(), self.f(x) -> self.f(self.f(x))."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    base = node.func.value
    if node.func.attr in TWICE and not _of_module(file, node):
        yield ast.Call(ast.Attribute(node, node.func.attr, ast.Load()), node.args, node.keywords)
    elif node.args and (node.func.attr in TWICE or (isinstance(base, ast.Name) and base.id == "self")):
        yield ast.Call(node.func, [node, *node.args[1:]], node.keywords)


def _moved(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Two calls in the other order: x.f().g() -> x.g().f(), f(g(x)) -> g(f(x))."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
        return
    inner = _base(node)
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and not _of_module(file, inner):
        first = ast.Call(
            ast.Attribute(inner.func.value, name_called(node), ast.Load()), node.args, node.keywords
        )
        yield ast.Call(ast.Attribute(first, inner.func.attr, ast.Load()), inner.args, inner.keywords)
    if node.args and isinstance(node.args[0], ast.Call) and (inner is None or _of_module(file, node)):
        inner = node.args[0]
        if inner.args and (_base(inner) is None or _of_module(file, inner)):
            first = ast.Call(node.func, [inner.args[0], *node.args[1:]], node.keywords)
            yield ast.Call(inner.func, [first, *inner.args[1:]], inner.keywords)


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


def _keywords(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A keyword argument dropped."""
    if isinstance(node, ast.Call):
        for index in range(len(node.keywords)):
            yield ast.Call(node.func, node.args, node.keywords[:index] + node.keywords[index + 1 :])


def _arguments(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """The last of several positional arguments dropped."""
    if isinstance(node, ast.Call) and len(node.args) >= 2 and not isinstance(node.args[-1], ast.Starred):
        yield ast.Call(node.func, node.args[:-1], node.keywords)


def _none_given(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """None given for an argument: no mask."""
    if isinstance(node, ast.Call) and not name_called(node)[:1].isupper():
        for index, arg in enumerate(node.args):
            if index and isinstance(arg, (ast.Name, ast.Attribute)) and "mask" in ast.unparse(arg):
                yield ast.Call(
                    node.func, [*node.args[:index], as_constant(None), *node.args[index + 1 :]], node.keywords
                )


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


def _loops(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A range that ends, or begins, one step off."""
    if isinstance(node, ast.Call) and name_called(node) == "range" and node.args:
        start, stop = [ast.Constant(0), *node.args] if len(node.args) == 1 else node.args[:2]
        step = node.args[2:]
        yield ast.Call(node.func, [start, ast.BinOp(stop, ast.Sub(), ast.Constant(1)), *step], [])
        first = number_of(start)
        later = (
            as_constant(first + 1) if isinstance(first, int) else ast.BinOp(start, ast.Add(), ast.Constant(1))
        )
        yield ast.Call(node.func, [later, stop, *step], [])


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


def _computes(file: ParsedFile, node: ast.AST) -> bool:
    """Whether an expression certainly gives a tensor of numbers."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    return isinstance(node, ast.Call) and name_called(node) in TENSORS and _base(node) is not None


def _detached(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A value cut off from its gradient."""
    if _computes(file, node):
        yield _method(node, "detach")


def _halved(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A value computed in half precision."""
    if _computes(file, node):
        yield _method(_method(node, "half"), "float")


def _in_place(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A result written into what it was computed from."""
    method = isinstance(node, ast.Call) and _base(node) is not None and not _of_module(file, node)
    if isinstance(node, ast.Call) and method and name_called(node) in IN_PLACE:
        yield _with_name(node, name_called(node) + "_")
    names = {ast.Add: "add_", ast.Mult: "mul_", ast.Sub: "sub_", ast.Div: "div_"}
    named = isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name) and type(node.op) in names
    if isinstance(node, ast.BinOp) and named and not isinstance(node.right, ast.Constant):
        yield _method(node.left, names[type(node.op)], node.right)


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
        target, base = node.targets[0], _base(node.value)
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
    "mask inverted": _masks,
    "another function": _other_calls,
    "call left out": _left_out,
    "call doubled": _doubled,
    "call moved": _moved,
    "operand left out": _operand_left_out,
    "keyword dropped": _keywords,
    "argument dropped": _arguments,
    "no mask given": _none_given,
    "bound of a slice left out": _slices,
    "index off by one": _indices,
    "one branch": _branches,
    "range shortened": _loops,
    "shared": _shared,
    "train mode": _training,
    "buffer or parameter": _registered,
    "detached": _detached,
    "half precision": _halved,
    "in place": _in_place,
    "statement left out": _statements,
    "result not kept": _unused,
    "another jump": _jumps,
}
