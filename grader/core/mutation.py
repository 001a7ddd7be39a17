"""Operators that change one thing in a file: each gives all the changed files that it can make of one.

Statements keep their lines: only the text of the changed expression differs, so a line number means the same before
and after.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = Callable[[ast.AST], Iterator[ast.AST]]

SWAPPED: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.LtE: (ast.Lt,),
    ast.GtE: (ast.Gt,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
OTHER_CALLS = {
    "relu": ("gelu", "tanh"),
    "softmax": ("log_softmax", "sigmoid"),
    "log_softmax": ("softmax",),
    "mean": ("sum",),
    "sin": ("cos",),
    "cos": ("sin",),
    "argmax": ("argmin",),
    "tril": ("triu",),
    "square": ("abs",),
    "rsqrt": ("sqrt",),
    "sqrt": ("log",),
    "max": ("min",),
    "min": ("max",),
    "all": ("any",),
    "zeros": ("ones",),
    "ones": ("zeros",),
    "cat": (),
    "flatten": (),
}
TWICE = {"tril", "sqrt", "square", "softmax", "relu", "transpose", "log_softmax", "sin", "cos"}
JOINING = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)
UNMADE = {"__init__", "super", "isinstance", "range", "len"}


@dataclass(frozen=True)
class Mutant:
    """A changed file: the operator, the lines of the change, and the new text."""

    operator: str
    line: int
    end_line: int
    text: str


def mutants(text: str) -> list[Mutant]:
    """All mutants of a file, in the order of its lines, without repeats."""
    tree = ast.parse(text)
    found: dict[str, Mutant] = {}
    hints = {id(part) for node in ast.walk(tree) for hint in _annotations(node) for part in ast.walk(hint)}
    nodes = [node for node in ast.walk(tree) if id(node) not in hints]
    for operator, change in OPERATORS.items():
        for node in nodes:
            for changed in change(node):
                one = _replaced(text, node, changed)
                if one is not None and one != text and one not in found:
                    found[one] = Mutant(operator, node.lineno, node.end_lineno, one)  # type: ignore[attr-defined]
    for mutant in _scoped(tree, text):
        found.setdefault(mutant.text, mutant)
    return sorted(found.values(), key=lambda one: (one.line, one.operator, one.text))


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    """Types that say something to people alone."""
    for name in ("annotation", "returns"):
        if getattr(node, name, None) is not None:
            yield getattr(node, name)


def _replaced(text: str, node: ast.AST, changed: ast.AST) -> str | None:
    """The text with the node's own part written anew; None if that is not Python.

    What took several lines is followed by empty ones, or by continued ones inside a statement: no other line moves.
    """
    lines = text.encode().splitlines(keepends=True)
    if not isinstance(node, (ast.expr, ast.stmt)) or node.end_lineno is None:
        return None
    start, end, first, last = node.lineno - 1, node.end_lineno - 1, node.col_offset, node.end_col_offset
    new = ast.unparse(ast.fix_missing_locations(changed))
    if isinstance(node, ast.expr) and isinstance(changed, (ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp)):
        new = f"({new})"
    if "\n" in new:
        return None
    before, after = lines[start][:first].decode(), lines[end][last:].decode()
    if isinstance(node, ast.stmt):
        written = f"{before}{new}{after.rstrip()}\n" + "\n" * (end - start)
    else:
        written = before + new + " \\\n" * (end - start) + after
    whole = b"".join(lines[:start]).decode() + written + b"".join(lines[end + 1 :]).decode()
    try:
        ast.parse(whole)
    except SyntaxError:
        return None
    return whole


def _dim(node: ast.AST) -> Iterator[ast.AST]:
    """dim=-1 -> dim=-2, and the other way round."""
    if isinstance(node, ast.Call):
        for index, word in enumerate(node.keywords):
            number = _number(word.value)
            if word.arg in ("dim", "axis") and isinstance(number, int):
                changed = copy.deepcopy(node)
                changed.keywords[index].value = _constant(_other_dim(number))
                yield changed


def _other_dim(dim: int) -> int:
    return {-1: -2, -2: -1, 0: 1, 1: 0, 2: 1}.get(dim, dim - 1)


def _constants(node: ast.AST) -> Iterator[ast.AST]:
    """Another number; an index off by one."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        yield _constant(not value)
    elif isinstance(value, (int, float)):
        yield _constant(value + 1)
        if value not in (0, 1):
            yield _constant(-value if value < 3 else value * 2)


def _operators(node: ast.AST) -> Iterator[ast.AST]:
    """Another arithmetic operator."""
    if isinstance(node, ast.BinOp):
        for other in SWAPPED.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)


def _operands(node: ast.AST) -> Iterator[ast.AST]:
    """Operands in the other order, where that matters."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow)):
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
    if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == 2 and isinstance(node.ctx, ast.Load):
        yield type(node)(node.elts[::-1], ast.Load())


def _comparisons(node: ast.AST) -> Iterator[ast.AST]:
    """Another comparison."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARED.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)


def _signs(node: ast.AST) -> Iterator[ast.AST]:
    """A sign, or an inversion, left out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert, ast.Not)):
        yield node.operand


def _other_calls(node: ast.AST) -> Iterator[ast.AST]:
    """Another activation, reduction or function of the same arguments."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        for other in OTHER_CALLS.get(node.func.attr, ()):
            if other != "gelu" or (isinstance(node.func.value, ast.Name) and node.func.value.id == "F"):
                yield ast.Call(ast.Attribute(node.func.value, other, ast.Load()), node.args, node.keywords)


def _left_out(node: ast.AST) -> Iterator[ast.AST]:
    """A call left out: x.f(...) -> x, f(x) -> x."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Attribute, ast.Name)):
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    if name in UNMADE or name[0].isupper():
        return
    of_module = isinstance(node.func, ast.Attribute) and (
        isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("torch", "F", "math", "self", "nn", "model")
    )
    if isinstance(node.func, ast.Attribute) and not of_module:
        yield node.func.value
    elif node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]


def _doubled(node: ast.AST) -> Iterator[ast.AST]:
    """A method of one value twice: x.f() -> x.f().f()."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr in TWICE and not isinstance(node.func.value, ast.Name):
        yield ast.Call(ast.Attribute(node, node.func.attr, ast.Load()), node.args, node.keywords)


def _operand_left_out(node: ast.AST) -> Iterator[ast.AST]:
    """One side of a sum, a product or a conjunction alone."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (*JOINING, ast.Sub, ast.Div)):
        yield node.left
        if isinstance(node.op, JOINING):
            yield node.right


def _keywords(node: ast.AST) -> Iterator[ast.AST]:
    """A keyword argument dropped."""
    if isinstance(node, ast.Call):
        for index in range(len(node.keywords)):
            yield ast.Call(node.func, node.args, node.keywords[:index] + node.keywords[index + 1 :])


def _arguments(node: ast.AST) -> Iterator[ast.AST]:
    """The last of several positional arguments dropped."""
    if isinstance(node, ast.Call) and len(node.args) >= 2 and not isinstance(node.args[-1], ast.Starred):
        yield ast.Call(node.func, node.args[:-1], node.keywords)


def _slices(node: ast.AST) -> Iterator[ast.AST]:
    """A bound of a slice left out."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        bounds = node.slice
        for left in (ast.Slice(None, bounds.upper, bounds.step), ast.Slice(bounds.lower, None, bounds.step)):
            yield ast.Subscript(node.value, left, ast.Load())


def _branches(node: ast.AST) -> Iterator[ast.AST]:
    """Always one branch of a conditional expression."""
    if isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """A statement left out."""
    if isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and "__init__" not in ast.dump(node.value)
    ):
        yield ast.Pass()
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.value)):
            yield ast.Pass()


def _detached(node: ast.AST) -> Iterator[ast.AST]:
    """A product cut off from its gradient."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        yield ast.Call(ast.Attribute(node, "detach", ast.Load()), [], [])


OPERATORS: dict[str, Change] = {
    "another dim": _dim,
    "another constant": _constants,
    "another operator": _operators,
    "operand order": _operands,
    "another comparison": _comparisons,
    "sign or inversion left out": _signs,
    "another function": _other_calls,
    "call left out": _left_out,
    "call doubled": _doubled,
    "operand left out": _operand_left_out,
    "keyword dropped": _keywords,
    "argument dropped": _arguments,
    "bound of a slice left out": _slices,
    "one branch": _branches,
    "statement left out": _statements,
    "detached": _detached,
}


def _scoped(tree: ast.AST, text: str) -> Iterator[Mutant]:
    """A wrong variable: another argument, or another local of tensors, of the same function."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        kinds = {
            arg.arg: ast.unparse(arg.annotation) for arg in function.args.args if arg.annotation is not None
        }
        made = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
        for name in made:
            for other, kind in kinds.items():
                if isinstance(name.ctx, ast.Load) and other != name.id and kinds.get(name.id) == kind:
                    one = _replaced(text, name, ast.Name(other, ast.Load()))
                    if one is not None:
                        yield Mutant("wrong variable", name.lineno, name.lineno, one)


def _constant(value: object) -> ast.expr:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)  # type: ignore[arg-type]


def _number(node: ast.AST) -> object:
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        return -node.operand.value  # type: ignore[operator]
    return node.value if isinstance(node, ast.Constant) else None
