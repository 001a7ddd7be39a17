"""What names promise: arguments in the order of right code, an attribute for the argument of its name, each of several
names its own value; and what has another name of its kind, or one name where two were meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from grader.edits.code import Code
from grader.edits.parsed import nodes_of, replaced_parts
from grader.edits.syntax import renamed

MOST_NAMES = 4  # side by side
MOST_ALIKE = 3


def as_declared(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A function with its arguments in the order that right code has them in."""
    declared = _right(node, code) if isinstance(node, ast.FunctionDef) else None
    if not isinstance(node, ast.FunctionDef) or declared is None:
        return
    own, order = ([one.arg for one in each.args.args] for each in (node, declared))
    if own != order and sorted(own) == sorted(order):
        yield from _in_order(node, code, [own.index(name) for name in order])


def optional_exchanged(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """Two optional arguments of a function, one after the other, in the other order."""
    if isinstance(node, ast.FunctionDef):
        count = len(node.args.args)
        yield from _exchanged(node, code, range(count - len(node.args.defaults), count))


def exchanged_in_helper(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """Two arguments without a default of a function that right code has not got, in the other order."""
    if isinstance(node, ast.FunctionDef) and _right(node, code) is None:
        count = len(node.args.args) - len(node.args.defaults)
        first = int(node.args.args[:1] != [] and node.args.args[0].arg == "self")
        yield from _exchanged(node, code, range(first, count))


def _exchanged(node: ast.FunctionDef, code: Code, which: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Each two neighbours of these arguments exchanged."""
    for one, other in pairwise(which):
        order = list(range(len(node.args.args)))
        order[one], order[other] = other, one
        yield from _in_order(node, code, order)


def _in_order(node: ast.FunctionDef, code: Code, order: Sequence[int]) -> Iterator[tuple[int, str]]:
    """A function with its arguments in another order, if it can be: none with a default before one without."""
    args, defaults = node.args.args, node.args.defaults
    values = [None] * (len(args) - len(defaults)) + defaults
    moved = [i for i, number in enumerate(order) if i != number]
    first, last = args[moved[0]], values[moved[-1]] or args[moved[-1]]
    given = [values[number] is not None for number in order]
    if given != sorted(given) or node.args.posonlyargs:
        return
    between = ast.Name("_", ast.Load(), lineno=first.lineno, col_offset=first.col_offset)
    between.end_lineno, between.end_col_offset = last.end_lineno, last.end_col_offset
    written = [
        ast.unparse(args[number]) + ("" if (value := values[number]) is None else f"={ast.unparse(value)}")
        for number in order[moved[0] : moved[-1] + 1]
    ]
    lines = "\n" * ((last.end_lineno or first.lineno) - first.lineno)  # other lines keep their numbers
    yield first.lineno, code.file.with_text(between, ", ".join(written) + lines)


def _right(node: ast.FunctionDef, code: Code) -> ast.FunctionDef | None:
    """The function of right code with this name, in a class of the same name; None if there is none."""
    tree, right = code.trees
    own = next((one.name for one in nodes_of(tree) if isinstance(one, ast.ClassDef) and node in one.body), "")
    classes = (one for one in nodes_of(right) if isinstance(one, ast.ClassDef) and one.name == own)
    body = next((one.body for one in classes), []) if own else right.body
    functions = (one for one in body if isinstance(one, ast.FunctionDef) and one.name == node.name)
    return next(functions, None)


def argument_of_its_name(node: ast.AST, code: Code) -> Iterator[ast.Assign]:
    """An attribute that gets another argument, or a number, gets the argument of its name: `self.width = width`."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if (
        isinstance(node, ast.Assign)
        and isinstance(target, ast.Attribute)
        and isinstance(node.value, (ast.Name, ast.Constant))
        and target.attr in code.given(node)
        and target.attr != getattr(node.value, "id", "")
    ):
        yield ast.Assign(node.targets, ast.Name(target.attr, ast.Load()))


def each_of_its_own(node: ast.AST) -> Iterator[ast.Assign]:
    """Several names that get a value each, `k, v = f(k), f(k)`: each one of its own, as the others have; several that
    get one object, `keys = values = Buffer()`: one each."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if isinstance(node, ast.Assign) and len(node.targets) > 1 and isinstance(node.value, ast.Call):
        many = ast.Tuple([node.value] * len(node.targets), ast.Load())
        yield ast.Assign([ast.Tuple(node.targets, ast.Store())], many)
    if not isinstance(node, ast.Assign) or not isinstance(target, ast.Tuple):
        return
    value, names = node.value, [ast.unparse(one) for one in target.elts]
    each = value.generators[0] if isinstance(value, (ast.GeneratorExp, ast.ListComp)) else None
    values = value if each is None else each.iter
    if not isinstance(values, ast.Tuple) or len(names) != len(values.elts) or len(names) > MOST_NAMES:
        return
    read = [{one.id for one in ast.walk(one) if isinstance(one, ast.Name)} for one in values.elts]
    if not any(name in its for name, its in zip(names, read, strict=True)):
        return
    for i, (name, its) in enumerate(zip(names, read, strict=True)):
        for other in sorted(its & {*names} - {name}) if name not in its else ():
            new: ast.expr = ast.Tuple(
                [*values.elts[:i], renamed(values.elts[i], other, name), *values.elts[i + 1 :]], ast.Load()
            )
            yield ast.Assign(node.targets, new if each is None else replaced_parts(value, (values, new)))


def unpacked_otherwise(node: ast.AST) -> Iterator[ast.Assign]:
    """Names that get the parts of something, `rows, columns = x.shape`, with two of them exchanged."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if (
        isinstance(node, ast.Assign)
        and isinstance(target, ast.Tuple)
        and not isinstance(node.value, ast.Tuple)
    ):
        for one, other in combinations(range(min(len(target.elts), MOST_NAMES)), 2):
            names = list(target.elts)
            names[one], names[other] = names[other], names[one]
            yield ast.Assign([ast.Tuple(names, ast.Store())], node.value)


def of_its_type(node: ast.AST, code: Code) -> Iterator[ast.Name]:
    """Another argument of the function with the same type, the nearest first: `pad` for `eos`."""
    function = code.function(node) if isinstance(node, ast.Name) and id(node) in code.values else None
    if not isinstance(node, ast.Name) or function is None:
        return
    args = [one for one in function.args.args if one.annotation is not None]
    at = next((i for i, one in enumerate(args) if one.arg == node.id), None)
    types = ["" if one.annotation is None else ast.unparse(one.annotation) for one in args]
    alike = [] if at is None else [i for i, kind in enumerate(types) if kind == types[at] and i != at]
    for i in sorted(alike, key=lambda i: abs(i - (at or 0)))[:MOST_ALIKE]:
        yield ast.Name(args[i].arg, ast.Load())


def under_one_name(node: ast.AST, code: Code) -> Iterator[str]:
    """A local that each round of a loop makes of another name, `out = step(x)`, under that name: `x = step(x)`, also
    where it is read."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    function = code.function(node) if isinstance(node, ast.Assign) else None
    if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name) or function is None:
        return
    inside = list(ast.walk(function))
    loops = [one for one in inside if isinstance(one, (ast.For, ast.While))]
    if not any(node is one for loop in loops for one in ast.walk(loop)):
        return
    own = [one for one in inside if isinstance(one, ast.Name) and one.id == target.id]
    made_of = [one.id for one in ast.walk(node.value) if isinstance(one, ast.Name) and id(one) in code.values]
    for name in [one for one in dict.fromkeys(made_of) if one not in (target.id, "self")][:MOST_ALIKE]:
        yield code.file.with_all([(one, ast.Name(name, ast.Load())) for one in own])
