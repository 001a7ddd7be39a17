"""Syntax trees: reading modules, and small questions about nodes."""

from __future__ import annotations

import builtins
import re
import sys
import sysconfig
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from zoo.core.errors import ZooError

Statement = cst.BaseStatement
Definition = cst.ClassDef | cst.FunctionDef | cst.SimpleStatementLine
LAYOUT = re.compile(
    r"whitespace|lines|header|footer|lpar|rpar|bracket|brace|comma|semicolon|equal|colon|indent"
)
"""Fields of nodes that hold whitespace and punctuation."""
NO_NODES = (str, bool, type(None), cst.MaybeSentinel)
"""What else a field may hold, beside nodes and lists of them."""
LONGEST_LINE = 108
CONSTANTS = {"True": True, "False": False, "None": None}


@lru_cache(maxsize=50_000)
def code(node: cst.CSTNode) -> str:
    """The source of a node."""
    return cst.Module([]).code_for_node(node)


def expression(text: str) -> cst.BaseExpression:
    """The node of an expression."""
    return cst.parse_expression(text)


@dataclass
class Source:
    """A module as it is written.

    Attributes:
        definitions: classes, functions and constants of the top level, by name.
        functions: all functions and methods by the line of their `def`, or of their first decorator.
        positions: of every node.
        imports: the statement that binds a name, as ("module", "name", "as").
    """

    module: ModuleType
    definitions: dict[str, Definition] = field(default_factory=dict)
    functions: dict[int, cst.FunctionDef] = field(default_factory=dict)
    positions: Any = None
    imports: dict[str, tuple[str, str, str]] = field(default_factory=dict)


def source_of(name: str) -> Source:
    """The source of an imported module. Raises ZooError if it has no file to read."""
    return _read(sys.modules[name])


@cache
def _read(module: ModuleType) -> Source:
    """By the module: several files may be imported under one name, one after the other."""
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith(".py"):
        raise ZooError(
            f"The source of module {module.__name__} is not found. A part can be exported if it is a .py file."
        )
    wrapper = MetadataWrapper(cst.parse_module(Path(file).read_text(encoding="utf-8")))
    found = Source(module, positions=wrapper.resolve(PositionProvider))
    found.definitions = _definitions(wrapper.module.body)
    walk(wrapper.module, _Reader(found))
    return found


def _definitions(body: Any) -> dict[str, Definition]:
    found: dict[str, Definition] = {}
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
            found[node.name.value] = node
        elif isinstance(node, cst.SimpleStatementLine):
            if pairs := _paired(node):
                first = next(iter(pairs))
                pairs[first] = _commented(pairs[first], following)
                found |= pairs
                continue
            for small in node.body:
                targets = [one.target for one in small.targets] if isinstance(small, cst.Assign) else []
                targets += [small.target] if isinstance(small, cst.AnnAssign) else []
                for target in targets:
                    found |= {name.value: _commented(node, following) for name in names_in(target)}
    return found


def _commented(node: Any, following: Any) -> Any:
    """A constant with the docstring behind it as a comment, where that fits its line."""
    text = docstring_of(cst.IndentedBlock([following])) if following is not None else None
    text = f"# {text[0].lower()}{text[1:].rstrip('.')}" if text and "\n" not in text else ""
    if not text or node.trailing_whitespace.comment or len(code(node)) + len(text) > LONGEST_LINE:
        return node
    comment = cst.TrailingWhitespace(cst.SimpleWhitespace("  "), cst.Comment(text))
    return node.with_changes(trailing_whitespace=comment)


def _paired(node: cst.SimpleStatementLine) -> dict[str, Definition]:
    """`A, B = 1, 2` as a statement for each name."""
    small = node.body[0]
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return {}
    target, value = small.targets[0].target, small.value
    if not isinstance(target, cst.Tuple) or not isinstance(value, cst.Tuple):
        return {}
    made: dict[str, Definition] = {}
    for name, one in zip(target.elements, value.elements, strict=True):
        if not isinstance(name.value, cst.Name):
            return {}
        line = cst.parse_statement(f"{code(name.value)} = {code(one.value)}")
        assert isinstance(line, cst.SimpleStatementLine)
        made[name.value.value] = line
    return made


class _Reader(cst.CSTVisitor):
    """Fills in functions and imports."""

    def __init__(self, found: Source) -> None:
        self.found = found

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.found.functions[first_line(self.found, node)] = node

    def visit_Import(self, node: cst.Import) -> None:
        for one in node.names:
            name, bound = code(one.name), code(one.asname.name) if one.asname else code(one.name)
            self.found.imports[bound.partition(".")[0]] = (name, "", bound)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        if isinstance(node.names, cst.ImportStar):
            return
        module = "." * len(node.relative) + (code(node.module) if node.module else "")
        for one in node.names:
            bound = code(one.asname.name) if one.asname else code(one.name)
            self.found.imports[bound] = (module, code(one.name), bound)


def first_line(found: Source, node: cst.FunctionDef) -> int:
    """The line of `def`, or of the first decorator: `co_firstlineno` of its code."""
    first = node.decorators[0] if node.decorators else node
    return int(found.positions[first].start.line)


@cache
def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple(str(Path(paths[key]).resolve()) for key in ("stdlib", "platstdlib", "purelib", "platlib"))


def is_own(name: str | None, roots: frozenset[str] = frozenset()) -> bool:
    """Return whether the source of a module comes along: the zoo's, a plugin's (`roots`), a file of the user's own."""
    module = sys.modules.get(name or "")
    if module is None or name is None or name in sys.builtin_module_names:
        return False
    root = name.partition(".")[0]
    if root in ("zoo", *roots):
        return True
    file = getattr(module, "__file__", None)
    return (
        file is not None
        and root not in sys.stdlib_module_names
        and not str(Path(file).resolve()).startswith(_libraries())
    )


class NameVisitor(cst.CSTVisitor):
    """Visits names that are read or bound: no attributes, no keywords."""

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        """Visit x of x.y alone."""
        walk(node.value, self)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        """Visit y of x=y alone."""
        walk(node.value, self)
        return False


@lru_cache(maxsize=50_000)
def names_in(node: cst.CSTNode) -> list[cst.Name]:
    """All names that are read or bound in a node; no attributes, no keywords."""
    found: list[cst.Name] = []

    class Names(NameVisitor):
        def visit_Name(self, node: cst.Name) -> None:
            found.append(node)

    walk(node, Names())
    return found


@lru_cache(maxsize=50_000)
def attributes_in(node: cst.CSTNode) -> tuple[str, ...]:
    """The names of all attributes that are read in a node."""
    found: list[str] = []

    class Attributes(cst.CSTVisitor):
        def visit_AssignTarget(self, node: cst.AssignTarget) -> bool:
            return not _is_target(node.target)

        def visit_AnnAssign(self, node: cst.AnnAssign) -> bool:
            if node.value is not None:
                walk(node.value, self)
            return False

        def visit_Attribute(self, node: cst.Attribute) -> None:
            found.append(node.attr.value)

    walk(node, Attributes())
    return tuple(found)


def _is_target(node: cst.BaseExpression) -> bool:
    """Return whether all that is assigned to are attributes of `self` and names."""
    if isinstance(node, (cst.Tuple, cst.List)):
        return all(_is_target(one.value) for one in node.elements)
    return isinstance(node, cst.Name) or self_attribute(node) is not None


def self_attribute(node: cst.CSTNode) -> str | None:
    """The name of an attribute of `self`, None for anything else."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self":
        return node.attr.value
    return None


def is_pure(node: cst.BaseExpression) -> bool:
    """Return whether evaluating an expression of names and attributes does nothing else."""
    if isinstance(node, cst.Attribute):
        return is_pure(node.value)
    if isinstance(node, cst.Call):  # type(x)
        return code(node.func) == "type" and len(node.args) == 1 and is_pure(node.args[0].value)
    return isinstance(node, (cst.Name, cst.SimpleString, cst.Integer, cst.Float))


def is_constant(node: cst.CSTNode) -> bool:
    """Return whether a node is True, False or None."""
    return isinstance(node, cst.Name) and node.value in CONSTANTS


def docstring_of(body: cst.BaseSuite) -> str | None:
    """The docstring of a function or class, indented as it is."""
    first = body.body[0] if body.body else None
    if isinstance(first, cst.SimpleStatementLine) and isinstance(first.body[0], cst.Expr):
        value = first.body[0].value
        if isinstance(value, cst.SimpleString):
            return str(value.evaluated_value)
    return None


def without_docstring(body: cst.BaseSuite) -> list[Any]:
    """The statements of a block but its docstring."""
    return list(body.body[1:] if docstring_of(body) is not None else body.body)


def parameters(node: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    """All parameters but `self`, in order; `*args` and `**kwargs` are not among them."""
    given = node.params
    every = [*given.posonly_params, *given.params, *given.kwonly_params]
    return [one for one in every if one.name.value != "self"]


@lru_cache(maxsize=50_000)
def bound_names(node: cst.CSTNode) -> set[str]:
    """Names that a function binds: parameters and what it assigns to."""
    found: set[str] = set()

    class Bound(cst.CSTVisitor):
        def visit_Param(self, node: cst.Param) -> None:
            found.add(node.name.value)

        def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
            self._add(node.target)

        def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
            self._add(node.target)

        def visit_AugAssign(self, node: cst.AugAssign) -> None:
            self._add(node.target)

        def visit_For(self, node: cst.For) -> None:
            self._add(node.target)

        def visit_CompFor(self, node: cst.CompFor) -> None:
            self._add(node.target)

        def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
            self._add(node.target)

        def visit_AsName(self, node: cst.AsName) -> None:
            self._add(node.name)

        def visit_ImportAlias(self, node: cst.ImportAlias) -> None:
            self._add(node.asname.name if node.asname else node.name)

        def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
            found.add(node.name.value)

        def _add(self, target: cst.CSTNode) -> None:
            if isinstance(target, cst.Name):
                found.add(target.value)
            elif isinstance(target, (cst.Tuple, cst.List)):
                for one in target.elements:
                    self._add(one.value)
            elif isinstance(target, cst.StarredElement):
                self._add(target.value)

    walk(node, Bound())
    return found


def assigned_names(body: Any) -> set[str]:
    """Names that a function's body assigns to."""
    return set().union(*(bound_names(one) for one in body)) if body else set()


def is_builtin(name: str) -> bool:
    """Return whether a name is Python's own."""
    return hasattr(builtins, name) or name in ("__name__", "__file__")


class _Fields(cst.CSTVisitor):
    """Notes which fields of a node libcst visits, in its order."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        """As in libcst; goes no further."""
        return False

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """As in libcst."""
        self.names.append(attribute)


_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields(node: cst.CSTNode) -> tuple[str, ...]:
    """The fields of a node that hold code, not whitespace, in the order in which libcst visits them."""
    found = _FIELDS.get(type(node))
    if found is None:
        fields = _Fields()
        node._visit_and_replace_children(fields)
        found = tuple(name for name in fields.names if not LAYOUT.search(name))
        _FIELDS[type(node)] = found
    return found


def walk(node: cst.CSTNode, visitor: cst.CSTVisitor) -> None:
    """As `node.visit(visitor)`, without copying all nodes; whitespace is not visited."""
    if visitor.on_visit(node):
        for name in _fields(node):
            value = getattr(node, name)
            if not isinstance(value, NO_NODES):
                for one in value if isinstance(value, (list, tuple)) else (value,):
                    walk(one, visitor)
    visitor.on_leave(node)


def visited(node: Any, transformer: cst.CSTTransformer) -> Any:
    """As `node.visit(transformer)`, but what has not changed stays the same object; whitespace is not visited."""
    changed = {}
    if transformer.on_visit(node):
        for name in _fields(node):
            before = getattr(node, name)
            after = _visited_field(before, transformer)
            if after is not before:
                changed[name] = after
    return transformer.on_leave(node, node.with_changes(**changed) if changed else node)


def _visited_field(value: Any, transformer: cst.CSTTransformer) -> Any:
    """A node, or a sequence of nodes, after a transformer; itself where nothing changed."""
    if isinstance(value, NO_NODES):
        return value
    if not isinstance(value, (list, tuple)):
        result = visited(value, transformer)
        return None if isinstance(result, cst.RemovalSentinel) else result
    found: list[Any] = []
    for one in value:
        result = visited(one, transformer)
        if isinstance(result, cst.FlattenSentinel):
            found += result
        elif not isinstance(result, cst.RemovalSentinel) and not _is_emptied(one, result):
            found.append(result)
    same = len(found) == len(value) and all(a is b for a, b in zip(found, value, strict=True))
    return value if same else tuple(found)


def _is_emptied(before: cst.CSTNode, after: cst.CSTNode) -> bool:
    """Return whether a line has lost all of its statements."""
    return isinstance(after, cst.SimpleStatementLine) and not after.body and before is not after
