"""What a file keeps from one call to the next, and what its objects hold that no module knows of."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cached_property

from torch import nn

from grader.edits.definitions import Definitions
from grader.edits.parsed import nodes_of
from grader.edits.syntax import called, needs_gradient

COLLECTIONS = (ast.Tuple, ast.List, ast.Dict, ast.ListComp, ast.DictComp)
MOST_CALLS_DEEP = 3  # from a constructor to a method that it calls


class State(Definitions):
    """Of one file."""

    def modes(self, ran: Collection[int]) -> list[tuple[int, str]]:
        """Lines that ran and put a module in a mode, in order, each with its call."""
        calls = [one for one in nodes_of(self._tree) if isinstance(one, ast.Call) and one.lineno in ran]
        return sorted(
            (one.lineno, ast.unparse(one)) for one in calls if called(one.func) in ("train", "eval")
        )

    def state(self, ran: Collection[int]) -> list[tuple[int, str]]:
        """Lines of modules that ran outside of constructors and give attributes a value, with the attribute; and lines
        of functions that put something into what the file makes once."""
        found = [one for one in self._put_into_constants if self.functions([one[0]]) & {*ran}]
        classes = [one for one in nodes_of(self._tree) if isinstance(one, ast.ClassDef)]
        modules = [one for one in classes if one.name not in self._plain_classes]
        for node in (node for one in modules for node in ast.walk(one)):
            target = node.target if isinstance(node, ast.AugAssign) else None
            for one in node.targets if isinstance(node, ast.Assign) else [target]:
                base = one.value if isinstance(one, ast.Subscript) else one
                if isinstance(base, ast.Attribute) and called(base.value) == "self" and base.lineno in ran:
                    function = self._function(base.lineno)
                    if function is not None and function.name not in self._constructing:
                        found.append((base.lineno, ast.unparse(base)))
        return sorted(found)

    @cached_property
    def _put_into_constants(self) -> list[tuple[int, str]]:
        """Lines of functions that change what a name outside of functions stands for, with the name."""
        found = []
        for function in (one for one in nodes_of(self._tree) if isinstance(one, ast.FunctionDef)):
            inside = list(ast.walk(function))
            names = {one for node in inside if isinstance(node, ast.Global) for one in node.names}
            local = {node.id for node in inside if isinstance(node, ast.Name) and is_store(node)} - names
            local |= {node.arg for node in inside if isinstance(node, ast.arg)}
            methods = [
                one.func for one in inside if isinstance(one, ast.Call) and called(one.func) == "setdefault"
            ]
            kept = [one.value for one in methods if isinstance(one, ast.Attribute)]
            kept += [one for one in inside if isinstance(one, ast.Name) and one.id in names and is_store(one)]
            for one in (*kept, *changed_in_place(inside)):
                if isinstance(one, ast.Name) and one.id in self.constants and one.id not in local:
                    found.append((one.lineno, one.id))
            owners = {"cls", *self._plain_classes}
            found += [
                (one.lineno, ast.unparse(one.value))
                for one in inside
                if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)
                if isinstance(one.value, ast.Attribute) and called(one.value.value) in owners
            ]
        return found

    @cached_property
    def _constructing(self) -> set[str]:
        """The names of constructors, and of the methods that they call."""
        methods = [one for one in nodes_of(self._tree) if isinstance(one, ast.FunctionDef)]
        found = {"__init__"}
        for _ in range(MOST_CALLS_DEEP):
            inside = [node for one in methods if one.name in found for node in ast.walk(one)]
            own = [one.func for one in inside if isinstance(one, ast.Call)]
            found |= {
                one.attr for one in own if isinstance(one, ast.Attribute) and called(one.value) == "self"
            }
        return found

    @cached_property
    def _plain_classes(self) -> set[str]:
        """Classes that are no modules, by what is written as their bases."""
        classes = [node for node in nodes_of(self._tree) if isinstance(node, ast.ClassDef)]
        bases = {one.name: [called(base) for base in one.bases] for one in classes}
        plain = {name for name, of in bases.items() if not any("Module" in one or one in bases for one in of)}
        for name, of in bases.items():  # of the file's own classes: as these are
            plain |= {name} if of and all(one in plain for one in of) else set()
        return plain

    @cached_property
    def hidden_parts(self) -> list[tuple[int, str]]:
        """Lines where an attribute of `self` gets arguments of the constructor inside of what is no module: a tuple, a
        list, a dictionary, an object of a class that is none; with the attribute."""
        found = []
        for function, node, target in self._attributes_made:
            value = node.value
            holds = isinstance(value, (ast.Tuple, ast.List, ast.Dict))
            holds = holds or (isinstance(value, ast.Call) and called(value.func) in self._plain_classes)
            names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
            if holds and names & {one.arg for one in function.args.args[1:]}:
                found.append((node.lineno, ast.unparse(target)))
        return found

    @cached_property
    def hidden_parameters(self) -> list[tuple[int, str]]:
        """The same for parameters that are made inside of a plain collection, or as plain tensors with a gradient; then
        the line in a function that gives them."""
        return [
            (line, ast.unparse(target))
            for _, node, target in self._attributes_made
            for given in self._given_back(node.value)
            if _holds_parameters(given)
            for line in dict.fromkeys((node.lineno, given.lineno))
        ]

    @cached_property
    def hidden_modules(self) -> list[tuple[int, str]]:
        """The same for modules of torch that are made inside of a plain collection, or of an object in it."""
        return [
            (node.lineno, ast.unparse(target))
            for _, node, target in self._attributes_made
            if isinstance(node.value, COLLECTIONS) and any(map(_makes_module, ast.walk(node.value)))
        ]

    @property
    def _attributes_made(
        self,
    ) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.Assign, ast.Attribute]]:
        """Statements of constructors that make an attribute."""
        for node in (one for one in nodes_of(self._tree) if isinstance(one, ast.Assign)):
            function, target = self._function(node.lineno), node.targets[0]
            if isinstance(target, ast.Attribute) and function is not None and function.name == "__init__":
                yield function, node, target

    def _given_back(self, value: ast.expr) -> list[ast.expr]:
        """A value; of a call of one of the file's own functions, what that returns."""
        name = called(value.func) if isinstance(value, ast.Call) else ""
        functions = [
            one for one in nodes_of(self._tree) if isinstance(one, ast.FunctionDef) and one.name == name
        ]
        inside = [node for one in functions for node in ast.walk(one) if isinstance(node, ast.Return)]
        return [node.value for node in inside if node.value is not None] or [value]


def _holds_parameters(value: ast.expr) -> bool:
    """Return whether an expression is a plain collection in which parameters are made, or a tensor that is to learn."""
    made = (one for one in ast.walk(value) if isinstance(one, ast.Call) and called(one.func) == "Parameter")
    return needs_gradient(value) or (isinstance(value, COLLECTIONS) and next(made, None) is not None)


def _makes_module(node: ast.AST) -> bool:
    made = getattr(nn, called(node.func), None) if isinstance(node, ast.Call) else None
    return isinstance(made, type) and issubclass(made, nn.Module)


def is_store(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)


def changed_in_place(nodes: Collection[ast.AST]) -> Iterator[ast.expr]:
    """What statements write into, or call a method of that may change it: `x` of `x[0] = y` and of `x.append(y)`."""
    for node in nodes:
        written: list[ast.expr] = []
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            written = [one for one in targets if isinstance(one, (ast.Subscript, ast.Attribute))]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            written = [node.value.func]
        for one in written:
            while isinstance(one, (ast.Subscript, ast.Attribute)):
                one = one.value
            yield one
