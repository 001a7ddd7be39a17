"""Makes changed code end: a change may make a loop, or a recursion, endless."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence, Set
from functools import cached_property, lru_cache, partial

from grader.edits.syntax import LAZY, called

MOST_ROUNDS = 100  # of a loop of changed code, ...
MOST_LOOPING_S = (
    2.0  # ... and seconds of CPU until no loop begins another round, and no function that recurs, ...
)
LOOPING_S = 0.15  # ... in each scenario; right code takes a fifth of it
MOST_ITEMS = 10_000  # of an iterator of itertools that never ends
ENDLESS = ("count", "cycle", "repeat")
_LOOP = re.compile(rb"\b(for|while|count|cycle|repeat)\b|\+=.*\b(" + "|".join(LAZY).encode() + rb")\b")


class Ending:
    """Programs that end, each a changed copy of one file.

    Args:
        text: the file, which is Python.
    """

    def __init__(self, text: str) -> None:
        self._recursive = calls_itself(text)
        self._lines = _lines_of(text)
        self._guarded = lru_cache(None)(partial(_guarded, text, recursive=self._recursive))

    def of(self, text: str, scenarios: int = 1) -> str:
        """A changed copy that ends, see `ending`: the file with its guards and the change, if that has no loop.

        Raises:
            SyntaxError: it is no Python, and has another loop.
        """
        lines, old = _lines_of(text), self._lines
        start = _alike(lines, old)
        same = min(_alike(lines[::-1], old[::-1]), len(lines) - start, len(old) - start)
        guards = self._guarded(scenarios=scenarios)
        new, end = lines[start : len(lines) - same], len(old) - same
        if any(map(_LOOP.search, new)) or not guards.lines.isdisjoint(range(start, end)):
            return ending(text, recursive=self._recursive, scenarios=scenarios)
        if self._recursive and any(b"def" in line for line in new):
            return ending(text, recursive=True, scenarios=scenarios)
        return b"".join([*guards.with_all[:start], *new, *guards.with_all[end:]]).decode()


def ending(text: str, *, recursive: bool = False, scenarios: int = 1) -> str:
    """The same program, ending: a `while` goes round at most so many times, all loops for so long, iterators end.

    Args:
        recursive: no function begins after that time either.
        scenarios: how many it is asked for.

    Raises:
        SyntaxError: it is no Python.
    """
    return b"".join(_guarded(text, recursive=recursive, scenarios=scenarios).with_all).decode()


def _guarded(text: str, *, recursive: bool, scenarios: int) -> _Guards:
    """The guards with which a program ends."""
    guards, lines = _Guards(text), _lines_of(text)
    looping = {i for i, line in enumerate(lines, 1) if recursive or _LOOP.search(line)}
    if not looping:
        return guards
    tree = ast.parse(text)
    first = sum(isinstance(one, ast.ImportFrom) and one.module == "__future__" for one in tree.body)
    first += ast.get_docstring(tree) is not None
    end = f"__import__('time').process_time() + {min(MOST_LOOPING_S, LOOPING_S * scenarios)}"
    for node in tree.body[first : first + 1]:
        guards.before(node, f"_early = lambda *_, end={end}: __import__('time').process_time() < end")
    endless = {f"itertools.{name}" for name in ENDLESS} | {
        one.asname or one.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "itertools"
        for one in node.names
        if one.name in ENDLESS
    }
    for part in _parts(tree, looping):
        if isinstance(part, ast.For) or (isinstance(part, ast.comprehension) and not part.is_async):
            guards.around(part.iter, "__import__('itertools').takewhile(_early, (", "))")
        elif isinstance(part, ast.While):
            rounds = f"_rounds_{part.lineno}"
            guards.before(part, f"{rounds} = iter(range({MOST_ROUNDS}, 0, -1))")
            guards.around(part.test, f"_early() and next({rounds}, 0) and (", ")")
        elif isinstance(part, ast.AugAssign) and _is_lazy(part.value):  # `rows += filter(f, rows)` never ends
            guards.around(part.value, "[*(", ")]")
        elif isinstance(part, ast.Call) and ast.unparse(part.func) in endless:
            guards.around(part, "__import__('itertools').islice(", f", {MOST_ITEMS})")
        elif isinstance(part, ast.FunctionDef) and recursive:
            guards.before(part.body[0], "assert _early(), 'it takes too long'")
    return guards


def _lines_of(text: str) -> list[bytes]:
    return text.encode().splitlines(keepends=True)


def _alike(some: Sequence[bytes], others: Sequence[bytes]) -> int:
    """How many lines at the beginning are the same."""
    return next(
        (i for i, (a, b) in enumerate(zip(some, others, strict=False)) if a != b), min(len(some), len(others))
    )


def calls_itself(text: str) -> bool:
    """Return whether a function of the file calls one of its own name; that of its base class is another one."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return any(
        isinstance(node, ast.Call) and called(node.func) == one.name and not _of_base(node.func)
        for one in functions
        for node in ast.walk(one)
    )


def _of_base(function: ast.expr) -> bool:
    """Return whether it is a method of `super()`."""
    owner = function.value if isinstance(function, ast.Attribute) else None
    return isinstance(owner, ast.Call) and called(owner.func) == "super"


def _is_lazy(value: ast.expr) -> bool:
    """Return whether an expression gives its items only when they are asked for."""
    return isinstance(value, ast.GeneratorExp) or (isinstance(value, ast.Call) and called(value.func) in LAZY)


def _parts(tree: ast.AST, lines: Set[int]) -> Iterator[ast.AST]:
    """The statements that have some of these lines, and all that is in them; others need no guard.

    Left out is what is in formatted strings, whose places Python tells since 3.12 only.
    """
    left = [tree]
    while left:
        for child in ast.iter_child_nodes(left.pop()):
            if isinstance(child, ast.stmt) and not getattr(child, "decorator_list", ()):
                if lines.isdisjoint(range(child.lineno, (child.end_lineno or child.lineno) + 1)):
                    continue
            elif isinstance(child, ast.JoinedStr):
                continue
            yield child
            left.append(child)


class _Guards:
    """What is put into a text, which stays as it is otherwise: to write the whole program anew takes long."""

    def __init__(self, text: str) -> None:
        self._lines = _lines_of(text)
        self._put: list[tuple[int, int, str]] = []  # line and column of bytes, both from 0

    def before(self, node: ast.stmt, statement: str) -> None:
        """Put a statement before another one, be it on a line of its own or not."""
        line = min(one.lineno for one in (node, *getattr(node, "decorator_list", ()))) - 1
        start = self._lines[line][: node.col_offset].decode()
        self._put.append(
            (line, node.col_offset, f"{statement}; " if start.strip() else f"{statement}\n{start}")
        )

    def around(self, node: ast.expr, start: str, end: str) -> None:
        """Put an expression between two texts."""
        self._put.append((node.lineno - 1, node.col_offset, start))
        self._put.append(((node.end_lineno or node.lineno) - 1, node.end_col_offset or 0, end))

    @property
    def lines(self) -> set[int]:
        """The lines that something was put into, from 0."""
        return {line for line, _, _ in self._put}

    @cached_property
    def with_all(self) -> list[bytes]:
        """The lines with all that was put into them."""
        lines = list(self._lines)
        for line, column, put in sorted(self._put, reverse=True):
            lines[line] = lines[line][:column] + put.encode() + lines[line][column:]
        return lines
