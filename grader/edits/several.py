"""Changes of more than one place of a file at once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import TypeGuard

from grader.edits.alike import Alike, worked_on
from grader.edits.axes import laid_out
from grader.edits.changes import Changes
from grader.edits.code import Code
from grader.edits.edit_kinds import by_one, exchanged
from grader.edits.file_text import FileText
from grader.edits.made_once import MadeOnce
from grader.edits.modules import Modules
from grader.edits.parsed import replaced_parts
from grader.edits.slips import Slips
from grader.edits.syntax import called, copy_of, is_whole, method_free

MOST_READ = 6  # times that a function reads a name, for another one everywhere
MOST_OTHERS = 8
MOST_STEPS = 4  # of a statement
MOST_CHANGED = 8  # ways in which what stands there twice is changed
PARTS = (ast.BinOp, ast.Compare, ast.Subscript, ast.Call)
SIMPLE = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)
SORTING = ("sorted", "sort", "argsort")
KEPT = (
    "(lambda old, new: __import__('torch').nn.functional.pad(old, "
    "[n for a, b in zip(old.shape[::-1], new.shape[::-1]) for n in (0, b - a)]))({}, {})"
)
COPYING = ("deepcopy", "copy", "clone", "detach")


class Several:
    """Of one file.

    Args:
        made_once: what it makes once.
        made: its modules.
        slips: what people get wrong in it.
        changes: what else may have been meant.
    """

    def __init__(
        self, code: Code, made_once: MadeOnce, made: Modules, slips: Slips, changes: Changes
    ) -> None:
        self._file, self._scopes, self._alike = code.file, code.scopes, Alike(code.tree)
        self._made_once, self._made, self._slips, self._changes = made_once, made, slips, changes

    def defaults_anew(self, node: ast.AST) -> Iterator[str]:
        """Several arguments whose defaults all calls share (`keys=[], values=[]`), each made anew."""
        pairs = self._made_once.all_defaults(node) if isinstance(node, ast.Name) else []
        if len(pairs) > 1:
            yield self._file.with_all(pairs)

    def rows_of_count(self, node: ast.AST) -> Iterator[str]:
        """The first rows of several values, `x[:n]` and `y[:n]`, as those of an index that other values have."""
        alike = self._alike.cut_alike(node) if isinstance(node, ast.Subscript) else []
        for name in self._alike.indices if len(alike) > 1 else ():
            index = ast.Name(name, ast.Load())
            yield self._file.with_all([(one, ast.Subscript(one.value, index, ast.Load())) for one in alike])

    def in_each_round(self, node: ast.AST) -> Iterator[str | tuple[int, str]]:
        """What is made before a loop, and used in each round, made there; with the statement that made it, and not."""
        for new, made in self._made_once.in_each_round(node):
            text = self._file.with_one(node, new)
            yield text
            yield made.lineno, FileText(text).with_text(made, "pass" + _further_lines(made))

    def on_both_sides(self, node: ast.AST) -> Iterator[str]:
        """A bound that a statement has twice, `new[: n - 1] = old[: n - 1]`, in both places without what is added to
        it, or off by one."""
        if not isinstance(node, (ast.Assign, ast.Return, ast.Expr)):
            return
        slices = [one for one in ast.walk(node) if isinstance(one, ast.Slice)]
        bounds = [one for each in slices for one in (each.lower, each.upper) if one is not None]
        groups: dict[str, list[ast.expr]] = {}
        for one in bounds:
            groups.setdefault(ast.unparse(one), []).append(one)
        for same in (some for some in groups.values() if len(some) > 1):
            bound = same[0]
            for new in [bound.left] if isinstance(bound, ast.BinOp) else by_one(bound):
                yield self._file.with_all([(one, new) for one in same])

    def counter_advanced(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        """A count that is kept and never goes on, which does."""
        for after, new in self._slips.never_advanced(node):
            yield after.end_lineno or after.lineno, self._file.with_after(after, new)

    def in_objects(self, node: ast.AST) -> Iterator[str]:
        """What a class has once for all its objects (`rows = []`), made for each object."""
        shared = self._made_once.of_class(node) if isinstance(node, (ast.Assign, ast.AnnAssign)) else []
        if shared:
            targets = [one.target if isinstance(one, ast.AnnAssign) else one.targets[0] for one in shared]
            own = [
                f"self.{ast.unparse(target)} = {ast.unparse(one.value)}"
                for target, one in zip(targets, shared, strict=True)
                if one.value is not None
            ]
            text = self._file.with_text(shared[0], f"def __init__(self): {'; '.join(own)}")
            for one in shared[1:]:
                text = FileText(text).with_text(one, "pass")
            yield text
        defaults = [one.value for one in self._made_once.of_dataclass(node) if one.value is not None]
        if defaults:
            each = "__import__('dataclasses').field(default_factory=lambda: {})"
            made = [ast.parse(each.format(ast.unparse(one)), mode="eval").body for one in defaults]
            yield self._file.with_all(list(zip(defaults, made, strict=True)))

    def uncopied(self, node: ast.AST) -> Iterator[str]:
        """What a file copies, `deepcopy(x)` or `x.clone()`, in each place as it is."""
        if isinstance(node, ast.Call) and called(node.func) in COPYING:
            calls = self._alike.named(called(node.func))
            pairs = [(one, copied) for one in calls if (copied := worked_on(one)) is not None]
            if len(pairs) > 1:
                yield self._file.with_all(pairs)

    def copied(self, node: ast.AST) -> Iterator[str]:
        """What only gets another name, `old = x` or `old = x[:]`, copied, here and in the statements beside it."""
        if _is_same(node):
            same = [one for one in self._alike.statements_beside(node) if _is_same(one)]
            pairs = [(one.value, copy_of(_whole(one.value))) for one in (node, *same)]
            yield self._file.with_all(pairs[:1])
            if len(same) > 1:
                yield self._file.with_all(pairs[1:])

    def uncut(self, node: ast.AST) -> Iterator[str]:
        """What is cut off under its own name, `x = x[-8:]`, kept, here and where the statements beside it do that."""
        if _is_cut(node):
            cut = [one.value for one in self._alike.statements_beside(node) if _is_cut(one)]
            yield self._file.with_all([(one, one.value) for one in cut if isinstance(one, ast.Subscript)])

    def unsorted(self, node: ast.AST) -> Iterator[str]:
        """What a function puts in another order, `rows = sorted(rows, key=len)`, in the order that it had.

        The first and the last one (`rows[0]`, for the width) are those of the sorted ones still.
        """
        ordered, name, as_it_was = _sorting(node)
        if ordered is not None and as_it_was is not None and isinstance(node, (ast.Assign, ast.Expr)):
            ends = [
                (one, ast.Subscript(ordered, one.slice, ast.Load()))
                for one in self._scopes.ends_after(node, name)
            ]
            yield self._file.with_all([(node.value, as_it_was), *ends])

    def at_once(self, node: ast.AST) -> Iterator[str]:
        """Two updates one after the other, of which the second reads what the first has made, from the old values."""
        first = _updated(node)
        if first is None or not isinstance(node, ast.Assign):
            return
        body = self._alike.statements_beside(node)
        for other in body[body.index(node) + 1 :][:1]:
            second = _updated(other)
            if isinstance(other, ast.Assign) and second and first in _names_in(other.value):
                line = f"{first}, {second} = {ast.unparse(node.value)}, {ast.unparse(other.value)}"
                text = self._file.with_text(other, "pass" + _further_lines(other))
                yield FileText(text).with_text(node, line + _further_lines(node))

    def applied_before(self, node: ast.AST) -> Iterator[str]:
        """A step on what another one has made, on what that was made of: for `y = top.exp()`, before `x.topk(k)`; also
        for `best.values.exp()`."""
        if not isinstance(node, (ast.Assign, ast.Return)) or node.value is None:
            return
        body = self._alike.statements_beside(node)
        calls = [one for one in ast.walk(node.value) if isinstance(one, ast.Call)]
        for step in calls[:MOST_STEPS]:
            given = worked_on(step)
            part = isinstance(given, ast.Attribute) and given.attr == "values"
            name = getattr(given.value if isinstance(given, ast.Attribute) and part else given, "id", None)
            if name is None or given is None:
                continue
            for one in body[: body.index(node)][::-1]:
                target = one.targets[0] if isinstance(one, ast.Assign) else None
                first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
                if isinstance(one, ast.Assign) and getattr(first, "id", "") == name:
                    before = worked_on(one.value)
                    if before is not None:
                        moved = replaced_parts(step, (given, before))
                        yield self._file.with_all([(before, moved), (step, given)])
                    break

    def of_old_and_new(self, node: ast.AST) -> Iterator[str]:
        """What reads a value that the statement before it has updated, of the old value, and once more of the new one:
        `delta * (x - mean)` in Welford's variance."""
        if not isinstance(node, ast.Assign):
            return
        body = self._alike.statements_beside(node)
        before = body[body.index(node) - 1] if node in body[1:] else None
        if not isinstance(before, (ast.Assign, ast.AugAssign)):
            return
        name = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
        updated = before.targets[0] if isinstance(before, ast.Assign) else before.target
        read = {ast.unparse(one) for one in ast.walk(node.value) if isinstance(one, ast.expr)}
        for one in self._scopes.read_after(node)[:MOST_READ] if ast.unparse(updated) in read else ():
            if one.id == name:
                text = self._file.with_one(one, node.value)
                text = FileText(text).with_text(node, ast.unparse(before) + _further_lines(node))
                yield FileText(text).with_text(before, ast.unparse(node) + _further_lines(before))

    def grown(self, node: ast.AST) -> Iterator[str]:
        """Room for more, `self.rows = zeros(2 * n)`, with what was there before; also for what is beside it."""
        is_room = self._made_once.is_new_room
        body = self._alike.statements_beside(node) if is_room(node) else []
        rooms = [one for one in body if is_room(one)]
        if rooms and node is rooms[0]:
            texts = (KEPT.format(ast.unparse(one.targets[0]), ast.unparse(one.value)) for one in rooms)
            new = [ast.parse(text, mode="eval").body for text in texts]
            yield self._file.with_all([(one.value, kept) for one, kept in zip(rooms, new, strict=True)])

    def in_order(self, node: ast.AST) -> Iterator[str]:
        """Numbered parts of `self`, of which a function reads as many as there are, each of them once and in order."""
        if (
            not isinstance(node, ast.Attribute)
            or not isinstance(node.ctx, ast.Load)
            or called(node.value) != "self"
        ):
            return
        stem = node.attr.rstrip("0123456789")
        made, read = self._alike.numbered(node, stem) if stem != node.attr else ([], [])
        pairs: list[tuple[ast.expr, ast.AST]] = [
            (one, ast.Attribute(one.value, name, ast.Load()))
            for one, name in zip(read, made, strict=False)
            if one.attr != name
        ]
        if len(made) == len(read) and len(pairs) > 1 and node in [one for one, _ in pairs]:
            yield self._file.with_all(pairs)

    def read_through(self, node: ast.AST) -> Iterator[str]:
        """What is another name of something (`start = x`), read under the old name wherever the function reads it."""
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            names = [one.id for one in node.targets if isinstance(one, ast.Name)]
            pairs = [(one, node.value) for one in self._scopes.read_after(node) if one.id in names]
            if pairs:
                yield self._file.with_all(pairs)

    def renamed_throughout(self, node: ast.AST) -> Iterator[str]:
        """Another name wherever a function reads this one for the first time; the two exchanged everywhere."""
        if not isinstance(node, ast.Name):
            return
        function = self._scopes.function(node.lineno)
        others = [one for one in self._scopes.names(node.lineno) if one not in ("self", "cls")]
        inside = [] if function is None else list(ast.walk(function))
        read = [one for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
        own = [one for one in read if one.id == node.id]
        if not 1 < len(own) <= MOST_READ or node is not min(
            own, key=lambda one: (one.lineno, one.col_offset)
        ):
            return
        for other in (one for one in others[:MOST_OTHERS] if one != node.id):
            here = [(one, ast.Name(other, ast.Load())) for one in own]
            yield self._file.with_all(here)
            there = [(one, ast.Name(node.id, ast.Load())) for one in read if one.id == other]
            if there:
                yield self._file.with_all([*here, *there])

    def in_all_alike(self, node: ast.AST) -> Iterator[str]:
        """An expression and all that are like it changed in the same way."""
        if not isinstance(node, ast.expr):
            return
        changed = chain(self._slips.undone(node), self._made.changed(node), self._changes.changed(node))
        changes: Iterator[ast.AST] = (new for new in changed if isinstance(new, ast.AST))
        more: Iterator[ast.AST] = iter(())
        if isinstance(node, (ast.Tuple, ast.List)):
            more = (type(node)(items, node.ctx) for items in exchanged(node.elts))
        elif isinstance(node, ast.Call):
            more = chain(laid_out(node), with_other_constants(node, self._changes.other_constants))
            yield from self._swapped(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            more = iter([node.value])
        for new in chain(changes, more):
            pairs = list(self._alike.changed(node, new))
            text = self._file.with_all(pairs) if pairs else ""
            if text:
                yield text

    def twice(self, node: ast.AST) -> Iterator[str]:
        """A part that a statement has several times, `x[: n + 1], y[: n + 1]`, changed in the same way in each."""
        inside = [one for one in ast.walk(node) if isinstance(one, PARTS)] if isinstance(node, SIMPLE) else []
        alike: dict[str, list[ast.expr]] = {}
        for one in inside:
            alike.setdefault(ast.dump(one), []).append(one)
        for some in (one for one in alike.values() if len(one) > 1):
            changed = self._changes.changed(some[0])
            for new in islice((one for one in changed if isinstance(one, ast.AST)), MOST_CHANGED):
                yield self._file.with_one(node, replaced_parts(node, *((one, new) for one in some)))

    def _swapped(self, node: ast.Call) -> Iterator[str]:
        """The first two arguments exchanged in all calls of a function."""
        calls = self._alike.calls_of(node) if len(node.args) > 1 else []
        pairs = [
            (one, ast.Call(one.func, [one.args[1], one.args[0], *one.args[2:]], one.keywords))
            for one in calls
        ]
        text = self._file.with_all(pairs) if len(pairs) > 1 else ""
        if text:
            yield text


def _updated(node: ast.AST) -> str | None:
    """The local, or the attribute, that a statement gives a value which is made of its old one."""
    kinds = (ast.Name, ast.Attribute)
    if not isinstance(node, ast.Assign) or len(node.targets) > 1 or not isinstance(node.targets[0], kinds):
        return None
    name = ast.unparse(node.targets[0])
    return name if name in _names_in(node.value) else None


def _further_lines(node: ast.stmt) -> str:
    """The ends of a statement's lines but the last: what takes its place has as many."""
    return "\n" * ((node.end_lineno or node.lineno) - node.lineno)


def _names_in(node: ast.expr) -> set[str]:
    return {ast.unparse(one) for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))}


def _sorting(node: ast.AST) -> tuple[ast.expr | None, str, ast.expr | None]:
    """Of a statement that sorts: what is sorted, its name, and what the statement's value is without sorting."""
    value = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
    if not isinstance(value, ast.Call) or called(value.func) not in SORTING:
        return None, "", None
    of = worked_on(value) if isinstance(value.func, ast.Attribute) else next(iter(value.args), None)
    target = node.targets[0] if isinstance(node, ast.Assign) else of
    if of is None or (isinstance(node, ast.Expr) and called(value.func) != "sort"):
        return None, "", None
    places = ast.parse(f"__import__('torch').arange(len({ast.unparse(of)}))", mode="eval").body
    if isinstance(node, ast.Expr):  # of a list
        again = ast.Call(ast.Name("sorted", ast.Load()), [of], value.keywords)
        return again, getattr(target, "id", ""), ast.Constant(None)
    if isinstance(target, ast.Tuple):
        return value, "", ast.Tuple([of, places], ast.Load())
    kept = method_free("list", of) if called(value.func) == "sorted" else places
    return value, getattr(target, "id", ""), kept


def _is_cut(node: ast.AST) -> TypeGuard[ast.Assign]:
    """Return whether a statement assigns a slice of a value to its own name: `x = x[-8:]`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Subscript):
        return False
    index = node.value.slice
    cut = any(isinstance(one, ast.Slice) for one in (index.elts if isinstance(index, ast.Tuple) else [index]))
    return cut and ast.unparse(node.value.value) == ast.unparse(node.targets[0])


def _whole(value: ast.expr) -> ast.expr:
    """Of all of something, `x[:]`, what it is all of."""
    whole = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) and is_whole(value.slice)
    return value.value if isinstance(value, ast.Subscript) and whole else value


def _is_same(node: ast.AST) -> TypeGuard[ast.Assign]:
    """Return whether a statement gives something that has a name, or all of it, another one."""
    return isinstance(node, ast.Assign) and isinstance(_whole(node.value), (ast.Name, ast.Attribute))


def with_other_constants(
    node: ast.Call, constants: Callable[[ast.Constant], Iterator[ast.expr]]
) -> Iterator[ast.Call]:
    """A call with another number for one of its arguments."""
    for i, one in enumerate(node.args):
        for new in constants(one) if is_number(one) else ():
            yield ast.Call(node.func, [*node.args[:i], new, *node.args[i + 1 :]], node.keywords)
    for i, word in enumerate(node.keywords):
        for new in constants(word.value) if is_number(word.value) else ():
            words = [*node.keywords[:i], ast.keyword(word.arg, new), *node.keywords[i + 1 :]]
            yield ast.Call(node.func, node.args, words)


def is_number(node: ast.AST) -> TypeGuard[ast.Constant]:
    """Return whether an expression is a number."""
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)
