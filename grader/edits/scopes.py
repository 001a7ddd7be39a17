"""Names that are known at a line of a file: locals, arguments, attributes of `self`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from functools import cache, cached_property

from grader.edits.idle import unread
from grader.edits.parsed import nodes_of
from grader.edits.syntax import DRAWING, PATHS, SELF, called, declared, properties

NEAREST = 6  # locals that come before arguments


class Scopes:
    """The scopes of one file.

    Args:
        tree: of the file.
        ran: lines of functions that ran; all if there are none.
    """

    def __init__(self, tree: ast.Module, ran: Collection[int] = ()) -> None:
        self._tree, self._ran = tree, frozenset(ran)
        self.names, self.given, self.unread = cache(self._names), cache(self._given), cache(self._unread)
        self.unread_locals, self.unread_parts = cache(self._unread_locals), cache(self._unread_parts)
        self.unread_attributes = cache(self._unread_attributes)
        self.unused_parts = cache(self._unused_parts)
        self.made_in = cache(self._made_in)
        self.attributes, self.functions = cache(self._attributes), cache(self._functions)
        self.sizes, self.saved, self.draws = cache(self._sizes), cache(self._saved), cache(self._draws)

    @cached_property
    def growing(self) -> dict[int, str]:
        """By what is added to a list, its name: in itself it would have no end, which ends the process."""
        found: dict[int, str] = {}
        for node in nodes_of(self._tree):
            if isinstance(node, ast.AugAssign):
                of: ast.expr = node.target
                added = [node.value]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of, added = node.func.value, node.args
            else:
                continue
            if isinstance(of, ast.Name):
                found.update((id(inner), of.id) for one in added for inner in ast.walk(one))
        return found

    def _names(self, line: int) -> list[str]:
        """Arguments, after a few locals that are assigned before a line, the nearest first; then the other locals.

        Outside of functions: the arguments of lambdas in the line, and constants.
        """
        functions = self._around(line, (ast.FunctionDef,))
        if not functions:
            lambdas = (n for n in nodes_of(self._tree) if isinstance(n, ast.Lambda) and n.lineno == line)
            given = [n.arg for one in lambdas for n in ast.walk(one.args) if isinstance(n, ast.arg)]
            return list(dict.fromkeys([*given, *self.constants]))
        made, args = self.made_in(functions[0])
        names = list(dict.fromkeys(name for at, name in made if at <= line))
        return list(dict.fromkeys([*names[:NEAREST], *args, *names]))

    @cached_property
    def constants(self) -> list[str]:
        """Names of the file that stand for numbers: `PAD, SOS = 0, 1`."""
        found: list[str] = []
        for node in self._tree.body:
            if isinstance(node, ast.Assign):
                numbers = getattr(node.value, "elts", [node.value])
                if all(isinstance(one, ast.Constant) and type(one.value) in (int, float) for one in numbers):
                    names = (
                        n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)
                    )
                    found += names
        return found

    def _made_in(self, function: ast.FunctionDef) -> tuple[list[tuple[int, str]], list[str]]:
        """The locals of a function with the lines where they are assigned, the last one first; and its arguments."""
        nodes = list(ast.walk(function))
        stored = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        made = sorted(((node.lineno, node.id) for node in stored), reverse=True)
        return made, [node.arg for node in nodes if isinstance(node, ast.arg)]

    def _given(self, line: int) -> list[str]:
        """The arguments of the function around a line, those that it never reads first."""
        unread = self.unread(line)
        return [*unread, *(name for name in self._arguments(line) if name not in unread)]

    def numbers(self, line: int) -> list[str]:
        """The arguments of the function around a line that may be numbers: it takes no part of them, and calls none."""
        function = self.function(line)
        nodes = [] if function is None else list(ast.walk(function))
        owners = (n.value for n in nodes if isinstance(n, (ast.Attribute, ast.Subscript)))
        used = {one.id for one in owners if isinstance(one, ast.Name)}
        used |= {n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        return [name for name in self._arguments(line) if name not in used]

    def _saved(self, line: int) -> list[str]:
        """Locals that a backward pass gets of what its forward pass has saved, at a line of it."""
        function = self.function(line)
        made = [n for n in ast.walk(function) if isinstance(n, ast.Assign)] if function is not None else []
        return [
            one.id
            for node in made
            if "saved_tensors" in ast.unparse(node.value)
            for target in node.targets
            for one in ast.walk(target)
            if isinstance(one, ast.Name)
        ]

    def _unread(self, line: int) -> list[str]:
        """The arguments of the function around a line that it never reads."""
        function = self.function(line)
        nodes = [] if function is None else list(ast.walk(function))
        read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        return [name for name in self._arguments(line) if name not in read]

    def _unread_locals(self, line: int) -> list[str]:
        """Locals of the function around a line that are assigned before it, and that nothing reads."""
        function = self.function(line)
        found = [] if function is None else unread(function)
        return list(dict.fromkeys(name for name, node in found if node.lineno < line))

    def _unread_parts(self, line: int) -> list[str]:
        """Locals of the function around a line that get a part of something before it, and that nothing reads."""
        function = self.function(line)
        nodes = [] if function is None else list(ast.walk(function))
        read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        tuples = [n for n in nodes if isinstance(n, ast.Tuple) and isinstance(n.ctx, ast.Store)]
        parts = [one.id for n in tuples if n.lineno < line for one in n.elts if isinstance(one, ast.Name)]
        return [name for name in dict.fromkeys(parts) if name not in read]

    def is_attribute_read_instead(self, local: ast.Name, end: int) -> bool:
        """Whether a function does not read a local after a line, and the file reads the attribute of this name."""
        function = self.function(local.lineno)
        names = [n for n in ast.walk(function) if isinstance(n, ast.Name)] if function else []
        read = {n.id for n in names if isinstance(n.ctx, ast.Load) and n.lineno > end}
        return "self" in self.names(local.lineno) and local.id in self._read_attributes - read

    def _arguments(self, line: int) -> list[str]:
        function = self.function(line)
        nodes = [] if function is None else list(ast.walk(function))
        return [n.arg for n in nodes if isinstance(n, ast.arg) and n.arg != "self"]

    def function(self, line: int) -> ast.FunctionDef | None:
        """The innermost function around a line."""
        found = self._around(line, (ast.FunctionDef,))
        return found[0] if found else None  # type: ignore[return-value]

    def _draws(self, line: int) -> bool:
        """Whether the function around a line draws random numbers."""
        function = self.function(line)
        return function is not None and DRAWING.search(ast.unparse(function)) is not None

    def read_after(self, statement: ast.stmt) -> list[ast.Name]:
        """The names that the function around a statement reads after it."""
        function = self.function(statement.lineno)
        nodes = [] if function is None else list(ast.walk(function))
        names = [one for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
        return [one for one in names if one.lineno > (statement.end_lineno or statement.lineno)]

    def ends_after(self, statement: ast.stmt, name: str) -> list[ast.Subscript]:
        """Where the function around a statement reads the first or the last one of what a name stands for after it."""
        function = self.function(statement.lineno)
        nodes = [] if function is None else list(ast.walk(function))
        read = [one for one in nodes if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load)]
        ends = [
            one for one in read if ast.unparse(one.slice) in ("0", "-1") and one.lineno > statement.lineno
        ]
        return [one for one in ends if isinstance(one.value, ast.Name) and one.value.id == name]

    def _attributes(self, line: int) -> list[str]:
        """Return the attributes of `self` in the class around a line."""
        classes = self._around(line, (ast.ClassDef,))
        found = [
            (abs(node.lineno - line), node.attr)
            for node in (ast.walk(classes[0]) if classes else ())
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ]
        own = [one for one in classes[:1] if isinstance(one, ast.ClassDef)]
        fields = [name for one in own for name, _ in declared(one)]
        return list(dict.fromkeys([*(name for _, name in sorted(found)), *fields]))

    def _sizes(self, line: int) -> list[str]:
        """Return the attributes of the class around a line that get an argument, a number or a quotient."""
        classes = self._around(line, (ast.ClassDef,))
        made = [node for node in ast.walk(classes[0]) if isinstance(node, ast.Assign)] if classes else []
        kinds = (ast.Name, ast.BinOp, ast.Constant)
        return [
            one.attr
            for node in made
            for one in node.targets
            if isinstance(one, ast.Attribute)
            and called(one.value) == "self"
            and isinstance(node.value, kinds)
        ]

    def _unread_attributes(self, line: int) -> list[ast.Attribute]:
        """Return the attributes that the class around a line declares, or gives `self`, and the file never reads."""
        classes = self._around(line, (ast.ClassDef,))
        fields = [name for one in classes[:1] if isinstance(one, ast.ClassDef) for name, _ in declared(one)]
        own = ast.Name("self", ast.Load())
        return [
            *(ast.Attribute(own, name, ast.Load()) for name in fields if name not in self._read_attributes),
            *(
                ast.Attribute(node.value, node.attr, ast.Load())
                for node in (ast.walk(classes[0]) if classes else ())
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
                if called(node.value) == "self" and node.attr not in self._read_attributes
            ),
        ]

    def _unused_parts(self, line: int) -> list[ast.Attribute]:
        """Those that no line has read that ran, and that are modules, as far as their statements tell: calls, or one
        each of what a loop makes."""
        kinds = (ast.Call, ast.GeneratorExp, ast.ListComp)
        classes, function = self._around(line, (ast.ClassDef,)), self.function(line)
        if function is None or function.name == "__init__":
            return []
        made = [node for node in ast.walk(classes[0]) if isinstance(node, ast.Assign)] if classes else []
        parts = [
            node.attr
            for one in made
            for target in one.targets
            for node in ast.walk(target)
            if isinstance(node, ast.Attribute) and called(node.value) == "self"
            if all(isinstance(part, kinds) for part in getattr(one.value, "elts", [one.value]))
        ]
        return [
            ast.Attribute(SELF, name, ast.Load())
            for name in dict.fromkeys(parts)
            if name not in self._read_in_run
        ]

    @cached_property
    def stored_attributes(self) -> list[str]:
        """Return what objects of the file's classes have: what is declared, and what `self` gets."""
        nodes = nodes_of(self._tree)
        fields = [name for one in nodes if isinstance(one, ast.ClassDef) for name, _ in declared(one)]
        own = [one for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)]
        return list(dict.fromkeys([*fields, *(one.attr for one in own if called(one.value) == "self")]))

    @cached_property
    def _read_in_run(self) -> set[str]:
        ran = set(self._ran)
        for node in nodes_of(self._tree) if ran else ():
            if isinstance(node, ast.stmt):  # a statement of several lines need not have run in each of them
                body = getattr(node, "body", None)
                lines = range(node.lineno, body[0].lineno if body else (node.end_lineno or node.lineno) + 1)
                ran |= set(lines) if ran.intersection(lines) else set()
        return {
            node.attr
            for node in nodes_of(self._tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
            if not ran or node.lineno in ran
        }

    @cached_property
    def _read_attributes(self) -> set[str]:
        nodes = (node for node in nodes_of(self._tree) if isinstance(node, ast.Attribute))
        return {node.attr for node in nodes if isinstance(node.ctx, ast.Load)}

    @cached_property
    def fields(self) -> dict[str, list[str]]:
        """What is read of objects that hold several values (`config.width`), by their code; all that a class of the
        file declares, where one of it is read."""
        found: dict[str, list[str]] = {}
        methods = {id(node.func) for node in nodes_of(self._tree) if isinstance(node, ast.Call)}
        classes = [node for node in nodes_of(self._tree) if isinstance(node, ast.ClassDef)]
        of_classes = [[*(name for name, _ in declared(node)), *properties(node)] for node in classes]
        for node in nodes_of(self._tree):
            if (
                isinstance(node, ast.Attribute)
                and id(node) not in methods
                and ast.unparse(node.value) not in PATHS
            ):
                its = next((names for names in of_classes if node.attr in names), [])
                known = found.setdefault(ast.unparse(node.value), [])
                known += [name for name in dict.fromkeys((node.attr, *its)) if name not in known]
        return found

    def of_objects(self, line: int) -> list[ast.expr]:
        """Return the fields of objects that have a name at a line, also as one of `self`, see `fields`."""
        return [
            ast.Attribute(ast.Name(name, ast.Load()), one, ast.Load())
            for name in self.names(line)
            for one in self.fields.get(name, self.fields.get(f"self.{name}", ()))
        ]

    def _functions(self, line: int) -> list[ast.expr]:
        """What the class around a line calls with one value: parts that it never uses, its other parts, its helpers."""
        made: dict[str, ast.expr] = {}
        used: dict[str, ast.expr] = {}
        for scope in self._around(line, (ast.ClassDef,))[:1]:
            for node in ast.walk(scope):
                if isinstance(node, ast.Attribute) and called(node.value) == "self":
                    own = ast.Attribute(node.value, node.attr, ast.Load())
                    (used if isinstance(node.ctx, ast.Load) else made).setdefault(node.attr, own)
        calls = {called(node.func) for node in nodes_of(self._tree) if isinstance(node, ast.Call)}
        unused = [own for name, own in made.items() if name not in used]
        return unused + [
            one for name, one in used.items() if name in calls or "norm" in name or "drop" in name
        ]

    def _around(
        self, line: int, kinds: tuple[type[ast.AST], ...]
    ) -> Sequence[ast.FunctionDef | ast.ClassDef]:
        found = [
            node
            for node in self._definitions
            if isinstance(node, kinds) and node.lineno <= line <= (node.end_lineno or line)
        ]
        return sorted(found, key=lambda node: -node.lineno)

    @cached_property
    def _definitions(self) -> list[ast.FunctionDef | ast.ClassDef]:
        return [node for node in nodes_of(self._tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
