"""What one file calls, compares, counts and keeps: what its slips are known by."""

from __future__ import annotations

import ast
from functools import cached_property

from grader.edits.code import Code
from grader.edits.parsed import nodes_of
from grader.edits.syntax import PATHS, called, defaults_in

MOST_FLAGS = 4
ROUNDS = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.For)


class FileFacts:
    """Of one file."""

    def __init__(self, code: Code) -> None:
        self._trees, self._scopes = code.trees, code.scopes

    @cached_property
    def dictionaries(self) -> list[list[ast.Constant]]:
        """The keys of each dictionary that is written in the file, if all are texts."""
        dictionaries = (node.keys for node in nodes_of(self._trees[0]) if isinstance(node, ast.Dict))
        known = ([one for one in keys if isinstance(one, ast.Constant)] for keys in dictionaries)
        return [keys for keys in known if all(isinstance(one.value, str) for one in keys)]

    @cached_property
    def counts(self) -> dict[str, list[str]]:
        """Names that are counted, by that of the number: `n = rows.numel()`."""
        found: dict[str, list[str]] = {}
        for node in nodes_of(self._trees[0]):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and is_count(node.value)
            ):
                found.setdefault(node.targets[0].id, []).extend(counted(node.value))
        return found

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """Calls of the file, by what is called."""
        found: dict[str, list[ast.Call]] = {}
        for node in nodes_of(self._trees[0]):
            if isinstance(node, ast.Call):
                found.setdefault(ast.unparse(node.func), []).append(node)
        return found

    @cached_property
    def operators(self) -> dict[str, list[ast.BinOp]]:
        """Operators of the file that work on a name or an attribute, by its code."""
        found: dict[str, list[ast.BinOp]] = {}
        for node in (one for one in nodes_of(self._trees[0]) if isinstance(one, ast.BinOp)):
            for one in (node.left, node.right):
                if isinstance(one, (ast.Name, ast.Attribute)):
                    found.setdefault(ast.unparse(one), []).append(node)
        return found

    @cached_property
    def flags(self) -> list[ast.Name | ast.Attribute]:
        """What the file combines with `|`, `&` or `~`."""
        found: list[ast.expr] = []
        for node in nodes_of(self._trees[0]):
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd)):
                found += [node.left, node.right]
            elif isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.BitOr, ast.BitAnd)):
                found += [ast.parse(ast.unparse(node.target), mode="eval").body]
            elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
                found.append(node.operand)
        flags = (one for one in found if isinstance(one, (ast.Name, ast.Attribute)))
        return list({ast.unparse(one): one for one in flags}.values())[:MOST_FLAGS]

    @cached_property
    def of_rounds(self) -> dict[int, list[str]]:
        """By function, the variables of the loops and comprehensions that it is in."""
        found: dict[int, list[str]] = {}
        for loop in (one for one in nodes_of(self._trees[0]) if isinstance(one, ROUNDS)):
            targets = [loop.target] if isinstance(loop, ast.For) else [one.target for one in loop.generators]
            names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            for one in ast.walk(loop):
                if isinstance(one, (ast.Lambda, ast.FunctionDef)):
                    found.setdefault(id(one), []).extend(names)
        return found

    @cached_property
    def stored(self) -> set[str]:
        """What is given a value outside of constructors, as text."""
        kinds = (ast.Subscript, ast.Attribute)
        nodes = [node for node in nodes_of(self._trees[0]) if isinstance(node, kinds)]
        stored = [one for one in nodes if isinstance(one.ctx, ast.Store)]
        functions = {id(one): self._scopes.function(one.lineno) for one in stored}
        return {ast.unparse(one) for one in stored if getattr(functions[id(one)], "name", "") != "__init__"}

    @cached_property
    def callees(self) -> set[ast.expr]:
        """What the file calls, or takes an attribute of."""
        nodes = list(nodes_of(self._trees[0]))
        calls = {node.func for node in nodes if isinstance(node, ast.Call)}
        return calls | {node.value for node in nodes if isinstance(node, ast.Attribute)}

    @cached_property
    def has_numpy(self) -> bool:
        """Return whether the file works with arrays, of which it may return one in place of a tensor."""
        nodes = nodes_of(self._trees[0])
        return any(one.name == "numpy" for n in nodes if isinstance(n, ast.Import) for one in n.names)

    @cached_property
    def classes(self) -> set[str]:
        return {node.name for node in nodes_of(self._trees[0]) if isinstance(node, ast.ClassDef)}

    @cached_property
    def named_defaults(self) -> list[tuple[str, ast.expr]]:
        """The arguments of all functions, of the file and of right code, that have a default, with it."""
        found = [one for tree in self._trees for one in defaults_in(tree)]
        return list({(name, ast.dump(value)): (name, value) for name, value in found}.values())

    @cached_property
    def defaults(self) -> set[ast.expr]:
        """The defaults themselves."""
        return {value for _, value in defaults_in(self._trees[0])}

    @cached_property
    def compared(self) -> set[ast.expr]:
        """What the file compares with something."""
        found = (node for node in nodes_of(self._trees[0]) if isinstance(node, ast.Compare))
        return {one for node in found for one in (node.left, *node.comparators)}

    @cached_property
    def texts(self) -> list[str]:
        """What the file and right code compare with."""
        nodes = (node for tree in self._trees for node in nodes_of(tree))
        found = [
            one for node in nodes if isinstance(node, ast.Compare) for one in (node.left, *node.comparators)
        ]
        texts = [one.value for one in found if isinstance(one, ast.Constant)]
        return list(dict.fromkeys(one for one in texts if isinstance(one, str)))

    @cached_property
    def keys(self) -> list[str]:
        """The texts that the file uses as keys."""
        nodes = list(nodes_of(self._trees[0]))
        keys = [one.slice for one in nodes if isinstance(one, ast.Subscript)]
        keys += [key for one in nodes if isinstance(one, ast.Dict) for key in one.keys if key is not None]
        found = [one.value for one in keys if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        calls = [one for one in nodes if isinstance(one, ast.Call) and called(one.func) == "dict"]
        found += [word.arg for one in calls for word in one.keywords if word.arg]
        return list(dict.fromkeys(found))

    @cached_property
    def functions(self) -> dict[str, int]:
        """The functions of the file, with the length of the tuple that they return; 0 for anything else."""
        found: dict[str, int] = {}
        for node in nodes_of(self._trees[0]):
            if isinstance(node, ast.FunctionDef):
                returned = [one.value for one in ast.walk(node) if isinstance(one, ast.Return)]
                found[node.name] = max(
                    (len(one.elts) for one in returned if isinstance(one, ast.Tuple)), default=0
                )
        return found


def is_count(node: ast.expr) -> bool:
    """Return whether an expression is `len(x)`, `x.numel()`, `x.size(0)` or `x.shape[0]`."""
    called_so = isinstance(node, ast.Call) and called(node.func) in ("len", "numel", "size")
    return called_so or (isinstance(node, ast.Subscript) and called(node.value) == "shape")


def counted(node: ast.expr) -> list[str]:
    """The names in such an expression."""
    names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
    return [name for name in names if name not in (*PATHS, "len")]
