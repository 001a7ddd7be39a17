"""What Python and torch keep, share, copy or leave out, in one change each: a default, a key, a copy, an end."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.edits.code import Code
from grader.edits.syntax import (
    FACTORIES,
    PATHS,
    SELF,
    called,
    is_whole,
    method,
    method_free,
)

MOST_LIKE = 3  # arguments
HALF = ("float16", "half", "bfloat16")
DTYPES = (*HALF, "float32", "float", "float64", "double")
IN_PLACE = re.compile(r"[a-z]_$")


def in_full_precision(node: ast.AST) -> Iterator[ast.Call]:
    """A tensor that is made in the dtype of another one, `torch.arange(n, dtype=x.dtype)`, in 32 or 64 bits."""
    if not isinstance(node, ast.Call):
        return
    for word in node.keywords:
        if word.arg == "dtype" and isinstance(word.value, ast.Attribute) and word.value.attr == "dtype":
            others = [one for one in node.keywords if one is not word]
            for name in ("float32", "float64"):
                dtype = ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load())
                yield ast.Call(node.func, node.args, [*others, ast.keyword("dtype", dtype)])


def in_dtype_of(node: ast.AST, code: Code) -> Iterator[ast.expr]:
    """A new tensor of no dtype in that of an argument: `torch.full(shape, p, dtype=x.dtype)`; the dtype of an argument
    for one that is written there."""
    if isinstance(node, ast.Attribute) and node.attr in DTYPES and called(node.value) == "torch":
        given = [one for one in code.given(node) if one != "self"][-MOST_LIKE:]
        yield from (ast.Attribute(ast.Name(one, ast.Load()), "dtype", ast.Load()) for one in given[::-1])
        if node.attr in HALF:
            yield ast.Attribute(node.value, "float32", ast.Load())
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if called(node.func) in FACTORIES and not any(word.arg in (None, "dtype") for word in node.keywords):
        for name in [one for one in code.given(node) if one != "self"][:MOST_LIKE]:
            dtype = ast.Attribute(ast.Name(name, ast.Load()), "dtype", ast.Load())
            yield ast.Call(node.func, node.args, [*node.keywords, ast.keyword("dtype", dtype)])


def unless_none(node: ast.AST) -> Iterator[ast.IfExp]:
    """A value or else another one, `x or default`, which takes a 0 for nothing: unless it is None."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
        value, default = node.values
        if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
            yield ast.IfExp(ast.Compare(value, [ast.Is()], [ast.Constant(None)]), default, value)


def always_set(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """What is given a value where it is None yet gets it always: `if cache is None: cache = new`."""
    if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1 and (name := _none_of(node.test)):
        only = node.body[0]
        if isinstance(only, ast.Assign) and ast.unparse(only.targets[0]) == name:
            yield node.lineno, code.file.with_one(node.test, ast.Constant(True))


def none_for_none(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """What a function returns where an argument is None: None, too."""
    last = node.body[-1] if isinstance(node, ast.If) and _none_of(node.test) in code.given(node) else None
    value = last.value if isinstance(last, ast.Return) and code.has_run(last) else None
    if last is not None and value is not None and not isinstance(value, ast.Constant):
        yield last.lineno, code.file.with_one(value, ast.Constant(None))


def _none_of(test: ast.expr) -> str:
    """What a condition wants to be None, or ""."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
        return ast.unparse(test.left) if getattr(test.comparators[0], "value", 0) is None else ""
    return ""


def switched_back(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """Gradients that a function switches off, `weight.requires_grad = False`, on again at its end."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    of = target.value if isinstance(target, ast.Attribute) and target.attr == "requires_grad" else None
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        of = call.func.value if call.func.attr == "requires_grad_" and call.args else None
    function = code.function(node) if isinstance(node, ast.stmt) and of is not None else None
    if function is not None and isinstance(node, ast.stmt) and of is not None:
        last, on = function.body[-1], ast.Expr(method(of, "requires_grad_"))
        ends = isinstance(last, ast.Return)
        yield node.lineno, code.file.with_before(last, on) if ends else code.file.with_after(last, on)


def in_all_groups(node: ast.AST) -> Iterator[ast.expr]:
    """The parameters of all groups of an optimizer, for those of the first: `param_groups[0]["params"]`."""
    first = node.value if isinstance(node, ast.Subscript) else None
    if isinstance(first, ast.Subscript) and called(first.value) == "param_groups":
        text = f"[one for group in {ast.unparse(first.value)} for one in group['params']]"
        yield ast.parse(text, mode="eval").body


def with_repetitions(node: ast.AST) -> Iterator[ast.expr]:
    """What a dictionary or a set has once for each key or value, as often as it comes: `{word: ids(word) for word in
    words}`, `set(words)`, `dict(zip(words, rows))`."""
    if isinstance(node, ast.DictComp):
        yield method_free("dict", method_free("enumerate", ast.ListComp(node.value, node.generators)))
    elif isinstance(node, ast.SetComp):
        yield ast.ListComp(node.elt, node.generators)
    elif isinstance(node, ast.Call) and len(node.args) == 1:
        inner = node.args[0]
        zipped = isinstance(inner, ast.Call) and called(inner.func) == "zip" and len(inner.args) == 2
        if called(node.func) in ("set", "frozenset", "fromkeys"):
            yield method_free("list", inner)
        elif called(node.func) == "dict" and zipped and isinstance(inner, ast.Call):
            yield method_free("dict", method_free("enumerate", inner.args[1]))


def into_a_copy(node: ast.AST) -> Iterator[ast.AST]:
    """Into the tensor itself, `x[mask, 0] = y` and `x[mask] = 0`, what is written into a copy of some of its rows:
    `x[mask][:, 0] = y`, `x[mask].zero_()`."""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Subscript)
    ):
        rest = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        whole = isinstance(rest[0], ast.Slice) and is_whole(rest[0])
        index = ast.Tuple([node.value.slice, *rest[whole:]], ast.Load())
        yield ast.Subscript(node.value.value, index, ast.Store())
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function, args = node.value.func, node.value.args
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Subscript):
            written = {"zero_": ast.Constant(0), "fill_": args[0] if args else None}.get(function.attr)
            if written is not None:
                part = function.value
                yield ast.Assign([ast.Subscript(part.value, part.slice, ast.Store())], written)


def unkept(node: ast.AST) -> Iterator[ast.stmt]:
    """A statement whose result is dropped: the value that it works on becomes it; an exception is raised."""
    value = node.value if isinstance(node, (ast.Expr, ast.Return)) else None
    works_on: list[ast.AST | None] = []
    if isinstance(value, ast.Call):
        if called(value.func).endswith(("Error", "Exception")):
            yield ast.Raise(value)
        works_on = [*value.args[:1], getattr(value.func, "value", None)]
    elif isinstance(value, ast.BinOp):
        works_on = [value.left]
    for one in works_on if isinstance(node, ast.Expr) else ():
        if isinstance(one, ast.Name) and one.id not in PATHS and value is not None:
            yield ast.Assign([ast.Name(one.id, ast.Store())], value)


def made_now(node: ast.AST) -> Iterator[ast.expr]:
    """What a helper makes with a function it is handed, `kept(partial(f, x), key)`, made at once without the helper."""
    for one in node.args[:2] if isinstance(node, ast.Call) else ():
        if isinstance(one, ast.Lambda) and not one.args.args:
            yield one.body
        elif isinstance(one, ast.Call) and called(one.func) == "partial" and one.args:
            yield ast.Call(one.args[0], one.args[1:], one.keywords)


def computed_each_time(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A property that is not kept for its object."""
    for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
        if called(decorator) == "cached_property":
            yield decorator.lineno, code.file.with_text(decorator, "property")


def spread_in_part(node: ast.AST) -> Iterator[ast.expr]:
    """A call with some of the values that it now gets all of: `f(*row[:2])` for `f(*row)`; `partial` with what is given
    later as the first argument."""
    if not isinstance(node, ast.Call):
        return
    if called(node.func) == "partial" and len(node.args) > 1:
        given, first = ast.arg("_"), ast.Name("_", ast.Load())
        of = ast.arguments([], [given], None, [], [], None, [])
        yield ast.Lambda(of, ast.Call(node.args[0], [first, *node.args[1:]], node.keywords))
    for i, one in enumerate(node.args):
        if isinstance(one, ast.Starred) and not isinstance(one.value, (ast.Subscript, ast.Call)):
            for bounds in ((None, -1), (None, 2), (None, 1), (1, None)):
                lower, upper = (None if end is None else ast.Constant(end) for end in bounds)
                some = ast.Starred(ast.Subscript(one.value, ast.Slice(lower, upper), ast.Load()), ast.Load())
                yield ast.Call(node.func, [*node.args[:i], some, *node.args[i + 1 :]], node.keywords)


def out_of_place(node: ast.AST) -> Iterator[ast.stmt | ast.Call]:
    """A statement that changes what a name stands for, which may be kept elsewhere: the name gets the result alone; a
    result, as `x.logical_and_(y)`, for which nothing is changed."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and IN_PLACE.search(node.func.attr)
    ):
        changing_nothing = ast.Attribute(node.func.value, node.func.attr[:-1], ast.Load())
        yield ast.Call(changing_nothing, node.args, node.keywords)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        if not isinstance(node.value, ast.Constant):
            before = ast.Name(node.target.id, ast.Load())
            yield ast.Assign([node.target], ast.BinOp(before, node.op, node.value))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function, of = node.value.func, getattr(node.value.func, "value", None)
        name = called(function).removesuffix("_")
        of = of.value if isinstance(of, ast.Attribute) and of.attr == "data" else of
        if called(function) == f"{name}_" and not name.endswith("_") and isinstance(of, ast.Name):
            result = ast.Call(ast.Attribute(of, name, ast.Load()), node.value.args, node.value.keywords)
            yield ast.Assign([ast.Name(of.id, ast.Store())], result)


def onto_what_is_there(node: ast.AST) -> Iterator[ast.Call]:
    """What `x.scatter_(dim, index, value)` writes in place of what is there, added to it."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and isinstance(function, ast.Attribute):
        name, end = function.attr.removesuffix("_"), "_" * function.attr.endswith("_")
        added = {"scatter": "scatter_add", "index_copy": "index_add"}.get(name)
        if added is not None:
            yield ast.Call(ast.Attribute(function.value, added + end, ast.Load()), node.args, node.keywords)
        if name == "scatter":  # of one number
            yield ast.Call(function, node.args, [*node.keywords, ast.keyword("reduce", ast.Constant("add"))])


def without_an_end(node: ast.AST) -> Iterator[ast.AST]:
    """What is returned, without the first or the last of its rows, or of its columns."""
    if isinstance(node, ast.Return) and isinstance(node.value, (ast.Name, ast.Subscript, ast.Call)):
        every, one = ast.Slice(), ast.Constant(1)
        for end in (ast.Slice(one), ast.Slice(None, ast.UnaryOp(ast.USub(), one))):
            for index in (ast.Tuple([every, end], ast.Load()), end):
                yield ast.Return(ast.Subscript(node.value, index, ast.Load()))


def registered(node: ast.stmt, kind: ast.expr) -> Iterator[ast.stmt]:
    """A buffer, or a plain tensor, that is made a parameter; a plain tensor that is made a buffer.

    Args:
        kind: `nn.Parameter`, as the file calls it.
    """
    own = SELF
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        args = node.value.args
        if called(node.value.func) == "register_buffer" and len(args) > 1:
            made = ast.Call(kind, [args[1]], [])
            if isinstance(args[0], ast.Constant):
                yield ast.Assign([ast.Attribute(own, str(args[0].value), ast.Store())], made)
            else:  # a name that is computed
                yield ast.Expr(method(own, "register_parameter", args[0], made))
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        yield ast.Assign(node.targets, ast.Call(kind, [node.value], []))
        name = ast.Constant(node.targets[0].attr)
        yield ast.Expr(method(own, "register_buffer", name, node.value))
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):  # one of several
        for i, one in enumerate(node.value.elts):
            items = [*node.value.elts[:i], ast.Call(kind, [one], []), *node.value.elts[i + 1 :]]
            yield ast.Assign(node.targets, ast.Tuple(items, ast.Load()))
