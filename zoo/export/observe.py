"""Watching a small model of the same parts: how it is made, and which of its branches depend on the choice alone.

Facts are of two kinds: what a parameter is in every call (None, True, False), and what comes of a question that
no token decides, such as `mask is None` or `mask.dtype == torch.bool`, wherever it is asked.
"""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import libcst as cst

from zoo.export.trees import code, is_constant, is_own, is_pure, parameters, source_of

Key = tuple[type | None, str, int]
"""A function: class of `self`, if there is one; module; first line."""
Place = tuple[int, int]
"""Line and column; or the first and the last line."""
OTHER = "other"
"""A value that is no constant."""


@dataclass(frozen=True)
class Construction:
    """The construction of an object: its class, and the arguments by name."""

    cls: type
    arguments: dict[str, Any]


@dataclass
class Facts:
    """The facts that were observed.

    Attributes:
        arguments: the values of each parameter in all calls; what is no constant is OTHER.
        atoms: the answers to each question, by line and column.
        results: whether a function gave None: True, False or both.
        made: how each object was made, by id; `objects` keeps them alive.
        instances: the objects of each class.
    """

    arguments: dict[Key, dict[str, set[Any]]] = field(default_factory=dict)
    atoms: dict[Key, dict[tuple[int, int], set[Any]]] = field(default_factory=lambda: defaultdict(dict))
    results: dict[Key, set[bool]] = field(default_factory=lambda: defaultdict(set))
    made: dict[int, Construction] = field(default_factory=dict)
    objects: list[Any] = field(default_factory=list)
    instances: dict[type, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def argument(self, key: Key, name: str) -> Any:
        """The constant that a parameter is in all calls; OTHER if there is none."""
        values = self.arguments.get(key, {}).get(name, {OTHER})
        return next(iter(values)) if len(values) == 1 else OTHER

    def atom(self, key: Key, place: tuple[int, int]) -> Any:
        """The answer that a question always has; OTHER if there is none."""
        values = self.atoms.get(key, {}).get(place, {OTHER})
        return next(iter(values)) if len(values) == 1 else OTHER


def atoms_of(
    module: str, node: cst.FunctionDef
) -> list[tuple[tuple[int, int], tuple[int, int], cst.BaseExpression]]:
    """The questions of a function that no token decides: place, lines on which they are asked, expression."""
    finder = _Atoms(module, node)
    node.body.visit(finder)
    return finder.found


class _Atoms(cst.CSTVisitor):
    """Finds them; what is in an `assert`, a lambda or a comprehension is left alone."""

    def __init__(self, module: str, function: cst.FunctionDef) -> None:
        self.positions, self.parameters = (
            source_of(module).positions,
            {one.name.value for one in parameters(function)},
        )
        self.lines = (0, 0)
        self.found: list[tuple[tuple[int, int], tuple[int, int], cst.BaseExpression]] = []

    def _span(self, first: cst.CSTNode, last: cst.CSTNode) -> None:
        self.lines = (self.positions[first].start.line, self.positions[last].end.line)

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        self._span(node, node)
        return not any(isinstance(one, cst.Assert) for one in node.body)

    def visit_If(self, node: cst.If) -> None:
        self._span(node, node.test)

    def visit_For(self, node: cst.For) -> None:
        self._span(node, node.iter)

    def visit_While(self, node: cst.While) -> None:
        self._span(node, node.test)

    def visit_With(self, node: cst.With) -> None:
        self._span(node, node.items[-1])

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> bool:
        return False

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp  # type: ignore[assignment]

    def _add(self, node: cst.BaseExpression) -> None:
        start = self.positions[node].start
        self.found.append(((start.line, start.column), self.lines, node))

    def visit_Comparison(self, node: cst.Comparison) -> None:
        if len(node.comparisons) != 1:
            return
        operator, right = node.comparisons[0].operator, node.comparisons[0].comparator
        identity = isinstance(operator, (cst.Is, cst.IsNot)) and is_pure(right)
        dtype = isinstance(operator, (cst.Equal, cst.NotEqual)) and code(right) == "torch.bool"
        if is_pure(node.left) and (identity or dtype):
            self._add(node)

    def visit_Call(self, node: cst.Call) -> None:
        plain = all(is_pure(one.value) and not one.star for one in node.args)
        asked = code(node.func) in ("isinstance", "hasattr", "issubclass")
        kind = isinstance(node.func, cst.Attribute) and node.func.attr.value == "is_floating_point"
        if (asked and plain) or (kind and not node.args and is_pure(node.func.value)):
            self._add(node)

    def _truth(self, node: cst.BaseExpression) -> None:
        """A flag: a parameter, or an attribute other than `training`."""
        if is_constant(node) or not is_pure(node):
            return
        if (isinstance(node, cst.Name) and node.value in self.parameters) or (
            isinstance(node, cst.Attribute) and node.attr.value != "training"
        ):
            self._add(node)

    def visit_If_test(self, node: cst.If) -> None:
        self._truth(node.test)

    def visit_IfExp(self, node: cst.IfExp) -> None:
        self._truth(node.test)

    def visit_BooleanOperation(self, node: cst.BooleanOperation) -> None:
        self._truth(node.left)
        self._truth(node.right)

    def visit_UnaryOperation(self, node: cst.UnaryOperation) -> None:
        if isinstance(node.operator, cst.Not):
            self._truth(node.expression)


class Observer:
    """Collects facts while it watches."""

    def __init__(self, roots: frozenset[str] = frozenset()) -> None:
        """`roots` are the packages of plugins, whose source comes along."""
        self.facts, self.roots = Facts(), roots
        self._asked: dict[CodeType, list[tuple[tuple[int, int], tuple[int, int], CodeType]]] = {}
        self._known: dict[str, bool] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Collect facts on all that is called meanwhile."""
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    def _call(self, frame: FrameType, event: str, arg: object) -> Any:
        function, module = frame.f_code, frame.f_globals.get("__name__", "")
        if module not in self._known:
            self._known[module] = is_own(module, self.roots) and not module.startswith("zoo.export")
        if not self._known[module] or function.co_name.startswith("<"):
            return None
        names = function.co_varnames[: function.co_argcount + function.co_kwonlyargcount]
        values = frame.f_locals
        owner = values.get("self") if names[:1] == ("self",) else None
        key = (None if owner is None else type(owner), module, function.co_firstlineno)
        if function.co_name == "__init__" and owner is not None and id(owner) not in self.facts.made:
            arguments = {name: values[name] for name in names[1:]}
            if function.co_flags & inspect.CO_VARARGS:
                arguments["*"] = values[function.co_varnames[len(names)]]
            self.facts.made[id(owner)] = Construction(type(owner), arguments)
            self.facts.objects.append(owner)
            self.facts.instances[type(owner)].append(owner)
        seen = self.facts.arguments.setdefault(key, {})
        for name in names:
            seen.setdefault(name, set()).add(_constant(values.get(name)))
        if function not in self._asked:
            self._asked[function] = self._questions(module, function)
        asked = self._asked[function]

        def local(frame: FrameType, event: str, arg: object) -> Any:
            if event == "line":
                line = frame.f_lineno
                for place, (first, last), question in asked:
                    if first <= line <= last:
                        self._ask(key, place, question, frame)
            elif event == "return":
                self.facts.results[key].add(arg is None)
            return local

        return local

    def _questions(
        self, module: str, function: CodeType
    ) -> list[tuple[tuple[int, int], tuple[int, int], CodeType]]:
        node = source_of(module).functions.get(function.co_firstlineno)
        if node is None:
            return []
        return [
            (place, lines, compile(code(question), "<question>", "eval"))
            for place, lines, question in atoms_of(module, node)
        ]

    def _ask(self, key: Key, place: tuple[int, int], question: CodeType, frame: FrameType) -> None:
        try:
            value = _constant(eval(question, frame.f_globals, frame.f_locals))
        except Exception:  # noqa: BLE001 - a question behind another one, which is not asked here
            return
        self.facts.atoms[key].setdefault(place, set()).add(value)


def _constant(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, str)) else OTHER
