"""Where a file computes with an argument, followed through names, attributes, and calls of its own functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.edits.parsed import nodes_of
from grader.edits.syntax import arguments_of, called, defaults_of

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Use:
    """A line that computes with an argument, and the names of what it is combined with there."""

    line: int
    beside: frozenset[str]


class _Followed:
    """An argument in all functions that it gets to: under which names, and in which attributes."""

    def __init__(self, tree: ast.Module) -> None:
        self._functions: dict[str, list[Function]] = {}
        for node in nodes_of(tree):
            if isinstance(node, ast.ClassDef):
                self._functions[node.name] = [
                    one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"
                ]
            elif isinstance(node, Function):
                self._functions.setdefault(node.name, []).append(node)
        self.names = set[tuple[Function, str]]()
        self.attributes = set[str]()

    def begin(self, parts: list[Function], name: str) -> None:
        """Follow an argument of functions until it gets no further."""
        self.names |= {(one, name) for one in parts if name in arguments_of(one)}
        before = -1
        while before < (before := len(self.names) + len(self.attributes)):
            for function in self.functions():
                self._follow(function)

    def functions(self) -> list[Function]:
        """All of the file's, or those alone that can have it."""
        own = [one for some in self._functions.values() for one in some]
        return own if self.attributes else list(dict.fromkeys(function for function, _ in self.names))

    def is_it(self, node: ast.AST, function: Function) -> bool:
        """Whether an expression is the argument itself."""
        if isinstance(node, ast.Attribute):
            return node.attr in self.attributes
        return isinstance(node, ast.Name) and (function, node.id) in self.names

    def is_own(self, call: ast.Call) -> bool:
        """Whether a call is one of the file's own functions, which are followed."""
        return called(call.func) in self._functions

    def _follow(self, function: Function) -> None:
        for node in ast.walk(function):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                if self.is_it(node.value, function):
                    self._name(function, node.targets if isinstance(node, ast.Assign) else [node.target])
            elif isinstance(node, ast.Call):
                for target in self._functions.get(called(node.func), ()):
                    self._give(function, node, target)

    def _name(self, function: Function, targets: list[ast.expr]) -> None:
        for target in targets:
            if isinstance(target, ast.Name):
                self.names.add((function, target.id))
            elif isinstance(target, ast.Attribute):
                self.attributes.add(target.attr)

    def _give(self, function: Function, call: ast.Call, target: Function) -> None:
        """Follow it from a call into the function that is called."""
        plain = [arg.arg for arg in (*target.args.posonlyargs, *target.args.args)]
        bound = plain[1:] if plain[:1] == ["self"] else plain
        pairs = [*zip(bound, call.args, strict=False), *((word.arg, word.value) for word in call.keywords)]
        for name, value in pairs:
            if name is not None and self.is_it(value, function):
                self.names.add((target, name))


def uses(tree: ast.Module, component: str, name: str) -> list[Use]:
    """Lines that compute with an argument of a function, or of a class's methods, in the order of the file.

    To give it on, to keep it, and to compare it is no use.
    """
    followed = _Followed(tree)
    followed.begin(_parts_of(tree, component), name)
    found: dict[int, set[str]] = {}
    for function in followed.functions():
        for node in ast.walk(function):
            for one, beside in _operands(node):
                own = isinstance(node, ast.Call) and followed.is_own(node)
                if followed.is_it(one, function) and not own:
                    line = getattr(node, "lineno", function.lineno)
                    found.setdefault(line, set()).update(_names(beside))
    return [Use(line, frozenset(beside)) for line, beside in sorted(found.items())]


def float_options(tree: ast.Module, component: str) -> list[str]:
    """Arguments of a function, or of a class's methods, that have a float for a default."""
    defaults = [pair for one in _parts_of(tree, component) for pair in defaults_of(one).items()]
    found = [name for name, node in defaults if isinstance(node, ast.Constant) and type(node.value) is float]
    return list(dict.fromkeys(found))


def _parts_of(tree: ast.Module, component: str) -> list[Function]:
    """A function of the file, or the methods of a class."""
    own = [one for one in tree.body if getattr(one, "name", "") == component]
    methods = [one for part in own if isinstance(part, ast.ClassDef) for one in part.body]
    return [one for one in (*own, *methods) if isinstance(one, Function)]


def _operands(node: ast.AST) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """What an expression computes with, each with the rest of it."""
    if isinstance(node, ast.BinOp):
        yield node.left, [node.right]
        yield node.right, [node.left]
    elif isinstance(node, ast.AugAssign):
        yield node.value, [node.target]
    elif isinstance(node, ast.UnaryOp):
        yield node.operand, []
    elif isinstance(node, ast.Call):
        values = [*node.args, *(word.value for word in node.keywords)]
        for one in values:
            yield one, [other for other in values if other is not one]


def _names(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        yield from (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
