"""Code that stands twice: what one copy has otherwise than the other one, made as it is there.

Who writes a block again changes names in it. A name that was not changed, or a statement that one of the copies alone
has, is a likely mistake (Li et al. 2006, "CP-Miner"); either copy may be the right one.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import permutations, takewhile

from grader.edits.code import Code
from grader.edits.file_text import FileText
from grader.edits.parsed import nodes_of, replaced_parts
from grader.edits.syntax import called

BLOCKS = ("body", "orelse", "finalbody")
OPEN = ast.Name("_", ast.Load())  # in place of an atom
MOST = 4  # ways to change one atom
MOST_STATEMENTS = 250  # of a file in which copies are looked for
ALIKE = 2  # statements in a row, at least, that are copies

Block = Sequence[ast.stmt]
Found = tuple[int, str]


class Copies:
    """The copies in one file."""

    def __init__(self, code: Code) -> None:
        self._file, self._scopes, self._tree = code.file, code.scopes, code.tree
        self._shape = cache(_shape)

    def of(self, node: ast.AST) -> Iterator[Found]:
        """A statement as in a copy of it, with one that the copy alone has behind or before it, or left out.

        Args:
            node: what may be a statement.

        Yields:
            The line that was changed, and the file with it.
        """
        if isinstance(node, ast.stmt):
            for block, i, other, j in self._pairs.get(id(node), ()):
                yield from self._adapted(block[i], other[j])
                yield from self._left_as_it_was(block[i], other[j])
                row = self._in_a_row(block, i, other, j)
                if row >= ALIKE:
                    yield from self._only_there(block, i, other, j, sure=row > ALIKE)
                yield from self._in_other_order(block, i, other, j)

    def among_items(self, node: ast.AST) -> Iterator[Found]:
        """One of several values that does not go through the call that the others go through, or alone does: `key` in
        `split(query), key, split(value)`."""
        items = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
        for one, other in permutations(items, 2):
            if isinstance(one, ast.Call) and len(one.args) == 1 and not one.keywords:
                of = one.args[0]
                if self._shape(of) == self._shape(other):
                    yield one.lineno, self._file.with_one(one, of)
                    yield other.lineno, self._file.with_one(other, ast.Call(one.func, [other], []))

    def _adapted(self, own: ast.stmt, other: ast.stmt) -> Iterator[Found]:
        """Args: other: that differs from it in one name, number or attribute that is read: this one is tried."""
        pairs = [(a, b) for a, b in zip(_atoms(own), _atoms(other), strict=True) if not _same(a, b)]
        if len(pairs) == 1 and isinstance(getattr(pairs[0][0], "ctx", ast.Load()), ast.Load):
            (old, new), *_ = pairs
            if self._is_known(new, own):
                yield old.lineno, self._file.with_one(old, new)

    def _left_as_it_was(self, own: ast.stmt, other: ast.stmt) -> Iterator[Found]:
        """A name that both have, changed as the others are: `v = cat(old_v, v)` beside `k = cat(old_k, k)`."""
        pairs = list(zip(_atoms(own), _atoms(other), strict=True))
        names = [(ast.unparse(a), ast.unparse(b)) for a, b in pairs]
        ways = dict.fromkeys(_difference(its, name) for name, its in names if name != its)
        for node, its in pairs:
            if isinstance(node, ast.Constant) or not _same(node, its):
                continue
            text = ast.unparse(node)
            for old, new in ways if isinstance(getattr(node, "ctx", None), ast.Load) else ():
                changed = text.replace(old, new, 1) if old else text
                if changed != text and changed in self._read_or_made:
                    yield node.lineno, self._file.with_text(node, changed)

    @cached_property
    def _read_or_made(self) -> set[str]:
        """Names and attributes that the file has, as text."""
        nodes = nodes_of(self._tree)
        own = {ast.unparse(one) for one in nodes if isinstance(one, (ast.Name, ast.Attribute))}
        return own | {one.arg for one in nodes if isinstance(one, ast.arg)}

    def _only_there(self, block: Block, i: int, other: Block, j: int, *, sure: bool) -> Iterator[Found]:
        """What comes after or before one of two statements that are alike, and not the other.

        Args:
            sure: that they are copies, whatever comes then.
        """
        names = self._renamed(block, i, other, j)
        for step in (1, -1):
            lacks, more = _at(block, i + step), _at(other, j + step)
            if more is None or isinstance(more, (ast.Assert, ast.Return)):
                continue
            if lacks is not None and self._shape(lacks) == self._shape(more):
                continue
            beyond = _at(other, j + 2 * step)
            goes_on = (lacks is None) == (beyond is None)
            if lacks is not None and beyond is not None:
                goes_on = self._shape(lacks) == self._shape(beyond)
            if goes_on or sure:
                new = _with_names(more, names)
                if all(self._is_known(one, block[i]) for one in _atoms(new)):
                    put = self._file.with_after if step > 0 else self._file.with_before
                    at = block[i].end_lineno if step > 0 else block[i].lineno
                    yield at or block[i].lineno, put(block[i], new)
            if goes_on:
                yield more.lineno, self._file.with_one(more, ast.Pass())

    def _in_other_order(self, block: Block, i: int, other: Block, j: int) -> Iterator[Found]:
        """A statement and the next one in the order in which the copy has them; the one that comes first there with the
        names that it has there."""
        second, before = _at(block, i + 1), _at(other, j - 1)
        if second is None or before is None or self._shape(second) != self._shape(before):
            return
        around = ((_at(block, i + at), _at(other, j + at - 1)) for at in (-1, 2))
        if any(a is not None and b is not None and self._shape(a) == self._shape(b) for a, b in around):
            new = _with_names(before, self._renamed(block, i - 1, other, j - 2))
            yield second.lineno, FileText(self._file.with_one(second, block[i])).with_one(block[i], new)

    def _in_a_row(self, block: Block, i: int, other: Block, j: int) -> int:
        """How many statements around two of a shape have the same shapes."""
        found = 1
        for step in (1, -1):
            here, there = i + step, j + step
            while (a := _at(block, here)) and (b := _at(other, there)) and self._shape(a) == self._shape(b):
                found, here, there = found + 1, here + step, there + step
        return found

    def _renamed(self, block: Block, i: int, other: Block, j: int) -> dict[str, ast.expr]:
        """By what the other copy reads, as text, what this one reads in its place."""
        found: dict[str, Counter[str]] = {}
        for step in range(-3, 4):
            a, b = _at(block, i + step), _at(other, j + step)
            if a is not None and b is not None and self._shape(a) == self._shape(b):
                for own, its in zip(_atoms(a), _atoms(b), strict=True):
                    found.setdefault(ast.unparse(its), Counter())[ast.unparse(own)] += 1
        usual = {name: counts.most_common(1)[0][0] for name, counts in found.items()}
        return {name: ast.parse(own, mode="eval").body for name, own in usual.items()}

    def _is_known(self, atom: ast.expr, at: ast.stmt) -> bool:
        """Whether a name, an attribute of `self` or a constant can be read, or is given a value, at a statement."""
        while isinstance(atom, ast.Attribute):
            atom = atom.value
        if not isinstance(atom, ast.Name) or isinstance(atom.ctx, ast.Store):
            return True
        return atom.id in self._general or atom.id in self._scopes.names(at.lineno)

    @cached_property
    def _general(self) -> set[str]:
        """What the file knows everywhere, and what is built in."""
        known = {*dir(builtins), "self"}
        for node in self._tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                known |= {(one.asname or one.name).partition(".")[0] for one in node.names}
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                known.add(node.name)
            elif isinstance(node, ast.Assign):
                known |= {called(one) for one in node.targets}
        return known

    @cached_property
    def _pairs(self) -> dict[int, list[tuple[Block, int, Block, int]]]:
        """By statement, its copies, each in its block."""
        functions = [one for one in nodes_of(self._tree) if isinstance(one, ast.FunctionDef)]
        nodes = [node for one in functions for node in ast.walk(one)]
        blocks: list[Block] = [
            getattr(node, name) for node in nodes for name in BLOCKS if hasattr(node, name)
        ]
        places: dict[str, list[tuple[Block, int]]] = {}
        for block in (one for one in {id(one): one for one in blocks}.values() if isinstance(one, list)):
            for i, one in enumerate(block):
                if isinstance(one, ast.stmt) and not isinstance(one, (ast.Assert, ast.FunctionDef, ast.Pass)):
                    places.setdefault(self._shape(one), []).append((block, i))
        found: dict[int, list[tuple[Block, int, Block, int]]] = {}
        if sum(map(len, places.values())) <= MOST_STATEMENTS:
            for same in places.values():
                for own, i in same:
                    others = [(one, j) for one, j in same if one[j] is not own[i]][:MOST]
                    found[id(own[i])] = [(own, i, other, j) for other, j in others]
        return found


def _shape(node: ast.AST) -> str:
    """A statement without its names, attributes and constants, as text."""
    return ast.dump(replaced_parts(node, *((one, OPEN) for one in _atoms(node))))


def _atoms(node: ast.AST) -> list[ast.expr]:
    """The names, constants and attributes of a statement, in order: of `self.first(x.half.relu())` the whole of
    `self.first`, and `x.half`."""
    of = node.value if isinstance(node, ast.Attribute) else node
    if isinstance(node, (ast.Name, ast.Constant, ast.Attribute)) and isinstance(of, (ast.Name, ast.Constant)):
        return [node]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and called(node.func.value) != "self"
    ):
        return [one for part in (node.func.value, *node.args, *node.keywords) for one in _atoms(part)]
    return [one for child in ast.iter_child_nodes(node) for one in _atoms(child)]


def _difference(old: str, new: str) -> tuple[str, str]:
    """What is another text in one of two: `k`, `v` of `k_all`, `v_all`."""
    start = _common(old, new)
    old, new = old[start:], new[start:]
    end = _common(old[::-1], new[::-1])
    return old[: len(old) - end], new[: len(new) - end]


def _common(some: str, other: str) -> int:
    """How many letters two texts begin with alike."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(some, other, strict=False))))


def _same(some: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(some) == ast.unparse(other)


def _at(block: Block, i: int) -> ast.stmt | None:
    return block[i] if 0 <= i < len(block) else None


def _with_names(statement: ast.stmt, names: dict[str, ast.expr]) -> ast.stmt:
    changes = [(one, names.get(ast.unparse(one))) for one in _atoms(statement)]
    return replaced_parts(statement, *changes)
