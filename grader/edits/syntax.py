"""Pieces of syntax: what a call calls and works on, and calls, names and numbers as expressions."""

from __future__ import annotations

import ast
import copy
import re
from typing import TypeGuard

from grader.edits.parsed import nodes_of

LAZY = (
    "accumulate", "chain", "enumerate", "filter", "filterfalse", "islice", "map", "reversed", "starmap", "zip"
)  # fmt: skip
LISTING = (
    "parameters",
    "named_parameters",
    "buffers",
    "named_buffers",
    "modules",
    "named_modules",
    "children",
)
"""Methods of a module that give an iterator."""
PATHS = {"self", "torch", "nn", "F", "math", "np"}
SELF = ast.Name("self", ast.Load())
TRAINING = ast.Attribute(SELF, "training", ast.Load())
FACTORIES = {
    "arange",
    "tensor",
    "zeros",
    "ones",
    "full",
    "empty",
    "eye",
    "linspace",
    "rand",
    "randn",
    "randint",
}
"""Functions of torch that make a tensor."""
DRAWING = re.compile(r"\b(rand\w*|uniform_?|normal_?|bernoulli_?|multinomial)\b")
"""In code that draws random numbers."""


def is_text(node: ast.AST) -> bool:
    """Whether a statement is nothing but a text, as a docstring is, or another constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def constant(value: object) -> ast.expr:
    """A number, also a negative one, another plain value, or a type, as an expression."""
    if isinstance(value, type):
        return ast.Name(value.__name__, ast.Load())
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)  # type: ignore[arg-type]


def called(node: ast.expr) -> str:
    """The name of what a call calls, without what it belongs to."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def arguments_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The names of a function's arguments, in order."""
    args = function.args
    return [one.arg for one in (*args.posonlyargs, *args.args, *args.kwonlyargs)]


def defaults_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.expr]:
    """The arguments of a function that have a default, with it."""
    args = function.args
    plain = [*args.posonlyargs, *args.args]
    pairs = [
        *zip(plain[::-1], args.defaults[::-1], strict=False),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    return {arg.arg: value for arg, value in pairs if value is not None}


def defaults_in(tree: ast.Module) -> list[tuple[str, ast.expr]]:
    """The arguments of all functions of a file that have a default, with it."""
    functions = (node for node in nodes_of(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return [one for function in functions for one in defaults_of(function).items()]


def method(of: ast.expr, name: str, *args: ast.expr) -> ast.Call:
    """A call of a value's method."""
    return ast.Call(ast.Attribute(of, name, ast.Load()), list(args), [])


def method_free(name: str, *args: ast.expr) -> ast.Call:
    """A call of a function by its name."""
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def in_each(made: ast.expr, times: ast.expr) -> ast.ListComp:
    """A list of something, made anew so many times."""
    each = ast.comprehension(ast.Name("_", ast.Store()), method_free("range", times), [], 0)
    return ast.ListComp(made, [each])


def loaded(target: ast.expr) -> ast.expr:
    """What a loop gives names to, as a value."""
    return ast.parse(ast.unparse(target), mode="eval").body


def is_whole(node: ast.Slice) -> bool:
    """Whether a slice is all of an axis."""
    return node.lower is None and node.upper is None and node.step is None


def replaced(node: ast.expr, name: str, by: ast.expr) -> ast.expr:
    """An expression with another one in place of a name."""

    class Other(ast.NodeTransformer):
        def visit_Name(self, one: ast.Name) -> ast.expr:
            return by if one.id == name and isinstance(one.ctx, ast.Load) else one

    return Other().visit(copy.deepcopy(node))  # type: ignore[no-any-return]


def renamed(node: ast.expr, old: str, new: str) -> ast.expr:
    """A copy of an expression with another name in place of one."""

    class Renamed(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.Name:
            return ast.Name(new, name.ctx) if name.id == old else name

    copied = ast.parse(ast.unparse(node), mode="eval").body
    found: ast.expr = Renamed().visit(copied)
    return found


def argument(node: ast.AST) -> ast.expr | None:
    """The value that a call works on: its first argument, or, of a value's method, this value."""
    if not isinstance(node, ast.Call):
        return None
    of = node.func.value if isinstance(node.func, ast.Attribute) else None
    if of is not None and not isinstance(of, (ast.Name, ast.Attribute)):
        return of
    return node.args[0] if node.args and not isinstance(node.args[0], ast.Starred) else None


def with_argument(node: ast.AST, value: ast.expr) -> ast.Call:
    """A call that works on another value."""
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute) and argument(node) is node.func.value:
        return ast.Call(ast.Attribute(value, node.func.attr, ast.Load()), node.args, node.keywords)
    return ast.Call(node.func, [value, *node.args[1:]], node.keywords)


def function_named(function: ast.expr, name: str) -> ast.expr:
    """Another function of the same module."""
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, name, ast.Load())
    return ast.Name(name, ast.Load())


def declared(node: ast.ClassDef) -> list[tuple[str, ast.expr | None]]:
    """The fields that a class declares (`width: int = 8`), with their defaults."""
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    return [(one.target.id, one.value) for one in fields if isinstance(one.target, ast.Name)]


def properties(node: ast.ClassDef) -> list[str]:
    """The names of a class's properties."""
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    return [one.name for one in methods if any("property" in called(by) for by in one.decorator_list)]


def needs_gradient(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether an expression makes a tensor with a gradient: `torch.zeros(n, requires_grad=True)`."""
    words = node.keywords if isinstance(node, ast.Call) and called(node.func) != "Parameter" else []
    return any(one.arg == "requires_grad" and getattr(one.value, "value", None) is True for one in words)


def copy_of(of: ast.expr) -> ast.expr:
    """What makes a copy of a value, whatever it is."""
    return ast.parse(f"__import__('copy').deepcopy({ast.unparse(of)})", mode="eval").body
