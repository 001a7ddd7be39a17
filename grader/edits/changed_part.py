"""The difference between two versions of a file, as a reader would put it: the smallest expressions around it."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeGuard

from zoo.core.lines import split_lines

MANY = 100  # tokens of a change that is no single part
LEAST_ROOM, MORE_ROOM = (
    4,
    4,
)  # a number that may be a size; how many times as large another one is that is much larger
SORTS = re.compile(r"\b(sorted|sort|argsort)\(")
ATOMS = (ast.Name, ast.Constant, ast.UnaryOp, ast.Starred)  # say nothing without what is around them


def changed_part(old: str, new: str) -> tuple[str, str]:
    """The part of a file that was changed, and what it was changed to; "" for a statement that only one of them has."""
    shown: tuple[ast.AST | None, ast.AST | None] = (None, None)
    pair: tuple[ast.AST, ast.AST] | None = (ast.parse(old), ast.parse(new))
    while pair is not None:
        a, b = pair
        says = isinstance(a, ast.expr) and not (isinstance(a, ATOMS) and isinstance(b, ATOMS) and shown[0])
        says = says and not (_is_index(a) or _is_index(b))
        if says or (isinstance(a, ast.arguments) and shown[0] is None):
            shown = pair
        elif isinstance(a, ast.stmt) and not hasattr(a, "body"):
            shown = a, None if isinstance(b, ast.Pass) else b
        extra = _statements(a, b)
        if extra is not None:
            return extra
        pair = _inner(a, b)
    return _said(shown[0]), _said(shown[1])


def _is_index(node: ast.AST) -> bool:
    """Return whether it is part of an index, as `:` or `:, 0`, which says nothing without what it is for."""
    return any(isinstance(one, ast.Slice) for one in (node, *getattr(node, "elts", ())))


def in_line(old: str, new: str, line: int) -> str:
    """The old version of a file with the new text of one line, where that is Python; else the new version."""
    before, after = split_lines(old, keepends=True), split_lines(new, keepends=True)
    if len(before) != len(after):
        return new
    text = "".join([*before[: line - 1], after[line - 1], *before[line:]])
    try:
        ast.parse(text)
    except SyntaxError:
        return new
    return text


def exchanged(old: str, new: str, line: int) -> tuple[str, str] | None:
    """The statement of a line that has only another place in its block: how it begins, and where it belongs."""
    pair: tuple[ast.AST, ast.AST] | None = (ast.parse(old), ast.parse(new))
    while pair is not None:
        for name, body in ast.iter_fields(pair[0]):
            other = getattr(pair[1], name, None)
            if name not in ("body", "orelse") or not isinstance(body, list) or not isinstance(other, list):
                continue
            some, others = list(map(_dumped, body)), list(map(_dumped, other))
            if some == others or sorted(some) != sorted(others):
                continue
            moved = [i for i, one in enumerate(some) if one != others[i]]
            at = next((i for i in moved if body[i].lineno <= line <= body[i].end_lineno), moved[0])
            to = others.index(some[at])
            beside = body[some.index(others[to - 1 if to > at else to + 1])]
            return _said(body[at]), f"this statement {'after' if to > at else 'before'} {_named(beside)}"
        pair = _inner(*pair)
    return None


def in_another_block(old: str, new: str, line: int) -> tuple[str, str] | None:
    """The line that a change only puts elsewhere, deeper or less deep: what it says, and where it belongs."""
    before, after = split_lines(old), split_lines(new)
    said = before[line - 1].strip()
    rest = before[: line - 1] + before[line:]
    places = (i for i, one in enumerate(after) if one.strip() == said and after[:i] + after[i + 1 :] == rest)
    at = next(places, None)
    if at is None or at == line - 1:
        return None
    loop = before[at].lstrip().startswith(("for ", "while "))
    if loop and len(after[at]) != len(before[line - 1]):
        where = "before" if at < line else "in each round of"
        return said, f"this statement {where} the loop of line {at + 1}"
    return said, f"this statement {'before' if at < line else 'after'} line {at + 1}"


def several_at_once(old: str, new: str, line: int) -> tuple[str, str] | None:
    """What a line says, and in words what it should, where that is hard to read: see `grader.edits.several`."""
    trees, lines = [ast.parse(text) for text in (old, new)], [split_lines(text) for text in (old, new)]
    pair = [[one for one in ast.walk(tree) if _assigned_in(one, line)] for tree in trees]
    if not all(pair) or len(lines[0]) != len(lines[1]):
        return None
    before, after = (some[0] for some in pair)
    target, value = after.targets[0], after.value
    earlier = [one for one in ast.walk(trees[1]) if _assigned_in(one, line - 1)]
    later = [i for i in range(line, len(lines[0])) if lines[0][i] != lines[1][i]]
    if earlier and later and _dumped(earlier[0]) == _dumped(before):  # see `Several.of_old_and_new`
        again = f"`{_said(before.value)}` for one `{_said(before.targets[0])}` in line {later[0] + 1}"
        return _said(before), f"this statement before line {line - 1}, and {again}"
    if isinstance(target, ast.Tuple) and isinstance(before.targets[0], (ast.Name, ast.Attribute)):
        names = " and ".join(f"`{ast.unparse(one)}`" for one in target.elts)
        return _said(before), f"{names} at once, from the values before"
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Lambda):
        return _said(before.value), f"the same, with what `{ast.unparse(target)}` had"
    return None


def in_two_lines(old: str, new: str, line: int) -> tuple[str, str] | None:
    """What a line says, and what it should with a change of one other line, which is named."""
    lines = [split_lines(text) for text in (old, new)]
    changed = [i + 1 for i, (a, b) in enumerate(zip(*lines, strict=False)) if a != b]
    if len(lines[0]) != len(lines[1]) or len(changed) != 2 or line not in changed:
        return None
    (other,) = (one for one in changed if one != line)
    (here, there), (_, also) = (changed_part(old, in_line(old, new, at)) for at in (line, other))
    return (here, f"`{there}`, and `{also}` in line {other}") if here and there and also else None


def _assigned_in(node: ast.AST, line: int) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and node.lineno == line


def added_after(old: str, new: str) -> int | None:
    """The line after which a change of a file adds lines, and changes nothing else; None if it does more."""
    some, others = split_lines(old), split_lines(new)
    more = len(others) - len(some)
    at = next((i for i, (a, b) in enumerate(zip(some, others, strict=False)) if a != b), len(some))
    return at if more > 0 and some[at:] == others[at + more :] else None


def made_twice(old: str, new: str) -> list[int]:
    """The line of a statement that a change puts in a second place, where the first one has been done by then."""
    before, after, at = split_lines(old), split_lines(new), added_after(old, new)
    if at is None or len(after) != len(before) + 1:
        return []
    added = after[at].strip()
    same = [i for i, line in enumerate(before[:at]) if line.strip() == added]
    return [i + 1 for i in same if min(map(_depth, before[i:at])) == _depth(before[i])]


def _depth(line: str) -> int:
    """How far a line is indented; an empty one ends no block."""
    return len(line) - len(line.lstrip()) if line.strip() else sys.maxsize


def done_too_rarely(old: str, new: str) -> tuple[int, str, str] | None:
    """The line of a condition and its text, and the statement that a change has done where it is false, too: in an
    `else`, or after it."""
    before = {(_dumped(one), _dumped(also)) for one, also in _also_done(ast.parse(old))}
    for node, also in _also_done(ast.parse(new)):
        if (_dumped(node), _dumped(also)) not in before and _dumped(also) in map(_dumped, node.body):
            return node.lineno, ast.unparse(node.test), ast.unparse(also)
    return None


def _also_done(tree: ast.Module) -> Iterator[tuple[ast.If, ast.stmt]]:
    """Conditions, each with the one statement of its `else`, or that which comes after it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and len(node.orelse) == 1:
            yield node, node.orelse[0]
        for block in (getattr(node, name, None) for name in ("body", "orelse")):
            for one, after in pairwise(block if isinstance(block, list) else ()):
                if isinstance(one, ast.If) and not one.orelse:
                    yield one, after


def sorts_no_more(old: str, new: str, line: int) -> bool:
    """Whether a change of a line takes away that it puts something in another order."""
    before, after = ([*split_lines(one), *[""] * line][line - 1] for one in (old, new))
    return bool(SORTS.search(before)) and not SORTS.search(after)


def size_of_change(old: str, new: str) -> int:
    """Return how many tokens a change of a file replaces; of parentheses, only those of calls count."""
    found = sum(_tokens_changed(old, new))
    return MANY if found == 0 and _dumped(ast.parse(old)) != _dumped(ast.parse(new)) else found


def only_removes(old: str, new: str) -> bool:
    """Return whether a change of a file takes something away, and puts nothing in its place."""
    gone, come = _tokens_changed(old, new)
    return gone > 0 and come == 0


def other_number(old: str, new: str) -> tuple[int, int] | None:
    """The whole number that a change replaces, and by which; None if it does more, or something else."""
    some, others = map(_tokens, changed_part(old, new))
    pairs = [(a, b) for a, b in zip(some, others, strict=False) if a != b]
    if len(some) != len(others) or len(pairs) != 1 or not all(one.isdigit() for one in pairs[0]):
        return None
    was, becomes = map(int, pairs[0])
    return was, becomes


def cut_no_more(old: str, new: str) -> set[str]:
    """The names that bounds of a slice read, `x[a:b]`, if a change takes the whole in its place; else none."""
    try:
        some, others = (ast.parse(one, mode="eval").body for one in changed_part(old, new))
    except SyntaxError:
        return set()
    pairs = [(some, others)]
    if isinstance(some, ast.Tuple) and isinstance(others, ast.Tuple):
        pairs = list(zip(some.elts, others.elts, strict=False))
    cut = [
        one for one, other in pairs if isinstance(one, ast.Subscript) and _dumped(one.value) == _dumped(other)
    ]
    indices = [one for each in cut for one in getattr(each.slice, "elts", [each.slice])]
    bounds = [one for one in indices if isinstance(one, ast.Slice)]
    return {one.id for bound in bounds for one in ast.walk(bound) if isinstance(one, ast.Name)}


def only_more_room(old: str, new: str) -> bool:
    """Return whether a change only replaces a number by a much larger one: a limit need not be the mistake."""
    small, large = other_number(old, new) or (0, 0)
    return small >= LEAST_ROOM and large >= MORE_ROOM * small


def _tokens_changed(old: str, new: str) -> tuple[int, int]:
    some, others = map(_tokens, changed_part(old, new))
    blocks = difflib.SequenceMatcher(None, some, others, autojunk=False).get_matching_blocks()
    same = sum(block.size for block in blocks)
    return len(some) - same, len(others) - same


def _tokens(part: str) -> list[str]:
    return re.findall(r"\w+|(?<=[\w)\]])\(|[^\s()]", part)


def _named(statement: ast.stmt) -> str:
    block = f"the `{type(statement).__name__.lower()}` block of " if hasattr(statement, "body") else ""
    return f"{block}line {statement.lineno}"


def _said(node: ast.AST | None) -> str:
    text = "" if node is None else ast.unparse(node).partition("\n")[0]
    return re.sub(r"__import__\('(\w+)'\)", r"\1", text)  # a file may have no name for it


def _inner(a: ast.AST, b: ast.AST) -> tuple[ast.AST, ast.AST] | None:
    """The one part in which two trees of a kind differ."""
    if type(a) is not type(b):
        return None
    found: list[tuple[object, object]] = []
    for (_, one), (_, other) in zip(ast.iter_fields(a), ast.iter_fields(b), strict=True):
        some, others = (x if isinstance(x, list) else [x] for x in (one, other))
        if len(some) != len(others):
            return None
        found += [pair for pair in zip(some, others, strict=True) if _dumped(pair[0]) != _dumped(pair[1])]
    nodes = [(one, other) for one, other in found if isinstance(one, ast.AST) and isinstance(other, ast.AST)]
    return nodes[0] if len(nodes) == len(found) == 1 else None


def _statements(a: ast.AST, b: ast.AST) -> tuple[str, str] | None:
    """The statement of a block that only one of two trees has, or those that have another order there."""
    for name, one in ast.iter_fields(a):
        other = getattr(b, name, None)
        if name in ("body", "orelse", "decorator_list") and isinstance(one, list) and isinstance(other, list):
            some, others = list(map(_dumped, one)), list(map(_dumped, other))
            gone = [x for x, dumped in zip(one, some, strict=True) if dumped not in others]
            come = [x for x, dumped in zip(other, others, strict=True) if dumped not in some]
            if len(other) == len(one) + 1 and not gone and not come:  # one that is there already
                at = next((i for i, x in enumerate(some) if x != others[i]), len(some))
                return "", _said(other[at])
            if len(one) != len(other) and len(gone) + len(come) == 1:
                return "".join(map(_said, gone)), "".join(map(_said, come))
            if some != others and not gone and not come and len(one) == len(other):
                moved = [i for i, (x, y) in enumerate(zip(some, others, strict=True)) if x != y]
                return "; ".join(_said(one[i]) for i in moved), "; ".join(_said(other[i]) for i in moved)
    return None


def _dumped(item: object) -> str:
    return ast.dump(item) if isinstance(item, ast.AST) else repr(item)
