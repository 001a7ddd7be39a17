"""What is taken for something like it: shapes for values, the first one for all, a whole root, a mask of numbers; a
switch that is off, a result that is kept under another name, a key by which the best one is found."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from grader.edits.code import Code
from grader.edits.edit_kinds import by_one
from grader.edits.parsed import nodes_of
from grader.edits.syntax import called, function_named

FUNCTIONS = {  # each means less than the other
    "isqrt": "sqrt",
    "NLLLoss": "CrossEntropyLoss",
    "nll_loss": "cross_entropy",
}
NUMBERS = ("uint8", "int8", "int16", "int32")  # dtypes in which a mask is neither bool nor added
CHOOSING = ("max", "min", "sorted", "nlargest", "nsmallest", "sort")
SIZES = ("shape", "size")
ENDING = (ast.If, ast.For, ast.While, ast.With)
MOST_METHODS = 3
MOST_NAMES = 4
MOST_ARGUMENTS = 4


def taken_for(node: ast.AST, code: Code) -> Iterator[ast.AST]:
    """An expression, or a statement, as it was meant."""
    if isinstance(node, ast.Call):
        name = called(node.func)
        if name in FUNCTIONS:
            yield ast.Call(function_named(node.func, FUNCTIONS[name]), node.args, node.keywords)
        yield from _with_another_switch(node) if name != "dataclass" else ()
        yield from _by_a_method(node, code)
        yield from _of_the_longest(node)
    elif isinstance(node, ast.Attribute) and node.attr in NUMBERS and called(node.value) == "torch":
        yield ast.Attribute(node.value, "bool", ast.Load())
    elif isinstance(node, (ast.Return, ast.If, ast.While)):
        yield from _of_all(node)
    elif isinstance(node, ast.Assign):
        yield from _kept(node, code)
        if isinstance(node.targets[0], ast.Name) and isinstance(node.value, (ast.Name, ast.Attribute)):
            yield from (ast.Assign(node.targets, one) for one in by_one(node.value))


def with_field_switched(node: ast.AST) -> Iterator[ast.AnnAssign]:
    """A field of a class that is on by default, and was off, or the other way round."""
    value = node.value if isinstance(node, ast.AnnAssign) else None
    if isinstance(node, ast.AnnAssign) and isinstance(value, ast.Constant) and isinstance(value.value, bool):
        yield ast.AnnAssign(node.target, node.annotation, ast.Constant(not value.value), node.simple)


def _with_another_switch(node: ast.Call) -> Iterator[ast.Call]:
    for i, word in enumerate(node.keywords):
        if isinstance(word.value, ast.Constant) and isinstance(word.value.value, bool):
            other = ast.keyword(word.arg, ast.Constant(not word.value.value))
            yield ast.Call(node.func, node.args, [*node.keywords[:i], other, *node.keywords[i + 1 :]])


def _of_the_longest(node: ast.Call) -> Iterator[ast.Call]:
    """`max(map(len, words))` for `len(words[0])`."""
    first = node.args[0] if called(node.func) == "len" and len(node.args) == 1 else None
    if isinstance(first, ast.Subscript) and isinstance(first.slice, ast.Constant) and first.slice.value == 0:
        lengths = ast.Call(ast.Name("map", ast.Load()), [node.func, first.value], [])
        yield ast.Call(ast.Name("max", ast.Load()), [lengths], [])


def values_compared(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """`a.equal(b)` for `a.shape == b.shape`: of what is kept for one input, another one of the same shape is not it."""
    inside = list(ast.walk(node)) if isinstance(node, ast.FunctionDef) else []
    checks = {id(one) for each in inside if isinstance(each, ast.Assert) for one in ast.walk(each)}
    for one in inside:
        if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Eq) and id(one) not in checks:
            of = [_owner_of_size(side) for side in (one.left, *one.comparators)]
            if len(of) == 2 and of[0] is not None and of[1] is not None:
                equal = ast.Call(ast.Attribute(of[0], "equal", ast.Load()), [of[1]], [])
                yield one.lineno, code.file.with_one(one, equal)


def _owner_of_size(node: ast.expr) -> ast.expr | None:
    of = node.func if isinstance(node, ast.Call) and not node.args else node
    return of.value if isinstance(of, ast.Attribute) and of.attr in SIZES else None


def _of_all(node: ast.Return | ast.If | ast.While) -> Iterator[ast.stmt]:
    """`all(ended)` for `ended[0]`, where it is a condition, or what a function returns."""
    value = node.value if isinstance(node, ast.Return) else node.test
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) and value.slice.value == 0:
        for name in ("all", "any"):
            every = ast.Call(ast.Name(name, ast.Load()), [value.value], [])
            if isinstance(node, ast.Return):
                yield ast.Return(every)
            else:
                yield type(node)(every, node.body, node.orelse)


def _kept(node: ast.Assign, code: Code) -> Iterator[ast.Assign]:
    """A value that gets a name by which nothing reads it: under a name that is read later."""
    for name in code.lost.get(id(node), ())[:MOST_NAMES]:
        yield ast.Assign([ast.Name(name, ast.Store())], node.value)


def in_one_chain(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """Two conditions one after the other, the second one with `elif`."""
    blocks = [
        getattr(one, field, None)
        for one in (ast.walk(node) if isinstance(node, ast.FunctionDef) else ())
        for field in ("body", "orelse")
    ]
    for block in blocks:
        for first, second in pairwise(block if isinstance(block, list) else ()):
            if isinstance(first, ast.If) and isinstance(second, ast.If) and not first.orelse:
                lines, column = list(code.file.lines), second.col_offset
                text = lines[second.lineno - 1]
                lines[second.lineno - 1] = text[:column] + b"el" + text[column:]
                yield second.lineno, b"".join(lines).decode()


def returned_after_all(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A function that gives nothing back, with what it made last; what only one branch returns, after both."""
    if isinstance(node, ast.FunctionDef) and not (node.name.startswith("__") or node.decorator_list):
        inside, last = list(ast.walk(node)), node.body[-1]
        made = [one for one in code.assigned.get(node, []) if isinstance(one.targets[0], ast.Name)]
        gives = any(isinstance(one, (ast.Return, ast.Yield, ast.YieldFrom)) for one in inside)
        if made and not gives and not isinstance(last, ast.Raise):
            value = ast.Name(called(made[-1].targets[0]), ast.Load())
            yield last.lineno, code.file.with_after(last, ast.Return(value))
        ends = [one for one in ast.walk(last) if isinstance(one, ast.Return) and one.value is not None]
        if len(ends) == 1 and isinstance(last, ENDING):
            yield ends[0].lineno, code.file.with_after(last, ast.Return(ends[0].value))


def _by_a_method(node: ast.Call, code: Code) -> Iterator[ast.Call]:
    """`max(found, key=lambda one: one.score(penalty))` for `... one.total)`: a method of the file's own classes, with
    arguments of the function around it that have the names of the method's."""
    for i, word in enumerate(node.keywords if called(node.func) in CHOOSING else ()):
        key = word.value if word.arg == "key" else None
        if isinstance(key, ast.Lambda) and isinstance(key.body, ast.Attribute):
            given = code.given(node)
            for one in _methods(code.tree)[:MOST_METHODS]:
                names = [each.arg for each in one.args.args[1:]]
                if {*names} <= {*given} and one.name != key.body.attr:
                    found = ast.Attribute(key.body.value, one.name, ast.Load())
                    args: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
                    new = ast.keyword("key", ast.Lambda(key.args, ast.Call(found, args, [])))
                    yield ast.Call(node.func, node.args, [*node.keywords[:i], new, *node.keywords[i + 1 :]])


def _methods(tree: ast.Module) -> list[ast.FunctionDef]:
    """Methods that give something back and take a few arguments, those that nothing calls first."""
    nodes = nodes_of(tree)
    read = {one.attr for one in nodes if isinstance(one, ast.Attribute)}
    found = [
        one
        for owner in nodes
        if isinstance(owner, ast.ClassDef)
        for one in owner.body
        if isinstance(one, ast.FunctionDef) and not one.decorator_list and not one.name.startswith("__")
        if len(one.args.args) <= MOST_ARGUMENTS and any(isinstance(n, ast.Return) for n in ast.walk(one))
    ]
    return sorted(found, key=lambda one: one.name in read)
