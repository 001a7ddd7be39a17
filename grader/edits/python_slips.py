"""What goes wrong in Python and not in mathematics: a name of an inner function alone, an attribute of the class where
one of the object is meant, a method that does not call the one it overrides, arguments that are dropped on the way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.code import Code
from grader.edits.file_text import FileText
from grader.edits.parsed import nodes_of
from grader.edits.syntax import called

OVERRIDDEN = ("train", "apply", "_apply", "requires_grad_", "zero_grad", "load_state_dict")  # of every module
FUNCTIONS = (ast.FunctionDef, ast.Lambda)
MOST_FIELDS = 6


def not_its_own(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A name that an inner function gives a value, and that is the outer one's: with `nonlocal`."""
    if not isinstance(node, ast.FunctionDef):
        return
    outer = _given_a_value(node)
    for inner in (one for one in ast.walk(node) if isinstance(one, ast.FunctionDef) and one is not node):
        for name in sorted(_given_a_value(inner) & outer):
            yield inner.body[0].lineno, code.file.with_before(inner.body[0], ast.Nonlocal([name]))


def _given_a_value(function: ast.FunctionDef) -> set[str]:
    """The names to which a function itself gives a value."""
    found: set[str] = set()
    left: list[ast.AST] = list(function.body)
    while left:
        one = left.pop()
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.add(one.id)
        if not isinstance(one, FUNCTIONS):
            left += ast.iter_child_nodes(one)
    return found


def of_the_object(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """An attribute that a method gives its class, in the object."""
    if not isinstance(node, ast.FunctionDef):
        return
    classes = {one.name for one in nodes_of(code.tree) if isinstance(one, ast.ClassDef)} | {"type(self)"}
    for one in ast.walk(node):
        changed = isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
        if changed and isinstance(one, ast.Attribute) and ast.unparse(one.value) in classes:
            yield one.lineno, code.file.with_text(one, f"self.{one.attr}")


def with_its_base(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A method that overrides one of every module, with a call of that."""
    if isinstance(node, ast.FunctionDef) and node.name in OVERRIDDEN and "super()" not in ast.unparse(node):
        given = ", ".join(one.arg for one in node.args.args[1:])
        base = ast.parse(f"super().{node.name}({given})").body[0]
        last = node.body[-1]
        yield last.lineno, code.file.with_before(last, base)


def all_handed_on(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A function that takes any keyword arguments and reads them nowhere: with them in the call that has the others."""
    words = node.args.kwarg if isinstance(node, ast.FunctionDef) else None
    inside = list(ast.walk(node)) if words is not None else []
    if words is None or any(isinstance(one, ast.Name) and one.id == words.arg for one in inside):
        return
    for one in inside:
        if isinstance(one, ast.Call) and any(isinstance(arg, ast.Starred) for arg in one.args):
            more = ast.keyword(None, ast.Name(words.arg, ast.Load()))
            yield one.lineno, code.file.with_one(one, ast.Call(one.func, one.args, [*one.keywords, more]))


def of_self(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A name that nothing has made, as an attribute of `self`."""
    if isinstance(node, ast.FunctionDef) and node.args.args[:1] and node.args.args[0].arg == "self":
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and code.is_unknown(one.id):
                yield one.lineno, code.file.with_text(one, f"self.{one.id}")


def as_property(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A method without arguments that is read as if it were an attribute, as a property."""
    if (
        isinstance(node, ast.FunctionDef)
        and not node.decorator_list
        and [one.arg for one in node.args.args] == ["self"]
    ):
        read = (
            one for one in nodes_of(code.tree) if isinstance(one, ast.Attribute) and one.attr == node.name
        )
        if any(id(one) not in code.no_values for one in read):
            yield node.lineno, code.file.with_line(node.lineno - 1, node.col_offset, "@property")


def overriding(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A method under the name of another one of a base class of the file: one that its own class has not got."""
    if not isinstance(node, ast.FunctionDef):
        return
    classes = {one.name: one for one in nodes_of(code.tree) if isinstance(one, ast.ClassDef)}
    own = next((one for one in classes.values() if node in one.body), None)
    if own is None or node.name.startswith("__"):
        return
    names = [one.name for one in own.body if isinstance(one, ast.FunctionDef)]
    bases = [classes[called(one)] for one in own.bases if called(one) in classes]
    methods = [one for base in bases for one in base.body if isinstance(one, ast.FunctionDef)]
    for one in methods:
        alike = len(one.args.args) == len(node.args.args) and not one.name.startswith("__")
        if alike and one.name not in names:
            lines, at = list(code.file.lines), node.lineno - 1
            lines[at] = lines[at].replace(f"def {node.name}(".encode(), f"def {one.name}(".encode(), 1)
            yield node.lineno, b"".join(lines).decode("utf-8", "replace")


def fields_exchanged(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A field of a class and the next one, which are given by position, in the other order."""
    if isinstance(node, ast.AnnAssign):
        classes = (one for one in nodes_of(code.tree) if isinstance(one, ast.ClassDef) and node in one.body)
        body = next((one.body for one in classes), [])
        after = body[body.index(node) + 1 :][:1] if body else []
        for one in after if isinstance(after[0] if after else None, ast.AnnAssign) else ():
            text = FileText(code.file.with_one(one, node))
            yield node.lineno, text.with_one(node, one)


def by_another_field(node: ast.AST, code: Code) -> Iterator[ast.Call]:
    """What is read by name, `attrgetter("total")`, by the name of another field or property of the file's classes."""
    if isinstance(node, ast.Call) and called(node.func) in ("attrgetter", "getattr", "methodcaller"):
        at = next((i for i, one in enumerate(node.args) if _is_text(one)), None)
        for other in _fields(code.tree)[:MOST_FIELDS] if at is not None else ():
            args = [ast.Constant(other) if i == at else one for i, one in enumerate(node.args)]
            yield ast.Call(node.func, args, node.keywords)


def _fields(tree: ast.Module) -> list[str]:
    """The fields and properties of a file's classes, properties first: they say more."""
    classes = [one for one in nodes_of(tree) if isinstance(one, ast.ClassDef)]
    body = [one for some in classes for one in some.body]
    properties = [one.name for one in body if isinstance(one, ast.FunctionDef) and one.decorator_list]
    fields = [ast.unparse(one.target) for one in body if isinstance(one, ast.AnnAssign)]
    return list(dict.fromkeys([*properties, *fields]))


def by_value(node: ast.AST, code: Code) -> Iterator[ast.Compare]:
    """A member of an enumeration that is compared with a text, by its value."""
    if not isinstance(node, ast.Compare) or not isinstance(node.left, (ast.Name, ast.Attribute)):
        return
    if any(map(_is_text, node.comparators)) and _has_enumeration(code.tree):
        yield ast.Compare(ast.Attribute(node.left, "value", ast.Load()), node.ops, node.comparators)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _has_enumeration(tree: ast.Module) -> bool:
    classes = (one for one in nodes_of(tree) if isinstance(one, ast.ClassDef))
    return any("Enum" in ast.unparse(base) for one in classes for base in one.bases)
