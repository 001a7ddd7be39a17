"""Changes of what `self` gets: another module, a parameter for a buffer, a list of modules, none at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from grader.edits.code import Code
from grader.edits.kept_things import registered
from grader.edits.parsed import nodes_of
from grader.edits.syntax import called, defaults_of, needs_gradient

MOST_VALUES = 4  # of an option
MADE_BY: dict[str, type[ast.expr]] = {"list": ast.List, "tuple": ast.List, "dict": ast.Dict}
CONTAINERS: dict[type[ast.expr], str] = {
    ast.List: "ModuleList",
    ast.ListComp: "ModuleList",
    ast.Dict: "ModuleDict",
    ast.DictComp: "ModuleDict",
    ast.Name: "ModuleList",
    ast.Call: "ModuleList",
}


class Modules:
    """The modules of one file."""

    def __init__(self, code: Code) -> None:
        self._trees, self._code = code.trees, code

    def left_out(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield assignments to `self` of a module that does nothing."""
        if (
            self.nn is not None
            and isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Attribute)
            and isinstance(node.value, ast.Call)
        ):
            yield ast.Assign(node.targets, ast.Call(ast.Attribute(self.nn, "Identity", ast.Load()), [], []))

    def in_place_of_nothing(self, node: ast.AST) -> Iterator[ast.AST]:
        """A module that right code has, in place of one that does nothing."""
        if isinstance(node, ast.Call) and called(node.func) == "Identity":
            others = [one for one in self.classes if called(one) != "Identity"]
            yield from (ast.Call(one, node.args, node.keywords) for one in others)

    def not_using(self, node: ast.AST) -> Iterator[ast.AST]:
        """Another module in place of one that does nothing, and gets arguments all the same."""
        if isinstance(node, ast.Call) and (node.args or node.keywords):
            yield from self.in_place_of_nothing(node)

    def by_option(self, node: ast.AST) -> Iterator[ast.Assign]:
        """A module that is always made, made for one value of an option alone: `norm="post"` of the constructor."""
        function = self._code.function(node) if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or function is None or not isinstance(node.value, ast.Call):
            return
        target = node.targets[0]
        for name, default in defaults_of(function).items() if isinstance(target, ast.Attribute) else ():
            if isinstance(default, ast.Constant) and isinstance(default.value, str):
                for value in self._compared:
                    chosen = ast.Compare(ast.Name(name, ast.Load()), [ast.Eq()], [ast.Constant(value)])
                    nothing: list[ast.expr] = [ast.Constant(None)]
                    if self.nn is not None:
                        nothing.append(ast.Call(ast.Attribute(self.nn, "Identity", ast.Load()), [], []))
                    yield from (
                        ast.Assign(node.targets, ast.IfExp(chosen, node.value, none)) for none in nothing
                    )

    @cached_property
    def _compared(self) -> list[str]:
        """The texts that the file or right code compares something with."""
        compared = [one for tree in self._trees for one in nodes_of(tree) if isinstance(one, ast.Compare)]
        sides = [one for each in compared for one in (each.left, *each.comparators)]
        texts = [one.value for one in sides if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return list(dict.fromkeys(texts))[:MOST_VALUES]

    @cached_property
    def classes(self) -> list[ast.expr]:
        """The modules that the file or right code makes, by their names in the file."""
        calls = [node.func for tree in self._trees for node in nodes_of(tree) if isinstance(node, ast.Call)]
        found = {ast.unparse(one): one for one in calls if called(one)[:1].isupper()}
        return [one for name, one in found.items() if name.partition(".")[0] in self.imported]

    @cached_property
    def imported(self) -> set[str]:
        """Return the imports of the file."""
        imports = [
            node for node in nodes_of(self._trees[0]) if isinstance(node, (ast.Import, ast.ImportFrom))
        ]
        return {(one.asname or one.name).partition(".")[0] for node in imports for one in node.names}

    def changed(self, node: ast.AST) -> Iterator[ast.AST]:
        """What `self` gets: a parameter in place of a buffer, or of a tensor with a gradient, a module in place of a
        list, or of another's module."""
        if self.nn is not None and needs_gradient(node):
            plain = ast.Call(
                node.func, node.args, [one for one in node.keywords if one.arg != "requires_grad"]
            )
            yield ast.Call(ast.Attribute(self.nn, "Parameter", ast.Load()), [plain], [])
        if not isinstance(node, (ast.Expr, ast.Assign)):
            return
        if self.nn is not None:
            yield from registered(node, ast.Attribute(self.nn, "Parameter", ast.Load()))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            value = node.value
            kind = CONTAINERS.get(type(value))
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
                kind = CONTAINERS.get(MADE_BY.get(value.func.id, ast.Call))
            if self.nn is not None and kind is not None:
                made = ast.Call(ast.Attribute(self.nn, kind, ast.Load()), [node.value], [])
                yield ast.Assign(node.targets, made)
            shared = ast.dump(node.value)
            for other in nodes_of(self._trees[0]):
                if (
                    isinstance(other, ast.Assign)
                    and isinstance(other.value, ast.Call)
                    and ast.dump(other.targets[0]).replace("Store()", "Load()") == shared
                ):
                    yield ast.Assign(node.targets, other.value)

    @cached_property
    def nn(self) -> ast.expr | None:
        """`torch.nn`, as the file calls it; None if it does not."""
        names = {node.id for node in nodes_of(self._trees[0]) if isinstance(node, ast.Name)}
        if "nn" in names:
            return ast.Name("nn", ast.Load())
        return ast.parse("torch.nn", mode="eval").body if "torch" in names else None
