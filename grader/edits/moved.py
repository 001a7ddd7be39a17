"""A file with one statement elsewhere, in or out of a block, exchanged with a neighbour; or there once more."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice

from grader.edits.code import Code
from grader.edits.parsed import nodes_of
from grader.edits.syntax import called
from zoo.core.lines import split_lines

BLOCKS = (ast.For, ast.While, ast.If, ast.With)
LOOPS = (ast.For, ast.While)
EFFECTS = (ast.Expr, ast.AugAssign, ast.For)  # done for what they do, and not for a value
JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise)
NEW = ("zeros", "ones", "full", "empty", "list", "dict", "set")
METHODS = "{}()"  # of a name
MOST_TOGETHER = 3  # statements that are moved past the end of a block
MOST_LINES = 8  # of a statement that is moved
MOST_SIBLINGS = 8  # past which a statement is moved
MOST_REPEATED = 40  # ways to repeat what a statement needs


class Moves:
    """The moves of one file."""

    def __init__(self, code: Code) -> None:
        tree = code.tree
        self._lines, self._ran = code.file.lines, code.ran
        self._siblings: dict[int, tuple[ast.AST, list[ast.stmt], int]] = {}
        self._functions = [node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef)]
        for parent in nodes_of(tree):
            for _, body in ast.iter_fields(parent):
                if isinstance(body, list) and not isinstance(parent, (ast.Module, ast.ClassDef)):
                    for i, one in enumerate(body):
                        if isinstance(one, ast.stmt):
                            self._siblings[id(one)] = parent, body, i

    def of(self, node: ast.AST) -> Iterator[str]:
        """The file with a statement moved. Args: node: what may be a statement."""
        if id(node) not in self._siblings or not isinstance(node, ast.stmt):
            return
        parent, body, i = self._siblings[id(node)]
        if _span(node)[1] - _span(node)[0] > MOST_LINES or _says_only(node):
            return
        if i + 1 < len(body) and _matters(node, body[i + 1]):
            yield from self._exchanged(node, body[i + 1])
        if i and _matters(body[i - 1], node):
            yield from self._exchanged(body[i - 1], node)
        if i and isinstance(body[i - 1], BLOCKS):
            inside = body[i - 1].body[-1]  # type: ignore[attr-defined]
            if not isinstance(inside, JUMPS):
                yield self._put(node, _span(body[i - 1])[1], inside.col_offset)
        if isinstance(parent, BLOCKS) and 0 < i == len(body) - 1:
            yield self._put(node, _span(parent)[1], parent.col_offset)
        if isinstance(parent, ast.If) and len(body) == 1 and not parent.orelse:  # with its condition
            yield from self.of(parent)
        if isinstance(node, EFFECTS):  # farther
            others = [one for n, one in enumerate(body) if abs(n - i) > 1][:MOST_SIBLINGS]
            for one in others:
                yield self._put(
                    node, _span(one)[0] if one.lineno < node.lineno else _span(one)[1], node.col_offset
                )

    def begun(self, node: ast.AST) -> Iterator[str]:
        """The file with a first value set before a loop, once for all rounds, or in each round; so, too, what
        keeps a value that the rounds change: `residual = x`."""
        if id(node) not in self._siblings or not isinstance(node, (ast.Assign, ast.AnnAssign)):
            return
        parent, body, i = self._siblings[id(node)]
        named = isinstance(node.value, ast.Name)
        if not (named or _is_first_value(node.value)):
            return
        if isinstance(parent, LOOPS) and len(body) > 1 and not named:
            yield self._put(node, _span(parent)[0], parent.col_offset)
        for loop in (one for one in body[i + 1 :] if isinstance(one, LOOPS)):
            if not named or depend(loop, node):
                yield self._put(node, _span(loop.body[0])[0], loop.body[0].col_offset)

    def under_a_context(self, node: ast.AST) -> Iterator[str]:
        """The file with a statement before a `with` as the first one in it."""
        parent, body, i = self._siblings.get(id(node), (None, [], 0))
        after = body[i + 1] if parent is not None and i + 1 < len(body) else None
        if isinstance(after, ast.With) and isinstance(node, ast.stmt):
            yield self._put(node, _span(after.body[0])[0], after.body[0].col_offset)

    def past_an_end(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        """The file with the last statements of a block after it, and with the next ones in it; each with their line."""
        if not isinstance(node, BLOCKS) or id(node) not in self._siblings or getattr(node, "orelse", []):
            return
        _, body, i = self._siblings[id(node)]
        for count in range(1, MOST_TOGETHER + 1):
            out, into = node.body[-count:], body[i + 1 : i + 1 + count]
            if count < len(node.body) and self._may_move(out):
                yield out[0].lineno, self._put(out[0], _span(node)[1], node.col_offset, out[-1])
            if len(into) == count and self._may_move(into):
                yield into[0].lineno, self._put(into[0], _span(node)[1], node.body[0].col_offset, into[-1])

    def after_the_loop(self, node: ast.AST) -> Iterator[str]:
        """The file with what each round adds to something added once, after the loop."""
        parent, body, _ = self._siblings.get(id(node), (None, [], 0))
        if isinstance(parent, LOOPS) and len(body) > 1 and isinstance(node, (ast.Assign, ast.AugAssign)):
            target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
            if isinstance(node, ast.AugAssign) or any(
                ast.unparse(one) == ast.unparse(target) for one in ast.walk(node.value)
            ):
                yield self._put(node, _span(parent)[1], parent.col_offset)

    def counted_last(self, node: ast.AST) -> Iterator[str]:
        """The file with a count, `k += 1`, as the last statement of its loop."""
        parent, body, i = self._siblings.get(id(node), (None, [], 0))
        only = node.body[0] if isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse else node
        counts = isinstance(only, ast.AugAssign) and isinstance(only.value, ast.Constant)
        if isinstance(parent, LOOPS) and counts and i + 1 < len(body) and isinstance(node, ast.stmt):
            yield self._put(node, _span(parent)[1], node.col_offset)

    def _may_move(self, statements: Sequence[ast.stmt]) -> bool:
        ran = not self._ran or statements[0].lineno in self._ran
        return ran and not isinstance(statements[-1], JUMPS)

    def displaced(self, node: ast.AST) -> Iterator[str]:
        """The file with a statement before the last one above it that it has to do with, or after the next one."""
        if id(node) not in self._siblings or not isinstance(node, ast.stmt):
            return
        _, body, i = self._siblings[id(node)]
        if _span(node)[1] - _span(node)[0] > MOST_LINES or isinstance(node, ast.Return):
            return
        above = next((one for one in body[:i][::-1] if depend(node, one)), None)
        below = next((one for one in body[i + 1 :] if depend(node, one)), None)
        if above is not None:
            yield self._put(node, _span(above)[0], node.col_offset)
        if below is not None and not isinstance(below, ast.Return):
            yield self._put(node, _span(below)[1], node.col_offset)

    def ends(self, node: ast.AST) -> bool:
        """Whether a statement is the last one of its block, or of a function but for one."""
        found = self._siblings.get(id(node))
        if found is None:
            return False
        parent, body, i = found
        return i + 1 + isinstance(parent, ast.FunctionDef) >= len(body)

    def ends_round(self, node: ast.AST) -> bool:
        """Whether a statement is under a condition, and nothing follows it in its round of a loop."""
        depth = 0
        while id(node) in self._siblings:
            node, body, i = self._siblings[id(node)]
            if i + 1 < len(body):
                return False
            if isinstance(node, LOOPS):
                return depth > 0
            depth += 1
        return False

    def repeated_names(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        """As `repeated`, of statements that only give something another name: `residual = x`."""
        yield from self.repeated(node, only=ast.Name)

    def repeated(self, node: ast.AST, only: type[ast.expr] = ast.expr) -> Iterator[tuple[int, str]]:
        """The file with what makes a name that a statement reads once more, before it or above it; with the line after.

        Args:
            node: what may be a statement.
            only: what such a statement assigns.
        """
        if id(node) not in self._siblings or not isinstance(node, ast.stmt):
            return
        around = [one for one in self._functions if one.lineno < node.lineno <= (one.end_lineno or 0)]
        if not around:
            return
        inside = [
            one for one in ast.walk(around[-1]) if isinstance(one, ast.stmt) and id(one) in self._siblings
        ]
        read = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        ways = (
            (before.lineno, self._put_again(maker, before))
            for name in dict.fromkeys(read)
            for maker, before in _again(name, node, sorted(inside, key=lambda one: one.lineno))
            if isinstance(maker.value, only)
        )
        yield from islice(ways, MOST_REPEATED)

    def _put_again(self, node: ast.stmt, before: ast.stmt) -> str:
        (first, last), at = _span(node), _span(before)[0]
        own = [self._shifted(line, before.col_offset - node.col_offset) for line in self._lines[first:last]]
        return _text([*self._lines[:at], *own, *self._lines[at:]])

    def _exchanged(self, first: ast.stmt, second: ast.stmt) -> Iterator[str]:
        (a, b), (c, d) = _span(first), _span(second)
        if b <= c and d - c <= MOST_LINES:
            lines = self._lines
            yield _text([*lines[:a], *lines[c:d], *lines[b:c], *lines[a:b], *lines[d:]])

    def _put(self, node: ast.stmt, before: int, column: int, end: ast.stmt | None = None) -> str:
        """The file with a statement before a line, at another depth. Args: end: those after it up to this one, too."""
        (first, _), (_, last) = _span(node), _span(end or node)
        own = [self._shifted(line, column - node.col_offset) for line in self._lines[first:last]]
        if last <= before:
            return _text([*self._lines[:first], *self._lines[last:before], *own, *self._lines[before:]])
        return _text([*self._lines[:before], *own, *self._lines[before:first], *self._lines[last:]])

    @staticmethod
    def _shifted(line: bytes, by: int) -> bytes:
        bare = line.lstrip(b" ")
        return b" " * max(0, len(line) - len(bare) + by) + bare


def _again(name: str, node: ast.stmt, inside: Sequence[ast.stmt]) -> Iterator[tuple[ast.Assign, ast.stmt]]:
    """Statements that give a name its value, and those that it may be missing before. Args: inside: by line."""
    makers = [one for one in inside if isinstance(one, ast.Assign) and name in map(ast.unparse, one.targets)]
    made = max((one.end_lineno or 0 for one in makers if one.lineno < node.lineno), default=0)
    places = [one for one in inside if made < one.lineno <= node.lineno]
    for maker in {ast.dump(one): one for one in makers if one is not node}.values():
        yield from ((maker, one) for one in places)


def _says_only(statement: ast.stmt) -> bool:
    """Whether it is a text that explains what follows."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _matters(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether the order of two neighbours may matter: not of two that give values to things of their own."""
    if _says_only(first) or _says_only(second):
        return False
    nodes = [*ast.walk(first), *ast.walk(second)]
    acts = any(isinstance(one, (ast.Expr, *JUMPS)) and not isinstance(one, ast.Raise) for one in nodes)
    return acts or depend(first, second) or depend(second, first)


def depend(some: ast.stmt, other: ast.stmt) -> bool:
    """Return whether it matters which of two statements comes first: one changes a name that the other one has."""
    (read, changed), (others, other_changed) = _names(some), _names(other)
    return bool(changed & others or other_changed & read)


def _is_first_value(value: ast.expr | None) -> bool:
    """Whether something begins with a value: nothing yet, a constant, or a new tensor."""
    if isinstance(value, ast.Call):
        number = called(value.func) == "float" and all(isinstance(one, ast.Constant) for one in value.args)
        return number or called(value.func).removeprefix("new_").removesuffix("_like") in NEW
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
    return all(isinstance(one, (ast.Constant, ast.Dict, ast.List, ast.UnaryOp)) for one in parts)


@lru_cache(512)
def _names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names and attributes that a statement has, and those of them that it changes, also in place.

    One that changes an attribute of `self` changes what methods of `self` do.
    """
    nodes = list(ast.walk(statement))
    stored = (
        one for one in nodes if isinstance(one, (ast.Name, ast.Subscript)) and isinstance(one.ctx, ast.Store)
    )
    calls = (one.value.func for one in nodes if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call))
    changed = {one.id for one in map(_base, chain(stored, calls)) if isinstance(one, ast.Name)}
    attributes = [one for one in nodes if isinstance(one, ast.Attribute)]
    kept = {ast.unparse(one) for one in attributes if isinstance(one.ctx, ast.Store)}
    called_of = {
        METHODS.format(one.func.value.id)
        for one in nodes
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)
        if isinstance(one.func.value, ast.Name)
    }
    changed |= kept | {METHODS.format(one.partition(".")[0]) for one in kept}
    names = {one.id for one in nodes if isinstance(one, ast.Name)}
    return names | set(map(ast.unparse, attributes)) | called_of, changed


def _base(node: ast.expr) -> ast.expr:
    """What is indexed, or has the attribute: `x` of `x[0].y`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node


def _span(node: ast.AST) -> tuple[int, int]:
    """The lines of a statement: the first, and the one after the last."""
    assert isinstance(node, ast.stmt)
    return node.lineno - 1, node.end_lineno or node.lineno


def _text(lines: Sequence[bytes]) -> str:
    ended = [line if line.endswith(b"\n") else line + b"\n" for line in lines]
    return b"".join(ended).decode("utf-8", "replace")


def partners(old: str, new: str) -> list[int]:
    """The first and the last line that differ between two files of as many lines; none where it is one line."""
    some, others = split_lines(old), split_lines(new)
    apart = [i for i, (a, b) in enumerate(zip(some, others, strict=False), 1) if a != b]
    return [apart[0], apart[-1]] if len(apart) > 1 and len(some) == len(others) else []
