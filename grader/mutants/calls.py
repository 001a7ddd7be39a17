"""Operators of mutation that change a call: another function, other arguments, a call left out or doubled."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.core.parsed_file import ParsedFile, as_constant, name_called, number_of

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
UNMADE = {"__init__", "super", "isinstance", "range", "len", "print", "int", "float", "str", "bool"}


def _with_name(node: ast.Call, name: str) -> ast.Call:
    """The same call of something else."""
    if isinstance(node.func, ast.Attribute):
        return ast.Call(ast.Attribute(node.func.value, name, ast.Load()), node.args, node.keywords)
    return ast.Call(ast.Name(name, ast.Load()), node.args, node.keywords)


def _method(value: ast.AST, name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(value, name, ast.Load()), list(args), [])  # type: ignore[arg-type]


def base_of(node: ast.Call) -> ast.expr | None:
    """Return the object of a method call: x in x.f(y)."""
    return node.func.value if isinstance(node.func, ast.Attribute) else None


def _of_module(file: ParsedFile, node: ast.Call) -> bool:
    base = base_of(node)
    while isinstance(base, ast.Attribute):
        base = base.value
    return isinstance(base, ast.Name) and base.id in file.modules


def masks(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
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


def other_calls(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Another activation, reduction or function of the same arguments."""
    if not isinstance(node, ast.Call):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and node.attr in ("relu", "gelu")
        ):
            yield ast.Attribute(node.value, "sigmoid" if node.attr == "relu" else "relu", ast.Load())
        return
    name, base = name_called(node), base_of(node)
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


def left_out(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
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
    base = base_of(node)
    of_self = isinstance(base, ast.Attribute) and name in ("clone", "detach", "to", "float")
    if base is not None and (of_self or not _of_module(file, node)):
        yield base
    elif node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]


def doubled(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A call twice: x.f() -> x.f().f(), self.f(x) -> self.f(self.f(x))."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    base = node.func.value
    if node.func.attr in TWICE and not _of_module(file, node):
        yield ast.Call(ast.Attribute(node, node.func.attr, ast.Load()), node.args, node.keywords)
    elif node.args and (node.func.attr in TWICE or (isinstance(base, ast.Name) and base.id == "self")):
        yield ast.Call(node.func, [node, *node.args[1:]], node.keywords)


def moved(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """Two calls in the other order: x.f().g() -> x.g().f(), f(g(x)) -> g(f(x))."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
        return
    inner = base_of(node)
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and not _of_module(file, inner):
        first = ast.Call(
            ast.Attribute(inner.func.value, name_called(node), ast.Load()), node.args, node.keywords
        )
        yield ast.Call(ast.Attribute(first, inner.func.attr, ast.Load()), inner.args, inner.keywords)
    if node.args and isinstance(node.args[0], ast.Call) and (inner is None or _of_module(file, node)):
        inner = node.args[0]
        if inner.args and (base_of(inner) is None or _of_module(file, inner)):
            first = ast.Call(node.func, [inner.args[0], *node.args[1:]], node.keywords)
            yield ast.Call(inner.func, [first, *inner.args[1:]], inner.keywords)


def keywords(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A keyword argument dropped."""
    if isinstance(node, ast.Call):
        for index in range(len(node.keywords)):
            yield ast.Call(node.func, node.args, node.keywords[:index] + node.keywords[index + 1 :])


def arguments(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """The last of several positional arguments dropped."""
    if isinstance(node, ast.Call) and len(node.args) >= 2 and not isinstance(node.args[-1], ast.Starred):
        yield ast.Call(node.func, node.args[:-1], node.keywords)


def none_given(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """None given for an argument: no mask."""
    if isinstance(node, ast.Call) and not name_called(node)[:1].isupper():
        for index, arg in enumerate(node.args):
            if index and isinstance(arg, (ast.Name, ast.Attribute)) and "mask" in ast.unparse(arg):
                yield ast.Call(
                    node.func, [*node.args[:index], as_constant(None), *node.args[index + 1 :]], node.keywords
                )


def loops(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
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


def _computes(node: ast.AST) -> bool:
    """Return whether an expression certainly gives a tensor of numbers."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    return isinstance(node, ast.Call) and name_called(node) in TENSORS and base_of(node) is not None


def detached(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A value cut off from its gradient."""
    if _computes(node):
        yield _method(node, "detach")


def halved(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A value computed in half precision."""
    if _computes(node):
        yield _method(_method(node, "half"), "float")


def in_place(file: ParsedFile, node: ast.AST) -> Iterator[ast.AST]:
    """A result written into what it was computed from."""
    method = isinstance(node, ast.Call) and base_of(node) is not None and not _of_module(file, node)
    if isinstance(node, ast.Call) and method and name_called(node) in IN_PLACE:
        yield _with_name(node, name_called(node) + "_")
    names = {ast.Add: "add_", ast.Mult: "mul_", ast.Sub: "sub_", ast.Div: "div_"}
    named = isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name) and type(node.op) in names
    if isinstance(node, ast.BinOp) and named and not isinstance(node.right, ast.Constant):
        yield _method(node.left, names[type(node.op)], node.right)
