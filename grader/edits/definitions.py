"""Definitions in a submission's text: functions, constructors, and where names and attributes of `self` are made."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from grader.edits.idle import unused
from grader.edits.parsed import nodes_of, parsed
from grader.edits.syntax import arguments_of, defaults_of

MOST_BASES = 3
NAMING = {"setattr": 1, "add_module": 0, "register_module": 0, "register_buffer": 0, "register_parameter": 0}


class Definitions:
    """What one text defines. Args: text: Python."""

    def __init__(self, text: str) -> None:
        self._tree = parsed(text)

    @cached_property
    def unused(self) -> list[int]:
        """Statements whose value nothing gets."""
        return unused(self._tree)

    @cached_property
    def _functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        found = [node for node in nodes_of(self._tree) if isinstance(node, kinds)]
        return sorted(found, key=lambda node: -node.lineno)

    def _function(self, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function that a line belongs to."""
        return next((one for one in self._functions if one.lineno <= line <= (one.end_lineno or line)), None)

    def in_function(self, line: int) -> bool:
        """Return whether a line belongs to a function."""
        return self._function(line) is not None

    def gives_back(self, line: int) -> int | None:
        """The line of the last `return` of the function that a line belongs to."""
        function = self._function(line)
        nodes = [] if function is None else list(ast.walk(function))
        return max((one.lineno for one in nodes if isinstance(one, ast.Return)), default=None)

    def in_constructor(self, line: int) -> bool:
        """Return whether a line belongs to a constructor."""
        function = self._function(line)
        return function is not None and function.name == "__init__"

    def functions(self, lines: Collection[int]) -> set[int]:
        """All lines of the functions that lines belong to, and of the constructors of their classes.

        Of lines outside functions: they themselves.
        """
        found = set(lines)
        for function in [one for line in lines for one in (self._function(line), self._constructor(line))]:
            found |= set() if function is None else {*range(function.lineno, (function.end_lineno or 0) + 1)}
        return found

    def decorators(self, lines: Collection[int]) -> list[int]:
        """Lines of the decorators that are called, of the functions that lines belong to."""
        functions = (one for one in map(self._function, lines) if one is not None)
        return [node.lineno for one in functions for node in one.decorator_list if isinstance(node, ast.Call)]

    def definition(self, name: str, owner: str | None = None) -> int | None:
        """The line where a function begins, or, with the name of its class, a method."""
        classes = [
            node for node in nodes_of(self._tree) if isinstance(node, ast.ClassDef) and node.name == owner
        ]
        return next(
            (
                node.lineno
                for body in [one.body for one in classes] or [self._tree.body]
                for node in body
                if isinstance(node, ast.FunctionDef) and node.name == name
            ),
            None,
        )

    def body(self, name: str) -> range:
        """The lines of a function or a class of the file."""
        return next(
            (
                range(node.lineno, (node.end_lineno or node.lineno) + 1)
                for node in self._tree.body
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name
            ),
            range(0),
        )

    def arguments(self, line: int) -> list[str]:
        """The names of the arguments of the function that begins in a line, without `self`."""
        function = self._function(line)
        return [] if function is None else [one for one in arguments_of(function) if one != "self"]

    def constructor_begin(self, line: int) -> int | None:
        """The first statement of the constructor of a line's class, or of its base's, which that one calls."""
        found = self._constructor(line)
        for _ in range(MOST_BASES):
            base = None if found is None or "super().__init__" not in ast.unparse(found) else self._base(line)
            if base is None:
                break
            line, found = base.lineno, self._constructor(base.lineno)
        body = [] if found is None else found.body[ast.get_docstring(found) is not None :]
        return body[0].lineno if body else None

    def _base(self, line: int) -> ast.ClassDef | None:
        """The first base of the class that a line belongs to, if the file defines it."""
        classes = {node.name: node for node in nodes_of(self._tree) if isinstance(node, ast.ClassDef)}
        own = [one for one in classes.values() if one.lineno <= line <= (one.end_lineno or line)]
        return classes.get(ast.unparse(own[0].bases[0])) if own and own[0].bases else None

    def constructor_end(self, line: int) -> int | None:
        """The last line of the constructor of the class that a line belongs to."""
        found = self._constructor(line)
        return None if found is None else found.body[-1].lineno

    def unused_in_constructor(self, line: int) -> int | None:
        """A statement of that constructor whose value nothing gets."""
        found = self._constructor(line)
        lines = range(0) if found is None else range(found.lineno, (found.end_lineno or found.lineno) + 1)
        return next((one for one in self.unused if one in lines), None)

    def local_in_constructor(self, line: int, name: str) -> int | None:
        """The line in which that constructor gives a value to a local of this name."""
        found = self._constructor(line)
        stored = [
            node.lineno
            for node in (ast.walk(found) if found is not None else ())
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        ]
        return min(stored, default=None)

    def _constructor(self, line: int) -> ast.FunctionDef | None:
        for node in nodes_of(self._tree):
            if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or line):
                for one in node.body:
                    if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                        return one
        return None

    def names(self, line: int) -> set[str]:
        """What has a name at a line: locals and arguments of its function, and what the file defines and imports."""
        function = self._function(line)
        nodes = (
            [*ast.walk(function), *self._tree.body] if function is not None else list(nodes_of(self._tree))
        )
        return {name for node in nodes for name in _named(node)}

    @cached_property
    def statements(self) -> list[int]:
        """Lines in which the statements of functions begin, then those of what else a file computes."""
        functions = [node for node in nodes_of(self._tree) if isinstance(node, ast.FunctionDef)]
        inside = {node.lineno for one in functions for node in ast.walk(one) if isinstance(node, ast.stmt)}
        others = {
            node.lineno
            for node in nodes_of(self._tree)
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr))
        }
        parts = (node for node in nodes_of(self._tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef)))
        others |= {one.lineno for node in parts for one in node.decorator_list if isinstance(one, ast.Call)}
        return [*sorted(inside), *sorted(others - inside)]

    @cached_property
    def strings(self) -> Mapping[str, list[int]]:
        """Lines in which a text stands in the code, such as a key of a dictionary."""
        found: dict[str, list[int]] = {}
        for node in nodes_of(self._tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.setdefault(node.value, []).append(node.lineno)
        return found

    @cached_property
    def constants(self) -> Mapping[str, int]:
        """Lines in which the module's own names get their values."""
        found: dict[str, int] = {}
        for node in self._tree.body:
            for target in _targets(node) if isinstance(node, (ast.Assign, ast.AnnAssign)) else ():
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        found[name.id] = node.lineno
        return found

    @cached_property
    def _defaults_at(self) -> Mapping[int, Mapping[str, int]]:
        """By the line in which a function begins, or its decorators, the lines of its arguments' defaults.

        Not where it takes `*args`: what comes by position is not left out, and goes there.
        """
        found = {}
        for node in (one for one in self._functions if one.args.vararg is None):
            start = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            lines = {name: value.lineno for name, value in defaults_of(node).items()}
            found[start] = found[node.lineno] = lines
        return found

    def default(self, line: int, name: str) -> int | None:
        """The line of an argument's default, of the function that begins in a line (its decorators count)."""
        return self._defaults_at.get(line, {}).get(name)

    @cached_property
    def _defaults_of_classes(self) -> Mapping[str, list[int]]:
        """Lines with the first values of `self.NAME`: defaults of a constructor's arguments, fields of a class."""
        found: dict[str, list[int]] = {}
        for part in (node for node in nodes_of(self._tree) if isinstance(node, ast.ClassDef)):
            for node in part.body:
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    for name, value in defaults_of(node).items():
                        found.setdefault(name, []).append(value.lineno)
                elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                    for target in _targets(node):
                        if isinstance(target, ast.Name):
                            found.setdefault(target.id, []).append(node.lineno)
        return found

    def argument(self, name: str, besides: int) -> int | None:
        """The line of the only argument, or field of a class, of a name. Args: besides: not in this line."""
        found = {
            node.lineno
            for node in nodes_of(self._tree)
            if (isinstance(node, ast.arg) and node.arg == name)
            or (isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name)
        }
        return found.pop() if len(found) == 1 and besides not in found else None

    def stored(self, name: str) -> int | None:
        """The first line in which `self.NAME` is assigned, in any function."""
        lines = [
            node.lineno
            for node in nodes_of(self._tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if ast.unparse(node) == f"self.{name}"
        ]
        return min(lines, default=None)

    @cached_property
    def named_later(self) -> int | None:
        """A line in which `self` gets an attribute whose name is computed."""
        calls = (node for node in nodes_of(self._tree) if isinstance(node, ast.Call))
        for node in calls:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = node.args[NAMING[name] :] if name in NAMING else []
            if given and not isinstance(given[0], ast.Constant):
                return node.lineno
        return None

    @cached_property
    def attributes(self) -> Mapping[str, list[int]]:
        """Lines in which `self.NAME` is made in constructors, other than from the argument of that name."""
        found: dict[str, list[int]] = {}
        for function in nodes_of(self._tree):
            if not isinstance(function, ast.FunctionDef) or function.name != "__init__":
                continue
            given = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
            for node in ast.walk(function):
                if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                    handed_on = ast.unparse(node.value) if isinstance(node.value, ast.Name) else ""
                    for target in (one for whole in _targets(node) for one in ast.walk(whole)):
                        if isinstance(target, ast.Attribute) and target.attr not in {handed_on} & given:
                            found.setdefault(target.attr, []).append(node.lineno)
                if (
                    isinstance(node, ast.Call)
                    and ast.unparse(node.func) == "self.register_buffer"
                    and node.args
                ):
                    name = node.args[0]
                    if isinstance(name, ast.Constant) and isinstance(name.value, str):
                        found.setdefault(name.value, []).append(node.lineno)
        return found

    @cached_property
    def _remade(self) -> Mapping[str, list[int]]:
        """Lines in which `self.NAME` gets a value in other methods."""
        found: dict[str, list[int]] = {}
        for function in nodes_of(self._tree):
            if isinstance(function, ast.FunctionDef) and function.name != "__init__":
                for node in ast.walk(function):
                    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                        found.setdefault(node.attr, []).append(node.lineno)
        return found

    def attribute(self, name: str, line: int) -> int | None:
        """The line in which an attribute that a line reads is made by a constructor, see `attributes`."""
        return next(iter(self._of_class(self.attributes.get(name, ()), line)), None)

    def first_value(self, name: str, line: int) -> int | None:
        """The same, else the line of the default, or the field of a class, that gives the attribute its value."""
        defaults = self._of_class(self._defaults_of_classes.get(name, ()), line)
        return self.attribute(name, line) or next(iter(defaults), None)

    def remade(self, name: str, line: int) -> Sequence[int]:
        """Lines in which other methods give a value to an attribute that a line reads."""
        return self._of_class(self._remade.get(name, ()), line)

    def _of_class(self, found: Sequence[int], line: int) -> Sequence[int]:
        """Those of several lines that are in the same class as a line; all of them if none is."""
        own = self._class(line)
        return [one for one in found if self._class(one) is own] or found

    def _class(self, line: int) -> ast.ClassDef | None:
        """The innermost class that a line belongs to."""
        around = (one for one in self._classes if one.lineno <= line <= (one.end_lineno or line))
        return max(around, key=lambda one: one.lineno, default=None)

    @cached_property
    def _classes(self) -> list[ast.ClassDef]:
        return [node for node in nodes_of(self._tree) if isinstance(node, ast.ClassDef)]


def _targets(node: ast.Assign | ast.AnnAssign) -> Sequence[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _named(node: ast.AST) -> Iterator[str]:
    """The names that a node gives to something."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((one.asname or one.name).partition(".")[0] for one in node.names)
    elif isinstance(node, ast.Assign):
        yield from (one.id for one in node.targets if isinstance(one, ast.Name))
