"""Keyword arguments that a call may lack: those of its signature, with values that are known where it stands."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType

from grader.edits.code import Code
from grader.edits.parsed import nodes_of
from grader.edits.syntax import called, constant, declared, defaults_of

ROOTS = ("torch", "math")  # whose functions' signatures are looked at
MOST_VALUES = 6  # of one argument
MOST_OWN = 4  # of an argument of the file's own
CHANGEABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
DIMS = (-1, 0, 1, -2)


class Keywords:
    """The keyword arguments of one file's calls."""

    def __init__(self, code: Code) -> None:
        tree = code.tree
        self._known, self._code = code.constants, code
        self._modules = dict(_imported(tree))
        self._own = {node.name: node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef)}
        self._classes: dict[int, str] = {}  # by id of a call of `cls` or of `super().__init__`: whose it is
        # of classes that declare fields: all of them, and those that have a default
        self._fields: dict[str, list[str]] = {}
        self._optional_fields: dict[str, dict[str, ast.expr]] = {}
        for node in (one for one in nodes_of(tree) if isinstance(one, ast.ClassDef)):
            fields = declared(node)
            self._fields[node.name] = [name for name, _ in fields]
            self._optional_fields[node.name] = {name: value for name, value in fields if value is not None}
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                    self._own[node.name] = one
            for call in (one for one in ast.walk(node) if isinstance(one, ast.Call)):
                if called(call.func) == "cls":
                    self._classes[id(call)] = node.name
                elif ast.unparse(call.func) == "super().__init__" and node.bases:
                    self._classes[id(call)] = called(node.bases[0])

    def more(self, node: ast.AST) -> Iterator[ast.Call]:
        """A call with one keyword argument more, of those that its signature has."""
        if not isinstance(node, ast.Call):
            return
        scopes = self._code.scopes
        known = (*self._code.given(node), *scopes.names(node.lineno), *scopes.constants)
        names = [name for name in dict.fromkeys(known) if name != "self"]
        given = {word.arg for word in node.keywords}
        for name, default in self._optional(node).items():
            if name not in given:
                for value in self._values(name, default, names):
                    yield ast.Call(node.func, node.args, [*node.keywords, ast.keyword(name, value)])

    def handed_on(self, node: ast.AST) -> Iterator[ast.expr]:
        """An argument that is handed on to what has one of this name."""
        if isinstance(node, ast.Call):
            yield from self._handed_on(node, self._code.given(node))
        if isinstance(node, ast.Name):
            yield from self._handed_on_later(node, self._code.given(node))

    def _handed_on(self, node: ast.Call, names: Sequence[str]) -> Iterator[ast.Call]:
        """A call of what the file has with a value that has the name of an argument, and is not handed on; with its
        values in the order of the arguments of these names."""
        order = self._arguments(node)
        given_names = [one.id for one in node.args if isinstance(one, ast.Name)]
        if len(given_names) == len(node.args) > 1 and {*given_names} <= {*order}:
            right = sorted(node.args, key=lambda one: order.index(ast.unparse(one)))
            if right != node.args:
                yield ast.Call(node.func, right, node.keywords)
        if self._name(node) in self._own or self._name(node) in self._fields:
            given = {word.arg for word in node.keywords} | {getattr(one, "id", None) for one in node.args}
            for name in self._optional(node):
                if name in names and name not in given:
                    more = ast.keyword(name, ast.Name(name, ast.Load()))
                    yield ast.Call(node.func, node.args, [*node.keywords, more])

    def _handed_on_later(self, node: ast.Name, names: Sequence[str]) -> Iterator[ast.Lambda]:
        """What the file has, and calls elsewhere, with a value that has the name of an argument: `f` as
        `lambda *given: f(*given, pad=pad)`."""
        own = self._own.get(node.id)
        for name in defaults_of(own) if own is not None and isinstance(node.ctx, ast.Load) else ():
            if name in names:
                given = ast.Starred(ast.Name("given", ast.Load()), ast.Load())
                call = ast.Call(node, [given], [ast.keyword(name, ast.Name(name, ast.Load()))])
                yield ast.Lambda(ast.arguments([], [], ast.arg("given"), [], [], None, []), call)

    def _arguments(self, node: ast.Call) -> list[str]:
        """The positional arguments of what the file has."""
        own = self._own.get(self._name(node))
        if own is None:
            return self._fields.get(self._name(node), [])
        names = [one.arg for one in (*own.args.posonlyargs, *own.args.args)]
        return names[1:] if names[:1] == ["self"] else names

    def _name(self, node: ast.Call) -> str:
        return self._classes.get(id(node), called(node.func))

    def _optional(self, node: ast.Call) -> Mapping[str, object]:
        """The arguments that a call does not give, and need not, with their defaults."""
        if any(isinstance(one, ast.Starred) for one in node.args):
            return {}
        if self._name(node) in self._own or self._name(node) in self._fields:
            return dict.fromkeys(self._own_optional(node))
        function = self._function(node.func)
        try:
            parameters = [] if function is None else list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # of a built-in function
            return {}
        plain_ones = [one for one in parameters if one.kind is not inspect.Parameter.KEYWORD_ONLY]
        left = [*plain_ones[len(node.args) :], *(one for one in parameters if one not in plain_ones)]
        return {one.name: one.default for one in left if one.default is not inspect.Parameter.empty}

    def _own_optional(self, node: ast.Call) -> dict[str, ast.expr]:
        """The arguments that a call of what the file has does not give, and need not, with their defaults."""
        own = self._own.get(self._name(node))
        fields = self._optional_fields.get(self._name(node), {})
        defaults = fields if own is None else defaults_of(own)
        taken = [*self._arguments(node)[: len(node.args)], *(word.arg for word in node.keywords)]
        starred = any(isinstance(one, ast.Starred) for one in node.args)
        return {} if starred else {name: value for name, value in defaults.items() if name not in taken}

    def own(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        """A call of what the file has with an argument that it could do without; with new ones in place of defaults
        that all calls share, where those are."""
        if isinstance(node, ast.Call):
            known = dict.fromkeys((*self._code.scopes.names(node.lineno), *self._code.given(node)))
            for line, new in self._with_own(node, [one for one in known if one != "self"]):
                yield line, self._code.file.with_one(node, new)

    def _with_own(self, node: ast.Call, names: Sequence[str]) -> Iterator[tuple[int, ast.Call]]:
        left = self._own_optional(node)
        shared = {name: value for name, value in left.items() if isinstance(value, CHANGEABLE)}
        if shared:
            words = [ast.keyword(name, value) for name, value in shared.items()]
            line = next(iter(shared.values())).lineno
            yield line, ast.Call(node.func, node.args, [*node.keywords, *words])
        for name in left:
            for value in _nearest(name, names)[:MOST_OWN]:
                more = [*node.keywords, ast.keyword(name, value)]
                yield node.lineno, ast.Call(node.func, node.args, more)

    def _function(self, node: ast.expr) -> Callable[..., object] | None:
        """The function, class or method of torch that an expression names: `nn.Embedding.from_pretrained`."""
        first, *rest = ast.unparse(node).split(".")
        root, *path = self._modules.get(first, first).split(".")
        found: object = sys.modules.get(root) if root in ROOTS else None
        for part in (*path, *rest):
            if isinstance(found, type):
                found = getattr(found, part, None)
            else:
                found = (
                    vars(found).get(part) if isinstance(found, ModuleType) else None
                )  # nothing is imported
        return found if callable(found) else None

    def _values(self, name: str, default: object, names: Sequence[str]) -> Iterator[ast.expr]:
        if isinstance(default, bool):
            yield ast.Constant(not default)
        elif name in ("dim", "axis"):
            yield from map(constant, DIMS)
        else:
            yield from _nearest(name, names)[:MOST_VALUES]
            if isinstance(default, (int, float)):
                yield from (constant(one) for one in self._known[:MOST_VALUES] if one != default)


def _nearest(name: str, names: Sequence[str]) -> list[ast.Name]:
    """Names, those first that are most like one."""
    order = sorted(names, key=lambda one: (one != name, one not in name and name not in one))
    return [ast.Name(one, ast.Load()) for one in order]


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that a file imports, with what they are: `F`, "torch.nn.functional"."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield (one.asname, one.name) if one.asname else (one.name.split(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)
