"""A submission's text as a syntax tree: what a line reads, and where that was made."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from grader.core.value_trace import Place
from grader.edits.argument_uses import Use, float_options, uses
from grader.edits.branches import Branches
from grader.edits.edit_kinds import EQUATION
from grader.edits.idle import idle, overwritten, unread
from grader.edits.parsed import nodes_of
from grader.edits.state import changed_in_place, is_store
from grader.edits.syntax import FACTORIES, arguments_of, called, defaults_of, is_text

MOVING = {"to", "cuda", "type_as"}  # methods that give a tensor another device
REGISTERING = ("Parameter", "Buffer", "register_buffer", "register_parameter")
OF_EQUATIONS = {"einsum", "rearrange", "reduce", "repeat"}
MOST_STEPS_BACK = 3
MOST_ORIGINS = 16


class Source(Branches):
    """A submission's text, as far as places need it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._lines = text.encode().splitlines()

    def segment(self, place: Place) -> str:
        """The text of an expression; its whole lines where columns are not known."""
        lines = self._lines[place.line - 1 : place.end_line]
        if not lines or place.column is None:
            return b"\n".join(lines).decode("utf-8", "replace")
        if len(lines) == 1:
            return lines[0][place.column : place.end_column].decode("utf-8", "replace")
        inner = [lines[0][place.column :], *lines[1:-1], lines[-1][: place.end_column]]
        return b"\n".join(inner).decode("utf-8", "replace")

    @cached_property
    def _reads(self) -> dict[int, list[ast.Name | ast.Attribute]]:
        found: dict[int, list[ast.Name | ast.Attribute]] = {}
        for node in nodes_of(self._tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.lineno, []).append(node)
        return found

    def reads(self, place: Place) -> Iterator[ast.expr]:
        """Names and attributes that an expression reads."""
        for line in range(place.line, min(place.end_line, len(self._lines)) + 1):
            for node in self._reads.get(line, ()):
                after = place.column is None or line > place.line or node.col_offset >= place.column
                before = (
                    place.end_column is None or line < place.end_line or node.col_offset < place.end_column
                )
                if after and before:
                    yield node

    def names_read(self, line: int) -> set[str]:
        """Names that a line reads."""
        return {node.id for node in self._reads.get(line, ()) if isinstance(node, ast.Name)}

    def is_read(self, name: str, line: int) -> bool:
        """Whether the function around a line reads a name."""
        function = self._function(line)
        nodes = () if function is None else ast.walk(function)
        return any(isinstance(n, ast.Name) and n.id == name and not is_store(n) for n in nodes)

    def calls(self, place: Place) -> set[str]:
        """Names of the functions and attributes in an expression, without what they belong to."""
        return {
            one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "")
            for one in self.reads(place)
        }

    def made(self, line: int) -> list[int]:
        """Lines where the attributes, constants and defaults that a line reads were made, or made anew by a method."""
        found: list[int | None] = []
        for node in self._reads.get(line, ()):
            if isinstance(node, ast.Attribute):
                found += [self.first_value(node.attr, line), *self.remade(node.attr, line)]
            else:
                function = self._function(line)
                default = None if function is None else self.default(function.lineno, node.id)
                found += [self.constants.get(node.id), default]
        return [one for one in found if one is not None]

    def helpers(self, line: int) -> list[int]:
        """Lines of the file's own functions that a line calls: by name, or by that of one of the module's constants."""
        nodes, known = [*self._reads.get(line, ())], set[str]()
        for _ in range(MOST_STEPS_BACK):
            names = {called(one) for one in nodes} - known
            known |= names
            made = [self.constants[name] for name in names if name in self.constants]
            nodes = [one for at in made for one in self._reads.get(at, ())]
        parts = [one for one in nodes_of(self._tree) if isinstance(one, (ast.ClassDef, ast.FunctionDef))]
        functions = [one for one in parts if isinstance(one, ast.FunctionDef) and one.name in known]
        for own in (one for one in parts if "apply" in known and one.name in known):  # an autograd function
            functions += [
                one for one in own.body if isinstance(one, ast.FunctionDef) and one.name == "forward"
            ]
        inside = (one for function in functions for one in ast.walk(function) if one is not function)
        return [one.lineno for one in inside if isinstance(one, ast.stmt)]

    def origins(self, line: int) -> list[int]:
        """Lines that what a line reads comes from, the nearest first; also those of loops that make it."""
        found, around = [line], self.loops(line)
        for at in found:
            if len(found) > MOST_ORIGINS:
                break
            rounds = [one for one in self.loops(at) if one not in around]
            more = [*self.assigned(at), *self.made(at), *rounds, *self.helpers(at)]
            found += [one for one in dict.fromkeys(more) if one not in found]
        return found[1:]

    def neighbours(self, line: int) -> list[int]:
        """Lines of the statements before and after that of a line, in the same function."""
        lines = [one for one in self.statements if self._function(one) is self._function(line)]
        span = self.span(line)
        before = [one for one in lines if one < span.start][-1:]
        return [*before, *[one for one in lines if one >= span.stop][:1]]

    def beside(self, after: int) -> list[int]:
        """Lines of the statements before and after what would be added after a line."""
        lines = sorted(self.statements)
        return [*[one for one in lines if one <= after][-1:], *[one for one in lines if one > after][:1]]

    def loops(self, line: int, *, parts: bool = False) -> list[int]:
        """Lines where the loops around a line begin, the innermost first. Args: parts: sums of comprehensions too."""
        loops = (node for node in nodes_of(self._tree) if isinstance(node, (ast.For, ast.While)))
        around = [node.lineno for node in loops if node.lineno < line <= (node.end_lineno or 0)]
        around += [at for at, lines in self._sums.items() if parts and line in lines]
        return sorted(around, reverse=True)

    @cached_property
    def _sums(self) -> dict[int, range]:
        """Lines of sums of what comprehensions give, with all lines of each."""
        calls = [
            node for node in nodes_of(self._tree) if isinstance(node, ast.Call) and called(node.func) == "sum"
        ]
        comprehensions = (ast.GeneratorExp, ast.ListComp)
        sums = [one for one in calls if one.args and isinstance(one.args[0], comprehensions)]
        return {one.lineno: range(one.lineno, (one.end_lineno or one.lineno) + 1) for one in sums}

    def indexed_freely(self, line: int, loop: int) -> bool:
        """Whether the index of a write in a line has a slice that ends with a local which the loop's rounds change."""
        nodes = [one for one in nodes_of(self._tree) if isinstance(one, (ast.For, ast.While))]
        around = next((one for one in nodes if one.lineno == loop), None)
        inside = [one for part in (around.body if around else ()) for one in ast.walk(part)]
        made = {one.id for one in inside if isinstance(one, ast.Name) and is_store(one)}
        written = [one for one in inside if isinstance(one, ast.Subscript) and one.lineno == line]
        ends = [
            each.upper
            for one in written
            if isinstance(one.ctx, ast.Store)
            for each in ast.walk(one.slice)
            if isinstance(each, ast.Slice)
        ]
        return any(isinstance(end, ast.Name) and end.id in made for end in ends)

    def carried(self, loop: int) -> tuple[list[int], range]:
        """Lines of a loop that make something of what the round before made: `z = z + ...`; and the loop's lines."""
        loops = (node for node in nodes_of(self._tree) if isinstance(node, (ast.For, ast.While)))
        node = next((one for one in loops if one.lineno == loop), None)
        if node is None:
            return ([loop], self._sums[loop]) if loop in self._sums else ([], range(0))
        found = []
        for one in node.body:
            if isinstance(one, (ast.Assign, ast.AugAssign)):
                stored = {
                    each.id for each in ast.walk(one) if _is_stored(each) and isinstance(each, ast.Name)
                }
                loaded = {each.id for each in ast.walk(one.value) if isinstance(each, ast.Name)}
                if isinstance(one, ast.AugAssign) or stored & loaded:
                    found.append(one.lineno)
        return found, range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)

    def loop_over(self, line: int, names: Collection[str]) -> int | None:
        """The line of the innermost loop around a line that gives one of these names its values."""
        loops = {one.lineno: one.target for one in nodes_of(self._tree) if isinstance(one, ast.For)}
        targets = {at: {n.id for n in ast.walk(one) if isinstance(n, ast.Name)} for at, one in loops.items()}
        return next((at for at in self.loops(line) if targets.get(at, set()) & {*names}), None)

    def summed(self, line: int) -> list[int]:
        """Lines of a method that a line calls which add something to an attribute: `total = self.total + ...`."""
        found = []
        for node in (one for one in nodes_of(self._tree) if isinstance(one, ast.FunctionDef)):
            if node.body[0].lineno not in self.helpers(line) and node.lineno not in self.helpers(line):
                continue
            for one in node.body:
                value = one.value if isinstance(one, (ast.Assign, ast.AugAssign)) else None
                parts = [value.left, value.right] if isinstance(value, ast.BinOp) else []
                if any(isinstance(part, ast.Attribute) for part in parts):
                    found.append(one.lineno)
        return found

    def readers(self, line: int) -> list[int]:
        """Lines that read an attribute of `self` which a line makes, or a local of its function; then theirs."""
        first = list(dict.fromkeys(self._readers(line)))
        return list(dict.fromkeys([*first, *(one for at in first for one in self._readers(at))]))

    def _readers(self, line: int) -> list[int]:
        stored = [node for node in nodes_of(self._tree) if getattr(node, "lineno", None) == line]
        names = {one.id for one in stored if isinstance(one, ast.Name) and is_store(one)}
        attributes = {one.attr for one in stored if isinstance(one, ast.Attribute) and is_store(one)}
        attributes |= {name for name, lines in self.attributes.items() if line in lines}
        nodes = [(at, node) for at, some in self._reads.items() for node in some if at != line]
        own = [at for at, node in nodes if isinstance(node, ast.Attribute) and node.attr in attributes]
        local = [
            at
            for at, node in nodes
            if isinstance(node, ast.Name) and node.id in names and self._function(at) is self._function(line)
        ]
        return [*self._of_class(own, line), *local]

    def constant_read(self, line: int) -> list[int]:
        """Lines of functions that read a name which a line outside of functions gives a value."""
        own = self._tree.body if not self.in_function(line) else []
        made = [node for one in own if one.lineno <= line <= (one.end_lineno or 0) for node in ast.walk(one)]
        names = {one.id for one in made if isinstance(one, ast.Name) and is_store(one)}
        reads = [(at, node) for at, some in self._reads.items() for node in some if self.in_function(at)]
        return [at for at, node in reads if isinstance(node, ast.Name) and node.id in names]

    def constant_made(self, name: str) -> list[int]:
        """Lines outside of functions that give a name a value."""
        stored = [one for node in self._tree.body for one in ast.walk(node) if isinstance(one, ast.Name)]
        lines = [one.lineno for one in stored if one.id == name and is_store(one)]
        return [line for line in lines if not self.in_function(line)]

    def callers(self, line: int) -> list[int]:
        """Lines that call a line's function, or, where that is a constructor, its class; none for `forward`."""
        function = self._function(line)
        if function is None or function.name == "forward":
            return []
        name: str | None = function.name
        if name == "__init__":
            classes = [node for node in nodes_of(self._tree) if isinstance(node, ast.ClassDef)]
            name = next((one.name for one in classes if function in one.body), None)
        return [
            node.lineno
            for node in nodes_of(self._tree)
            if isinstance(node, ast.Call)
            and name in (getattr(node.func, "attr", ""), getattr(node.func, "id", ""))
        ]

    def assigned(self, line: int) -> list[int]:
        """Lines of the same function in which the names that a statement reads got their values, the last one first."""
        span = self.span(line)
        names = {n.id for at in span for n in self._reads.get(at, ()) if isinstance(n, ast.Name)}
        function = self._function(line)
        inner = [] if function is None else list(ast.walk(function))
        rounds = {id(n) for one in inner if isinstance(one, ast.For) for n in ast.walk(one.target)}
        stored = {
            (id(node) not in rounds, node.lineno)  # what a loop counts with comes last
            for node in (*(one for one in inner if _is_stored(one)), *changed_in_place(inner))
            if isinstance(node, ast.Name) and node.id in names
        }
        return [at for _, at in sorted(stored, reverse=True) if at < span.start]

    def renamed(self, line: int) -> int | None:
        """The line that gave a name which a line reads nothing but the value of another one, or but an equation."""
        function = self._function(line)
        nodes = [] if function is None else list(ast.walk(function))
        stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and is_store(node))
        bare = {
            node.lineno
            for node in nodes
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if stored[node.targets[0].id] == 1
            if isinstance(node.value, ast.Name) or self._is_equation(node.value, line)
        }
        return next((at for at in self.assigned(line) if at in bare), None)

    def alias(self, line: int) -> int | None:
        """The last line before one where a name that it changes in place was made another name of something."""
        function = self._function(line)
        nodes = [] if function is None else list(ast.walk(function))
        changed = {
            ast.unparse(one.target) for one in nodes if isinstance(one, ast.AugAssign) and one.lineno == line
        }
        calls = [one.func for one in nodes if isinstance(one, ast.Call) and one.lineno == line]
        changed |= {ast.unparse(one.value) for one in calls if isinstance(one, ast.Attribute)}
        made = [
            one.lineno
            for one in nodes
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name) and one.lineno < line
            if ast.unparse(one.targets[0]) in changed
        ]
        return max(made, default=None)

    def _is_equation(self, node: ast.expr, line: int) -> bool:
        """Whether a value is an equation of einsum, and a line does not calculate with one."""
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        return bool(EQUATION.fullmatch(text)) and not self.calls(Place(line, line)) & OF_EQUATIONS

    def listed(self, line: int) -> int | None:
        """The line where the items of a list that a line reads are computed: the last of the lists that hold lists."""
        appended = {
            node.lineno
            for node in nodes_of(self._tree)
            if isinstance(node, ast.Call) and called(node.func) in ("append", "extend", "insert")
        }
        found = None
        for _ in range(MOST_STEPS_BACK):
            at = next((one for one in self.assigned(line) if one in appended), None)
            if at is None or at == found:
                break
            found = line = at
        return found

    def uses(self, component: str, name: str) -> list[Use]:
        """Lines that compute with an argument of a function or of a class, see `grader.edits.argument_uses`."""
        return uses(self._tree, component, name)

    def float_options(self, component: str) -> list[str]:
        """Arguments of a function or of a class, whose defaults are floats, see `grader.edits.argument_uses`."""
        return float_options(self._tree, component)

    def used(self, line: int) -> set[str]:
        """Names whose values a statement indexes, calls, goes through, or takes attributes of."""
        found: set[str] = set()
        span = self.span(line)
        for node in nodes_of(self._tree):
            of = (
                node.value if isinstance(node, (ast.Subscript, ast.Attribute))
                else node.func if isinstance(node, ast.Call)
                else node.iter if isinstance(node, (ast.For, ast.comprehension))
                else None
            )  # fmt: skip
            if isinstance(of, ast.Name) and of.lineno in span:
                found.add(of.id)
        return found

    def indexed(self, line: int) -> set[str]:
        """Names that a statement indexes along several dimensions."""
        span = self.span(line)
        nodes = [n for n in nodes_of(self._tree) if isinstance(n, ast.Subscript) and n.lineno in span]
        return {n.value.id for n in nodes if isinstance(n.value, ast.Name) and isinstance(n.slice, ast.Tuple)}

    def given_a_value(self, line: int) -> set[str]:
        """Names that a statement gives a value, other than by writing into what they have."""
        span = self.span(line)
        return {
            n.id for n in nodes_of(self._tree) if isinstance(n, ast.Name) and is_store(n) and n.lineno in span
        }

    def operands(self, line: int, sides: Sequence[bool]) -> list[str]:
        """Attributes of `self` that a statement's operators work on. Args: sides: whether the left ones, the right."""
        span = self.span(line)
        operators = [n for n in nodes_of(self._tree) if isinstance(n, ast.BinOp) and n.lineno in span]
        both = [
            one
            for node in operators
            for one, asked in zip((node.left, node.right), sides, strict=True)
            if asked
        ]
        return [
            one.attr for one in both if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "self"
        ]

    @cached_property
    def compiled(self) -> bool:
        """Return whether something is compiled by TorchScript, so that what it runs is not seen."""
        return any(
            (node.attr if isinstance(node, ast.Attribute) else node.id) == "script"
            for nodes in self._reads.values()
            for node in nodes
        )

    def made_around(self, place: Place) -> int | None:
        """The line where the attribute was made that is called with the value of an expression."""
        calls = [
            node
            for node in nodes_of(self._tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and any((one.lineno, one.col_offset) == (place.line, place.column) for one in node.args)
        ]
        return self.attribute(calls[0].func.attr, place.line) if calls else None  # type: ignore[attr-defined]

    @cached_property
    def on_default_device(self) -> list[int]:
        """Lines in which tensors are made on torch's default device, and not moved at once, here or in a helper."""
        moved = {
            id(node.value)
            for node in nodes_of(self._tree)
            if isinstance(node, ast.Attribute) and node.attr in MOVING
        }
        registered = (
            n for n in nodes_of(self._tree) if isinstance(n, ast.Call) and called(n.func) in REGISTERING
        )
        moved |= {
            id(one) for call in registered for given in call.args for one in ast.walk(given)
        }  # with the module
        made = {
            node.lineno
            for node in nodes_of(self._tree)
            if isinstance(node, ast.Call)
            and id(node) not in moved
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in FACTORIES
            and ast.unparse(node.func.value) == "torch"
            and not any(word.arg == "device" for word in node.keywords)
        }
        return sorted(made | self._without_device)

    @cached_property
    def _without_device(self) -> set[int]:
        """Lines that call a function of the file without the device that it takes."""
        takes = {
            node.name: [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
            for node in nodes_of(self._tree)
            if isinstance(node, ast.FunctionDef) and "device" in defaults_of(node)
        }
        calls = (
            node for node in nodes_of(self._tree) if isinstance(node, ast.Call) and called(node.func) in takes
        )
        return {
            one.lineno
            for one in calls
            if "device" not in {word.arg for word in one.keywords}
            and "device" not in takes[called(one.func)][: len(one.args)]
        }

    def made_on_default_device(self, line: int) -> int | None:
        """The line in which something that a line reads was made on torch's default device: there, or before."""
        made, left = self.on_default_device, [line]
        for _ in range(MOST_STEPS_BACK):
            found = next((at for one in left for at in self.span(one) if at in made), None)
            if found is not None:
                return found
            left = [at for one in left for at in (*self.assigned(one), *self.made(one))]
        return None

    @cached_property
    def _spans(self) -> dict[int, range]:
        found: dict[int, range] = {}
        for node in nodes_of(self._tree):
            if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.end_lineno is not None:
                lines = range(node.lineno, node.end_lineno + 1)
                found.update(dict.fromkeys(lines, lines))
        return found

    def span(self, line: int) -> range:
        """The lines of the statement that a line belongs to."""
        return self._spans.get(line, range(line, line + 1))

    def idle(self, ran: Collection[int] = ()) -> list[tuple[int, str]]:
        """Lines where nothing is done, or decided, with the code. Args: ran: lines of functions that count."""
        return idle(self._tree, ran)

    def unread_argument(self, component: str, ran: Collection[int]) -> tuple[str, int, int] | None:
        """An argument of a function of the file, or of a method of a class, that nothing in it reads; the line where
        that begins, and that of its first statement. Only of those that ran."""
        named = [one for one in self._tree.body if getattr(one, "name", "") == component]
        methods = [
            each for one in named for each in getattr(one, "body", ()) if isinstance(one, ast.ClassDef)
        ]
        for function in (*named, *methods):
            if not isinstance(function, ast.FunctionDef) or not {one.lineno for one in function.body} & {
                *ran
            }:
                continue
            names = {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}
            lost = [one for one in arguments_of(function) if one not in {*names, "self"}]
            first = next((one.lineno for one in function.body if not is_text(one)), function.lineno)
            if lost and function.name != "__init__":
                return lost[0], function.lineno, first
        return None

    def unread(self, ran: Collection[int]) -> tuple[str, int, int | None] | None:
        """A local of a function that ran, which nothing reads; its line, and that of the next statement.

        That is None where the local belongs to an expression.
        """
        functions = (node for node in nodes_of(self._tree) if isinstance(node, ast.FunctionDef))
        for function in functions:
            lines = sorted({node.lineno for node in ast.walk(function) if isinstance(node, ast.stmt)})
            for name, node in unread(function):
                if not ran or node.lineno in ran:
                    end = node.body[0].lineno - 1 if isinstance(node, ast.For) else node.end_lineno or 0
                    named = (
                        one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name
                    )
                    end = max(end, *(one.lineno for one in named if isinstance(one.ctx, ast.Load)), 0)
                    after = [] if isinstance(node, ast.expr) else [at for at in lines if at > end]
                    return name, node.lineno, next(iter(after), None)
        return None

    def overwritten(self, ran: Collection[int]) -> tuple[str, int] | None:
        """An argument that gets another value before anything has read it, in a function that ran; the line of that."""
        functions = (node for node in nodes_of(self._tree) if isinstance(node, ast.FunctionDef))
        found = (one for function in functions for one in overwritten(function))
        return next((one for one in found if not ran or one[1] in ran), None)

    @cached_property
    def backward(self) -> set[int]:
        """Lines of functions that torch calls for gradients, and that no record has."""
        functions = (node for node in nodes_of(self._tree) if isinstance(node, ast.FunctionDef))
        spans = [(one.lineno, one.end_lineno or 0) for one in functions if one.name == "backward"]
        return {line for first, last in spans for line in range(first, last + 1)}

    def fields_named(self, name: str) -> list[int]:
        """Lines of the bodies of classes that give a field of this name its type."""
        bodies = [one.body for one in nodes_of(self._tree) if isinstance(one, ast.ClassDef)]
        fields = [one for body in bodies for one in body if isinstance(one, ast.AnnAssign)]
        return [one.lineno for one in fields if ast.unparse(one.target) == name]

    @cached_property
    def differentiated(self) -> list[tuple[str, range, int]]:
        """Classes with a `backward` of their own: name, lines of `forward`, the `return` of `backward`."""
        found = []
        for node in (one for one in nodes_of(self._tree) if isinstance(one, ast.ClassDef)):
            own = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
            if "forward" in own and "backward" in own:
                first, last = own["forward"].lineno, own["forward"].end_lineno or 0
                returns = [one.lineno for one in ast.walk(own["backward"]) if isinstance(one, ast.Return)]
                found.append(
                    (node.name, range(first, last + 1), max(returns, default=own["backward"].lineno))
                )
        return found


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and is_store(node)
