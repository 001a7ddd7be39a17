"""Calls that lack an option; and what nothing reads, where it may belong: an argument, a local, a helper."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import TypeVar

from grader.edits.code import Code
from grader.edits.idle import overwritten, unread
from grader.edits.parsed import nodes_of, replaced_parts
from grader.edits.syntax import PATHS, SELF, TRAINING, called, method

MOST_OPTIONS = 6  # of one call
MOST_UNREAD = 4
MOST_TESTS = 8
MOST_COMPUTED = 12  # of one number
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult, ast.BitAnd, ast.BitOr)
JOINING = (ast.Add, ast.BitAnd, ast.BitOr)
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
FUNCTIONAL = {"F": "F", "nn": "nn.functional", "torch": "torch.nn.functional"}
STEPS = (ast.Name, ast.Call, ast.BinOp, ast.Subscript)  # that may go through a part
VALUES = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BinOp, ast.Constant)

SIZE = re.compile("size|shape", re.IGNORECASE)  # in the name of a local: where a result may lack its layout

T = TypeVar("T", ast.IfExp, ast.Compare)


class LeftOut:
    """What may have been left out in one file."""

    def __init__(self, code: Code) -> None:
        self._trees, self._scopes = code.trees, code.scopes
        self._overwritten, self._unread = cache(overwritten), cache(unread)
        self._options: dict[str, dict[str, ast.keyword]] = {}  # of what is called, as text
        for node in (node for tree in code.trees for node in nodes_of(tree)):
            if isinstance(node, ast.Call):
                options = self._options.setdefault(called(node.func), {})
                options |= {ast.unparse(word): word for word in node.keywords if word.arg is not None}

    def options(self, node: ast.Call) -> Iterator[ast.Call]:
        """A call with a keyword that another call of a function of the same name has."""
        given = {word.arg for word in node.keywords}
        words = [word for word in self._options[called(node.func)].values() if word.arg not in given]
        for word in words[:MOST_OPTIONS]:
            yield ast.Call(node.func, node.args, [*node.keywords, word])

    def unread(self, node: ast.AST) -> Iterator[ast.AST]:
        """What its function never reads, as a further index, in the place of a value, or worked into it; a helper, or
        a part of the class, that nothing calls."""
        if isinstance(node, ast.Subscript):  # also where something is stored
            index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for name in (*self._scopes.unread_locals(node.lineno), *self._scopes.unread_parts(node.lineno)):
                more = ast.Tuple([*index, ast.Name(name, ast.Load())], ast.Load())
                yield ast.Subscript(node.value, more, node.ctx)
        if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Tuple):
            for name in self._scopes.unread_locals(node.lineno):
                yield ast.Return(ast.Tuple([node.value, ast.Name(name, ast.Load())], ast.Load()))
        if not isinstance(node, VALUES) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return
        if isinstance(getattr(node, "value", 0), str):
            return
        arguments = self._scopes.unread(node.lineno)[:MOST_UNREAD]
        for name in arguments:
            value = ast.Name(name, ast.Load())
            if isinstance(node, (ast.Constant, ast.Name)):  # before conditions, which may always be met
                yield value
            elif isinstance(node, ast.Call):
                yield ast.Call(node.func, [*node.args, value], node.keywords)
                yield ast.Call(node.func, node.args, [*node.keywords, ast.keyword(name, value)])
            yield from self._branches.get(name, ())
            for made in self._elsewhere(name, node):
                yield made
                yield from (ast.BinOp(node, operator(), made) for operator in JOINING)
            for made in self._made_of(name, node.lineno):
                yield made
                yield from (ast.BinOp(node, operator(), made) for operator in OPERATORS)
            if isinstance(node, ast.Name):
                for test in self._scopes.of_objects(node.lineno)[:MOST_TESTS]:
                    yield from (ast.IfExp(test, value, node), ast.IfExp(test, node, value))
        if isinstance(node, ast.Attribute):  # in place of another one
            yield from self._scopes.unread_attributes(node.lineno)[:MOST_UNREAD]
        for name in self._scopes.unread_locals(node.lineno):
            yield from _with(node, ast.Name(name, ast.Load()))
            yield from self._made_of(name, node.lineno)
            if SIZE.search(name) and isinstance(node, (ast.Name, ast.Call)):
                yield method(node, "reshape", ast.Name(name, ast.Load()))
        for helper in self._uncalled:
            yield ast.Call(helper, [node], [])
            if isinstance(node, ast.Name):
                yield helper
            for name in arguments:
                yield from (
                    ast.IfExp(test, *some)
                    for test in self._tests.get(name, ())
                    for some in ((node, helper), (helper, node))
                )

    def unread_near(self, node: ast.AST) -> Iterator[ast.expr]:
        """A value with what a loop around it gets each time, and nothing reads, added to it, or as a factor; for a
        number, a size that nothing reads; for an attribute, one that nothing reads."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield from (ast.Name(name, ast.Load()) for name in self._scopes.unread_parts(node.lineno))
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            if isinstance(node, ast.Attribute) and called(node.value) == "self":
                yield from self._scopes.unread_attributes(node.lineno)[:MOST_UNREAD]
            function = self._scopes.function(node.lineno)
            for name, loop in () if function is None or id(node) in self._called else self._unread(function):
                if isinstance(loop, ast.For) and loop.lineno < node.lineno <= (loop.end_lineno or 0):
                    value = ast.Name(name, ast.Load())
                    yield from (ast.BinOp(node, operator(), value) for operator in (ast.Add, ast.Mult))

    def not_passed_over(self, node: ast.AST) -> Iterator[ast.Pass]:
        """Rounds that a condition passes over, or ends, which go on."""
        if (
            isinstance(node, ast.If)
            and not node.orelse
            and isinstance(node.body[0], (ast.Continue, ast.Break))
        ):
            yield ast.Pass()

    def never_taken_back(self, node: ast.AST) -> Iterator[ast.Assign]:
        """What a condition sets to True, and nothing to False again: it gets the condition itself."""
        if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1:
            only = node.body[0]
            if (
                isinstance(only, ast.Assign)
                and isinstance(only.value, ast.Constant)
                and only.value.value is True
            ):
                yield ast.Assign(only.targets, node.test)

    def computed(self, node: ast.AST) -> Iterator[ast.Assign]:
        """What right code computes of names that a line knows, for a number that is all that a local gets."""
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            known = set(self._scopes.names(node.lineno))
            if isinstance(node.targets[0], ast.Name) and isinstance(node.value.value, (int, float)):
                found = [one for one, names in self._computed if names and names <= known]
                yield from (ast.Assign(node.targets, one) for one in found[:MOST_COMPUTED])

    def as_unpacked(self, node: ast.AST) -> Iterator[ast.Return]:
        """One thing that a function returns together with its like, where as many are unpacked: `self.keys[:n]` and
        `self.values[:n]`, another name, what another call gives."""
        value = node.value if isinstance(node, ast.Return) else None
        function = None if value is None else self._scopes.function(value.lineno)
        if value is None or function is None or isinstance(value, ast.Tuple):
            return
        for like in self._likes(value) if self._unpacked.get(function.name) == 2 else ():
            for two in ([value, like], [like, value]):
                yield ast.Return(ast.Tuple(two, ast.Load()))

    def _likes(self, value: ast.expr) -> Iterator[ast.expr]:
        """An expression of another name, or attribute, that is known there."""
        line = value.lineno
        for one in ast.walk(value):
            others: list[ast.expr] = []
            if isinstance(one, ast.Name) and one.id not in {*PATHS, "self"}:
                others = [ast.Name(name, ast.Load()) for name in self._scopes.names(line) if name != one.id]
            elif isinstance(one, ast.Attribute) and called(one.value) == "self":
                names = [name for name in self._scopes.attributes(line) if name != one.attr]
                others = [ast.Attribute(SELF, name, ast.Load()) for name in names]
            yield from (replaced_parts(value, (one, new)) for new in others[:MOST_OPTIONS])

    @cached_property
    def _unpacked(self) -> dict[str, int]:
        """By function, in how many parts its result is taken apart."""
        nodes = [one for one in nodes_of(self._trees[0]) if isinstance(one, ast.Assign)]
        pairs = [(one.targets[0], one.value) for one in nodes if isinstance(one.value, ast.Call)]
        return {called(call.func): len(to.elts) for to, call in pairs if isinstance(to, ast.Tuple)}

    @cached_property
    def _called(self) -> set[int]:
        return {id(one.func) for one in nodes_of(self._trees[0]) if isinstance(one, ast.Call)}

    def unused(self, node: ast.AST) -> Iterator[ast.AST]:
        """A value that goes through a part of the class that no line has used, or through it in place of another; a
        local that nothing reads as the attribute of this name, which something reads."""
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            end = node.end_lineno or node.lineno
            if isinstance(target, ast.Name) and self._scopes.is_attribute_read_instead(target, end):
                yield ast.Assign([ast.Attribute(SELF, target.id, ast.Store())], node.value)
        loaded = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if isinstance(node, STEPS) and loaded and getattr(node, "id", "") not in PATHS:
            for part in self._scopes.unused_parts(node.lineno)[:MOST_UNREAD]:
                if isinstance(node, ast.Call) and called(getattr(node.func, "value", node)) == "self":
                    yield ast.Call(part, node.args, node.keywords)
                yield ast.Call(part, [node], [])

    def worked_in(self, node: ast.AST) -> Iterator[ast.AST]:
        """A value together with what nothing reads: an argument as an operand, an attribute as the rate of dropout."""
        if not isinstance(node, VALUES) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return
        for name in self._scopes.unread(node.lineno)[:MOST_UNREAD]:
            if not isinstance(node, ast.Constant):
                yield from _with(node, ast.Name(name, ast.Load()))
        for rate in self._scopes.unread_attributes(node.lineno)[:MOST_UNREAD]:
            yield from (ast.Call(one, [node, rate, TRAINING], []) for one in self._dropout)

    def kept(self, node: ast.AST) -> Iterator[ast.Assign]:
        """An argument that gets another value before anything has read it, which gets it only if it is None."""
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name):
            function = self._scopes.function(node.lineno)
            if function is not None and (target.id, node.lineno) in self._overwritten(function):
                name = ast.Name(target.id, ast.Load())
                given = ast.Compare(name, [ast.Is()], [ast.Constant(None)])
                yield ast.Assign(node.targets, ast.IfExp(given, node.value, name))

    @cached_property
    def _dropout(self) -> list[ast.expr]:
        """Return dropout as a function, as the file can call it."""
        known = {
            a.asname or a.name
            for node in nodes_of(self._trees[0])
            if isinstance(node, IMPORTS)
            for a in node.names
        }
        paths = [path for name, path in FUNCTIONAL.items() if name in known]
        return [ast.parse(f"{path}.dropout", mode="eval").body for path in paths[:1]]

    @cached_property
    def _uncalled(self) -> list[ast.expr]:
        """Functions and classes of the file that nothing in it names, and that right code has not."""
        used = {one.id for one in nodes_of(self._trees[0]) if isinstance(one, ast.Name)}
        used |= {one.name for one in self._trees[-1].body if isinstance(one, DEFINITIONS)}
        classes = [one for one in nodes_of(self._trees[0]) if isinstance(one, ast.ClassDef)]
        methods = [one for node in classes for one in node.body]
        defined = [one for one in nodes_of(self._trees[0]) if isinstance(one, DEFINITIONS)]
        found = [one for one in defined if one not in methods]
        names = [one.name for one in found if one.name not in used and not one.decorator_list]
        return [ast.Name(name, ast.Load()) for name in names[:MOST_UNREAD]]

    def _elsewhere(self, name: str, node: ast.expr) -> Iterator[ast.expr]:
        """What the file computes of a name in another function, where a line knows all other names in it too."""
        known = {name, *self._scopes.names(node.lineno)}
        function = self._scopes.function(node.lineno)
        for other, names in self._computed_here:
            if name in names <= known and self._scopes.function(other.lineno) is not function:
                yield other

    @cached_property
    def _computed_here(self) -> list[tuple[ast.expr, set[str]]]:
        """What the file computes with calls and operators, and the names in it that are no functions or modules."""
        general = {*PATHS, *(one.name for one in self._trees[0].body if isinstance(one, DEFINITIONS))}
        found = [
            one for one in nodes_of(self._trees[0]) if isinstance(one, (ast.Call, ast.BinOp, ast.Compare))
        ]
        return [(one, {n.id for n in ast.walk(one) if isinstance(n, ast.Name)} - general) for one in found]

    def _made_of(self, name: str, line: int) -> list[ast.BinOp]:
        """Return what right code computes of an argument, and of other names that a line knows."""
        known = {name, *self._scopes.names(line)}
        return [node for node, names in self._computed if name in names <= known]

    @cached_property
    def _computed(self) -> list[tuple[ast.BinOp, set[str]]]:
        """Return what right code computes with operators, and the names in it."""
        found = (one for one in ast.walk(self._trees[-1]) if isinstance(one, ast.BinOp))
        return [(one, {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}) for one in found]

    @cached_property
    def _branches(self) -> dict[str, list[ast.IfExp]]:
        """By the argument that they look at, what right code decides."""
        return self._by_name([one for one in ast.walk(self._trees[-1]) if isinstance(one, ast.IfExp)])

    @cached_property
    def _tests(self) -> dict[str, list[ast.Compare]]:
        """By the argument that they look at, conditions of right code."""
        return self._by_name([one for one in ast.walk(self._trees[-1]) if isinstance(one, ast.Compare)])

    @staticmethod
    def _by_name(nodes: Sequence[T]) -> dict[str, list[T]]:
        found: dict[str, list[T]] = {}
        for node in nodes:
            test = node.test if isinstance(node, ast.IfExp) else node
            for name in {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}:
                found.setdefault(name, []).append(node)
        return found


def _with(node: ast.expr, value: ast.Name) -> Iterator[ast.expr]:
    """A value and another one as the operands of something, or the arguments of a call."""
    if isinstance(node, ast.Constant):
        yield value
    elif isinstance(node, ast.Call):
        yield ast.Call(node.func, [*node.args, value], node.keywords)
    yield from (ast.BinOp(node, operator(), value) for operator in OPERATORS)
    yield ast.BinOp(node, ast.Pow(), ast.UnaryOp(ast.USub(), value))
    yield ast.BinOp(value, ast.Sub(), node)
    yield ast.BinOp(value, ast.Div(), node)
