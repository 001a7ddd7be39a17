"""What is made once, made anew where it is read: an attribute, a default that can be written to, a module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeGuard

from grader.edits.alike import worked_on
from grader.edits.code import Code
from grader.edits.parsed import nodes_of
from grader.edits.syntax import arguments_of, called, defaults_of, function_named, in_each

ROOM = ("zeros", "new_zeros", "empty", "new_empty", "full", "new_full")
WRITABLE = (ast.Dict, ast.List, ast.Set)
ROUNDS = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.For, ast.While)


class MadeOnce:
    """What one file makes once."""

    def __init__(self, code: Code) -> None:
        self._code, self._tree, self._scopes = code, code.tree, code.scopes

    def anew(self, node: ast.AST) -> Iterator[ast.AST]:
        """An attribute or a default made anew in its place."""
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield from self._attributes.get(ast.unparse(node), ())
            yield from self._for_this_call(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            function = self._scopes.function(node.lineno)
            yield from self._defaults.get((function, node.id), ()) if self._defaults else ()
            if function is not None:
                yield from (one.value for one in self._constants if node.id in map(ast.unparse, one.targets))

    def _for_this_call(self, node: ast.Attribute) -> Iterator[ast.expr]:
        """What another method has kept of its own arguments, of the same arguments of this one: `mask(src)` in
        `decode` for `self.mask`, which `encode` has set."""
        function = self._scopes.function(node.lineno)
        for other, value in self._kept.get(ast.unparse(node), ()):
            read = _names(value) & {*arguments_of(other)} - {"self"}
            if function is not None and function is not other and read <= {*arguments_of(function)}:
                yield value

    def computed_again(self, node: ast.AST) -> Iterator[ast.expr]:
        """A local, computed again where what it was made of has another value since."""
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            return
        before = [
            one for one in self._assigned.get(self._scopes.function(node.lineno), ()) if one[0] < node.lineno
        ]
        for line, _, value in [one for one in before if one[1] == node.id][-1:]:
            kinds = (ast.Name, ast.Attribute)
            read = {ast.unparse(each) for each in ast.walk(value) if isinstance(each, kinds)} - {node.id}
            if read & {name for at, name, _ in before if at > line}:
                yield value

    def with_each_call(self, node: ast.AST) -> Iterator[ast.Lambda]:
        """Arguments that `partial` keeps, and that are made of `self`, which changes: read with each call."""
        if not isinstance(node, ast.Call) or called(node.func) != "partial" or not node.args:
            return
        if any(isinstance(one, ast.Name) and one.id == "self" for one in ast.walk(node)):
            more = ast.Starred(ast.Name("rest", ast.Load()), ast.Load())
            arguments = ast.arguments([], [], ast.arg("rest"), [], [], None, [])
            yield ast.Lambda(arguments, ast.Call(node.args[0], [*node.args[1:], more], node.keywords))

    def all_defaults(self, node: ast.Name) -> list[tuple[ast.expr, ast.AST]]:
        """For a default that can be written to: each place where its function reads it or another one, and that."""
        function = self._scopes.function(node.lineno)
        own = {name: new for (of, name), new in self._defaults.items() if of is function}
        inside = (
            [one for part in function.body for one in ast.walk(part)] if function and node.id in own else []
        )
        return [
            (one, own[one.id][0])
            for one in inside
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in own
        ]

    def in_each_round(self, node: ast.AST) -> Iterator[tuple[ast.expr, ast.Assign]]:
        """The call that made a local, in place of it or of its copy; and the local's statement."""
        if isinstance(node, ast.Name) and id(node) in self._in_rounds:
            yield from ((made.value, made) for made in self._made(node))
        elif isinstance(node, ast.Call) and len(node.args) == 1 and id(node) in self._in_rounds:
            yield from ((made.value, made) for made in self._made(node.args[0]))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            modules = function_named(ast.parse("__import__('torch').nn.x", mode="eval").body, "ModuleList")
            for made in self._made(node.args[0]):  # `copies(layer, 6)`
                yield ast.Call(modules, [in_each(made.value, node.args[1])], []), made
        elif (
            isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List)
        ):
            for one in node.left.elts[:1]:
                yield from ((in_each(made.value, node.right), made) for made in self._made(one))

    def log_of_softmax(self, node: ast.AST) -> Iterator[ast.AST]:
        """The logarithm of a softmax, which may have another name, or be shifted or clamped, taken in one step."""
        if not isinstance(node, ast.Call) or called(node.func) != "log":
            return
        share = worked_on(node)
        while isinstance(share, (ast.Call, ast.BinOp, ast.Name)):
            if isinstance(share, ast.Call) and called(share.func) == "softmax":
                yield ast.Call(function_named(share.func, "log_softmax"), share.args, share.keywords)
                return
            local = list(self._made(share)) if isinstance(share, ast.Name) else []
            share = local[0].value if local else worked_on(share)

    def for_each(self, node: ast.AST) -> Iterator[ast.AST]:
        """A local that is given twice in one call, or one tuple, where the second time it is made anew."""
        items = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) else []
        names = [getattr(one, "id", None) for one in items]
        for i, one in enumerate(items):
            if names[i] is not None and names[i] in names[:i]:
                for made in self._made(one):
                    others = [*items[:i], made.value, *items[i + 1 :]]
                    if isinstance(node, ast.Call):
                        yield ast.Call(node.func, others, node.keywords)
                    else:
                        yield ast.Tuple(others, ast.Load())

    def of_dataclass(self, node: ast.AST) -> list[ast.AnnAssign]:
        """Defaults of a dataclass that call something (`rows: Rows = Rows()`), if this statement is the first."""
        for each in nodes_of(self._tree):
            if isinstance(each, ast.ClassDef) and any(
                "dataclass" in ast.unparse(one) for one in each.decorator_list
            ):
                own = [one for one in each.body if isinstance(one, ast.AnnAssign)]
                calls = [
                    one
                    for one in own
                    if isinstance(one.value, ast.Call) and called(one.value.func) != "field"
                ]
                if calls and calls[0] is node:
                    return calls
        return []

    def of_class(self, node: ast.AST) -> list[ast.Assign | ast.AnnAssign]:
        """Lists, dictionaries and objects of the file that a class makes once for all objects, if this statement is
        the first of them."""
        classes = {one.name for one in nodes_of(self._tree) if isinstance(one, ast.ClassDef)}
        for each in nodes_of(self._tree):
            body = each.body if isinstance(each, ast.ClassDef) and not each.decorator_list else []
            own = [one for one in body if isinstance(one, (ast.Assign, ast.AnnAssign))]
            found = [
                one
                for one in own
                if isinstance(one.value, WRITABLE)
                or (isinstance(one.value, ast.Call) and called(one.value.func) in classes)
            ]
            constructors = [
                one for one in body if isinstance(one, ast.FunctionDef) and one.name == "__init__"
            ]
            if found and found[0] is node and not constructors:
                return found
        return []

    def is_new_room(self, node: ast.AST) -> TypeGuard[ast.Assign]:
        """Whether a statement gives an attribute a new tensor, other than in a constructor."""
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
            return False
        function = self._scopes.function(node.lineno)
        made = isinstance(node.value, ast.Call) and called(node.value.func) in ROOM
        return made and function is not None and function.name != "__init__"

    def _made(self, node: ast.expr) -> Iterator[ast.Assign]:
        """The statement, in an earlier line, that gives a local its only value: what a call gives."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found = self._locals.get((self._scopes.function(node.lineno), node.id), [])
            if len(found) == 1 and isinstance(found[0].value, ast.Call) and found[0].lineno < node.lineno:
                yield found[0]

    @cached_property
    def _in_rounds(self) -> set[int]:
        """Names and calls that are evaluated in each round of a loop or a comprehension."""
        loops = (node for node in nodes_of(self._tree) if isinstance(node, ROUNDS))
        inside = (one for loop in loops for one in ast.walk(loop))
        return {id(one) for one in inside if isinstance(one, (ast.Name, ast.Call))}

    @cached_property
    def _locals(self) -> dict[tuple[ast.FunctionDef | None, str], list[ast.Assign]]:
        """By function and name of a local, the statements that assign it."""
        found: dict[tuple[ast.FunctionDef | None, str], list[ast.Assign]] = {}
        for node in nodes_of(self._tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        key = self._scopes.function(node.lineno), target.id
                        found.setdefault(key, []).append(node)
        return found

    @cached_property
    def _attributes(self) -> dict[str, list[ast.expr]]:
        """Attributes that can be written to, with what they are made of; also objects of the file's own classes, and
        what is made of the mode, which changes."""
        found: dict[str, list[ast.expr]] = {}
        classes = [node for node in nodes_of(self._tree) if isinstance(node, ast.ClassDef)]
        plain = {one.name for one in classes if "Module" not in "".join(map(ast.unparse, one.bases))}
        for node in nodes_of(self._tree):
            made = node.value if isinstance(node, ast.Assign) else None
            own = isinstance(made, ast.Call) and called(made.func) in plain
            own = own or (made is not None and "self.training" in map(ast.unparse, ast.walk(made)))
            own = own or (isinstance(made, ast.Tuple) and any(isinstance(one, WRITABLE) for one in made.elts))
            if isinstance(node, ast.Assign) and (own or isinstance(made, WRITABLE)):
                for target in node.targets:
                    if isinstance(target, ast.Attribute):
                        found.setdefault(ast.unparse(target), []).append(node.value)
                    elif isinstance(target, ast.Name) and any(node in one.body for one in classes):
                        found.setdefault(f"self.{target.id}", []).append(node.value)
        return found

    @cached_property
    def _kept(self) -> dict[str, list[tuple[ast.FunctionDef, ast.expr]]]:
        """By attribute: what methods other than constructors make of their arguments, and keep there."""
        found: dict[str, list[tuple[ast.FunctionDef, ast.expr]]] = {}
        for node in nodes_of(self._tree):
            function = self._scopes.function(node.lineno) if isinstance(node, ast.Assign) else None
            if isinstance(node, ast.Assign) and function is not None and function.name != "__init__":
                given = {*arguments_of(function)} - {"self"}
                for target in node.targets if _names(node.value) & given else ():
                    if isinstance(target, ast.Attribute):
                        found.setdefault(ast.unparse(target), []).append((function, node.value))
        return found

    @cached_property
    def _constants(self) -> list[ast.Assign]:
        """Outside of functions, what gives a name to something that can be written to."""
        nodes = (one for one in self._tree.body if isinstance(one, ast.Assign))
        return [one for one in nodes if isinstance(one.value, WRITABLE)]

    @cached_property
    def _assigned(self) -> dict[ast.FunctionDef | None, list[tuple[int, str, ast.expr]]]:
        """By function: the lines that give a local or an attribute a value, its name, and the value; in order."""
        return {
            function: [
                (one.lineno, ast.unparse(one.targets[0]), one.value)
                for one in made
                if isinstance(one.targets[0], (ast.Name, ast.Attribute))
            ]
            for function, made in self._code.assigned.items()
        }

    @cached_property
    def _defaults(self) -> dict[tuple[ast.FunctionDef | None, str], list[ast.expr]]:
        """Arguments whose default can be written to, by function and name, with the default."""
        found: dict[tuple[ast.FunctionDef | None, str], list[ast.expr]] = {}
        for node in nodes_of(self._tree):
            if isinstance(node, ast.FunctionDef):
                for name, default in defaults_of(node).items():
                    if isinstance(default, (*WRITABLE, ast.Call)):
                        found[node, name] = [default]
        return found


def _names(node: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
