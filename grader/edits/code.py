"""One file, as changes of its lines look at it: its text, its tree, its names, and right code to take steps from."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Sequence
from functools import cached_property

from grader.edits.file_text import FileText
from grader.edits.parsed import nodes_of, parsed
from grader.edits.scopes import Scopes
from grader.edits.syntax import PATHS

MOST_NAMES = 1000  # in one function


class Code:
    """One file.

    Args:
        text: of the file, which is Python.
        ran: lines of functions that ran; all, if there are none.
        right: the text of right code.

    Attributes:
        file: the text, with parts of it replaced.
        trees: of the file, and of right code.
        scopes: the file's names.
        constants: the numbers of right code, those that say most first: 1e-9 before 2.
    """

    def __init__(self, text: str, ran: Collection[int] = (), right: str = "") -> None:
        self.file = FileText(text)
        self.trees = [parsed(text), parsed(right)]
        self.ran = frozenset(ran)
        self.scopes = Scopes(self.tree, ran)
        self.constants = constants(right)

    @property
    def tree(self) -> ast.Module:
        return self.trees[0]

    def given(self, node: ast.expr | ast.stmt) -> list[str]:
        """The arguments of the function around an expression or a statement."""
        return self.scopes.given(node.lineno)

    def function(self, node: ast.expr | ast.stmt) -> ast.FunctionDef | None:
        """The function around an expression or a statement."""
        return self.scopes.function(node.lineno)

    @cached_property
    def assigned(self) -> dict[ast.FunctionDef, list[ast.Assign]]:
        """By function: the statements that give something a value, in order."""
        found: dict[ast.FunctionDef, list[ast.Assign]] = {}
        for node in nodes_of(self.tree):
            function = self.function(node) if isinstance(node, ast.Assign) else None
            if isinstance(node, ast.Assign) and function is not None:
                found.setdefault(function, []).append(node)
        return {function: sorted(some, key=lambda one: one.lineno) for function, some in found.items()}

    @cached_property
    def values(self) -> set[int]:
        """Ids of expressions that may stand for a value: no module, no function that is called."""
        read = (n for n in nodes_of(self.tree) if isinstance(getattr(n, "ctx", ast.Load()), ast.Load))
        return {id(n) for n in read if id(n) not in self.no_values and getattr(n, "id", "") not in PATHS}

    @cached_property
    def no_values(self) -> set[int]:
        """Ids of what is called, and of what a statement calls for what it does."""
        nodes = list(nodes_of(self.tree))
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        return called | {id(node.value) for node in nodes if isinstance(node, ast.Expr)}

    @cached_property
    def lost(self) -> dict[int, list[str]]:
        """By id of a statement that gives a local a value, which nothing reads any more: what is read later of other
        locals, and of names that nothing has made."""
        found: dict[int, list[str]] = {}
        for function in (one for one in nodes_of(self.tree) if isinstance(one, ast.FunctionDef)):
            names = [one for one in ast.walk(function) if isinstance(one, ast.Name)]
            if len(names) > MOST_NAMES:  # each statement looks through them
                continue
            loads = [one for one in names if isinstance(one.ctx, ast.Load)]
            stores = {one.id for one in names if isinstance(one.ctx, ast.Store)}
            branches = [one for one in ast.walk(function) if isinstance(one, ast.If) and one.orelse]
            for one in self.assigned.get(function, []):
                target, end = one.targets[0], one.end_lineno or one.lineno
                later = sorted((n.lineno, n.id) for n in loads if n.lineno > end)
                apart = [_span(each.orelse) for each in branches if one.lineno in _span(each.body)]
                own = [each for each in names if not any(each.lineno in lines for lines in apart)]
                if isinstance(target, ast.Name) and not self._is_read(target.id, end, own):
                    others = dict.fromkeys(
                        name for _, name in later if name in stores or self.is_unknown(name)
                    )
                    found[id(one)] = [name for name in others if name != target.id]
        return found

    @staticmethod
    def _is_read(name: str, line: int, names: Sequence[ast.Name]) -> bool:
        """Whether a local is read after a line, before it gets another value in a line of its own."""
        later = [one for one in names if one.id == name and one.lineno > line]
        first = min((one.lineno for one in later), default=0)
        return any(isinstance(one.ctx, ast.Load) for one in later if one.lineno == first)

    @cached_property
    def _made(self) -> set[str]:
        nodes = nodes_of(self.tree)
        made = {one.id for one in nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
        made |= {one.name for one in nodes if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
        made |= {one.arg for one in nodes if isinstance(one, ast.arg)}
        imports = (one for one in nodes if isinstance(one, (ast.Import, ast.ImportFrom)))
        return made | {each.asname or each.name.partition(".")[0] for one in imports for each in one.names}

    def is_unknown(self, name: str) -> bool:
        """Whether nothing in the file gives a name a value."""
        return name not in self._made and not hasattr(builtins, name)

    @cached_property
    def nodes(self) -> dict[int, list[ast.AST]]:
        """By line; those that ran, without types."""
        found: dict[int, list[ast.AST]] = {}

        def walk(node: ast.AST, inside: bool = False) -> None:
            if isinstance(node, ast.ClassDef) and len(node.bases) > 1:
                found.setdefault(node.lineno, []).append(node)
            if isinstance(node, (ast.ClassDef, ast.Import, ast.ImportFrom)):
                for child in (*node.body, *node.decorator_list) if isinstance(node, ast.ClassDef) else ():
                    walk(child, inside)
                return
            if inside and not self.has_run(node):
                return
            if isinstance(node, (ast.expr, ast.stmt)):
                found.setdefault(node.lineno, []).append(node)
            function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for name, value in ast.iter_fields(node):
                if name not in ("annotation", "returns"):
                    decorates = name == "decorator_list"
                    for child in value if isinstance(value, list) else [value]:
                        if isinstance(child, ast.Call if decorates else ast.AST):
                            walk(child, inside or (function and name == "body"))

        walk(self.tree)
        return found

    @cached_property
    def fields(self) -> list[int]:
        """Lines of what classes declare: `width: int = 8`."""
        return [at for at, nodes in self.nodes.items() if any(isinstance(n, ast.AnnAssign) for n in nodes)]

    def has_run(self, node: ast.AST) -> bool:
        """Whether a statement has run, as far as that is known."""
        if not self.ran or not isinstance(node, ast.stmt):
            return True
        return any(line in self.ran for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _span(block: Sequence[ast.stmt]) -> range:
    """The lines of statements one after the other."""
    return range(block[0].lineno, (block[-1].end_lineno or block[-1].lineno) + 1)


def constants(text: str) -> list[float]:
    """The numbers of a file, those that say most first: 1e-9 before 2."""
    found = {
        node.value: None
        for node in nodes_of(parsed(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    }
    return sorted(found, key=lambda one: isinstance(one, int))
