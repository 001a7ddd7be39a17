"""Small changes to one line of a file, each of which may undo a mistake there; some are no Python.

A place is proved if one of them makes wrong results right. They are what people get wrong most: a sign, an operator, a
dim, a number off by one, a name in place of another, a call too many or too few.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain

from grader.edits.alike import Alike
from grader.edits.axes import along_last, composed, for_each_row, indices_of, laid_out, one_axis
from grader.edits.blocks import Blocks
from grader.edits.buffers import counts_of, cut_to_size, in_use, of_one_part
from grader.edits.changes import LIMIT, MOST_NAMES, Changed, Changes, with_more_room
from grader.edits.edit_kinds import also_the_same, exchanged, of_arguments, other_end, regrouped
from grader.edits.file_text import FileText
from grader.edits.kept_things import (
    in_all_groups,
    in_dtype_of,
    in_full_precision,
    into_a_copy,
    onto_what_is_there,
    out_of_place,
    unkept,
    unless_none,
    with_repetitions,
    without_an_end,
)
from grader.edits.keywords import Keywords
from grader.edits.left_out import LeftOut
from grader.edits.loops import Loops
from grader.edits.made_once import MadeOnce
from grader.edits.missing_calls import with_calls, with_decorators
from grader.edits.modules import Modules
from grader.edits.moved import Moves
from grader.edits.never_called import NeverCalled
from grader.edits.other_names import (
    as_another_argument,
    crosswise,
    given_twice,
    keywords_exchanged,
    made_of_them,
    numbered,
    other_keys,
    parts_of_two,
    with_another_name,
)
from grader.edits.pairs import Pairs
from grader.edits.parsed import nodes_of, parsed
from grader.edits.ranges import back_in_order, begun_elsewhere, heap_in_order, heaps_of, of_all, of_blocks
from grader.edits.scopes import Scopes
from grader.edits.several import Several
from grader.edits.slips import Slips, without_room
from grader.edits.starts import first_alone, from_the_start
from grader.edits.steps import Steps

MOST_ALIKE = 2  # lines
NEAR = 8  # lines


Change = Callable[[ast.AST], Iterator[Changed]]
Stage = tuple[Sequence[int], tuple[Change, ...]]  # lines, and what is changed in them


class Edits:
    """The changes of one file.

    Args:
        text: of the file, which is Python.
        ran: lines of functions that may be at fault: those that ran. All, if there are none.
        right: the text of right code: its constants and its steps are tried.
        lacking: operations that right code has, and the file has not, see `Fragments.called`.
    """

    def __init__(
        self, text: str, ran: Collection[int] = (), right: str = "", lacking: Collection[str] = ()
    ) -> None:
        self._file = FileText(text)
        self._tree = parsed(text)
        self._scopes = Scopes(self._tree, ran)
        self._ran, self._known = frozenset(ran), constants(right)
        self._moves = Moves(self._file.lines, self._tree)
        self._blocks, self._pairs = Blocks(self._file, self._tree), Pairs(self._file, self._tree)
        self._trees = [self._tree, parsed(right)]
        self._made = Modules(self._trees)
        self._left_out = LeftOut(self._trees, self._scopes)
        self._steps = Steps(self._trees, self._scopes, self._made.imported, lacking)
        self._slips = Slips(self._trees, self._scopes, self._made.nn)
        self._made_once = MadeOnce(self._tree, self._scopes)
        self._loops = Loops(self._tree, self._scopes)
        self._several = Several(self._file, Alike(self._tree), self._made_once, self._slips, self._scopes)
        self._keywords = Keywords(self._tree, self._known)
        self._changes = Changes(
            self._file, self._trees, self._scopes, self._moves, self._made, self._left_out, self._known
        )
        self._tried_already: set[str] = set()
        self._indices = cache(indices_of)
        self._fairly = False

    def among(
        self,
        suspected: Sequence[int],
        odd: Sequence[int],
        others: Sequence[int] = (),
        *,
        fairly: bool = False,
    ) -> Iterator[tuple[int, str]]:
        """Lines, each with the file as it is with one thing in this line changed; the most likely changes first.

        Args:
            suspected: the most likely lines.
            odd: lines where something is not right.
            others: all that may be.
            fairly: one change of each line after the other, where none is more likely.
        """
        self._fairly = fairly
        first = list(dict.fromkeys(suspected))
        second = [line for line in dict.fromkeys(odd) if line not in first]
        rest = [line for line in dict.fromkeys([*second, *others]) if line not in first]
        conditions = [
            line
            for line in rest
            if any(
                id(n) in self._changes.deciding or isinstance(n, (ast.Break, ast.Continue))
                for n in self._nodes.get(line, ())
            )
        ]
        second = [line for line in second if line not in conditions]
        rest = [line for line in rest if line not in conditions and line not in second]
        first, second, rest = map(self._without_defaults_first, (first, second, rest))
        soon, late = self._stages(first, conditions, second, rest)
        yield from with_decorators(self._file.lines, *self._trees) if others else ()
        yield from self._in_turn(soon)
        yield from with_calls(self._file.lines, *self._trees) if others else ()
        possible = {*first, *conditions, *second, *rest}
        called = NeverCalled(self._file, *self._trees).called_after_all(self._ran)
        yield from (one for one in called if one[0] in possible)
        yield from self._in_turn(late)

    def _without_defaults_first(self, lines: Sequence[int]) -> list[int]:
        """Lines, those where functions begin last: another default may help by accident, as in `eps=0.1`."""
        begun = {node.lineno for node in nodes_of(self._tree) if isinstance(node, ast.FunctionDef)}
        return sorted(lines, key=lambda line: line in begun)

    def _stages(
        self, first: Sequence[int], conditions: Sequence[int], second: Sequence[int], rest: Sequence[int]
    ) -> tuple[Sequence[Stage], Sequence[Stage]]:
        """Which changes are tried in which lines, in this order; the second ones after calls that are missing."""
        changed: tuple[Change, ...] = (self._changes.changed,)
        renamed: tuple[Change, ...] = (
            self._changes.renamed,
            self._changes.numbers_as_names,
            self._changes.inverted,
            self._changes.other_arguments,
        )
        rarer: tuple[Change, ...] = (
            self._with_keywords,
            self._limited,
            self._without_share,
            self._of_mean,
            self._of_arguments,
            self._changes.rarer,
        )
        other: tuple[Change, ...] = (self._steps.other,)
        more: tuple[Change, ...] = (self._steps.more,)
        moved: tuple[Change, ...] = (self._moves.of,)
        lacking: tuple[Change, ...] = (self._steps.lacking,)
        statements = [*first, *second, *rest]
        everywhere = [*first, *conditions, *second, *rest]
        soon = (
            (
                everywhere,
                (unkept, out_of_place, self._left_out.kept, self._made.not_using, self._bases_exchanged),
            ),
            (everywhere, (self._left_out.unused,)),
            (everywhere, self._slipped),
            (first, (self._given_twice,)),
            (first[:NEAR], changed),
            (conditions[:NEAR], changed),
            (statements, (self._changes.of_few_attributes,)),
            (statements, (self._moves.begun,)),
            (statements, (self._moves.repeated_names, self._moves.displaced, without_room)),
            (first, changed),
            (first, (self._changes.numbers_as_names,)),
            (first, (self._changes.with_saved_factor,)),
            (first, moved),
            (first[:MOST_ALIKE], (self._in_all_alike,)),
            (first, lacking),
            (statements, (without_an_end, laid_out, regrouped)),
            (conditions, changed),
            (second, changed),
            ([*first[:NEAR], *second], (self._pairs.left_out,)),
            (
                statements,
                (self._made.left_out, self._made.in_place_of_nothing, self._made.changed),
            ),
            (
                statements,
                (self._left_out.unread, self._slips.as_operand, self._blocks.together_left_out),
            ),
            (statements, (self._left_out.worked_in,)),
            (first, renamed),
            ([*first, *second], (self._in_all_alike, self._renamed_throughout)),
            (first, (self._changes.reduced,)),
            (rest, changed),
            (second, lacking),
            ([*first, *rest], (self._steps.index, one_axis)),
            (conditions, renamed),
            (second, (self._changes.inverted,)),
            (second, moved),
            (rest, moved),
            (first, (self._moves.repeated,)),
            (statements, (self._steps.of_state,)),
            (first, (self._steps.of_near,)),
            (first, rarer),
            (conditions, (regrouped,)),
        )
        late = (
            (first, (self._changes.through_a_part,)),
            (rest, (self._in_all_alike,)),
            (first, other),
            (second, renamed),
            (rest, renamed),
            (second, rarer),
            (first, more),
            (conditions, rarer),
            (rest, rarer),
            (second, other),
            (second, more),
            (rest, more),
        )
        return soon, late

    @property
    def _slipped(self) -> tuple[Change, ...]:
        """What people get wrong most, in a few changes each."""
        return (
            self._made_once.anew,
            self._made_once.for_each,
            self._made_once.with_each_call,
            self._made_once.log_of_softmax,
            self._several.in_each_round,
            self._several.defaults_anew,
            self._several.rows_of_count,
            self._made_once.computed_again,
            along_last,
            for_each_row,
            in_full_precision,
            self._in_dtype_of,
            unless_none,
            into_a_copy,
            onto_what_is_there,
            in_all_groups,
            with_repetitions,
            self._with_another_name,
            self._handed,
            self._slips.undone,
            self._several.counter_advanced,
            self._several.read_through,
            self._several.uncopied,
            self._several.copied,
            self._several.uncut,
            self._several.unsorted,
            self._several.at_once,
            self._several.of_old_and_new,
            self._several.applied_before,
            self._parts_of_two,
            self._several.grown,
            self._several.in_order,
            self._several.in_objects,
            self._loops.kept,
            self._weighted,
            self._blocks.undone,
            self._past_an_end,
            self._moves.under_a_context,
            self._changes.of_a_part,
            self._changes.rescaled,
            self._by_given_share,
            self._also_the_same,
            self._by_option,
            self._of_buffers,
            of_one_part,
            self._counted,
            begun_elsewhere,
            of_blocks,
            back_in_order,
            as_another_argument,
            self._made_of_them,
            crosswise,
            self._of_all,
            self._carried_on,
            self._starting,
            other_end,
            self._heap_in_order,
            self._own_options,
            self._composed,
            numbered,
            self._keywords_exchanged,
            self._other_keys,
        )

    def _in_turn(self, stages: Sequence[Stage]) -> Iterator[tuple[int, str]]:
        for lines, changes in stages:
            each = [self._of_line(line, change) for line in lines for change in changes]
            yield from by_turns(each) if self._fairly else chain.from_iterable(each)

    def _of_line(self, line: int, change: Change) -> Iterator[tuple[int, str]]:
        for node in self._nodes.get(line, ()):
            for new in change(node):
                at, text = new if isinstance(new, tuple) else (line, new)
                text = self._file.with_one(node, text) if isinstance(text, ast.AST) else text
                if text not in self._tried_already:
                    self._tried_already.add(text)
                    yield at, text

    def as_in(self, text: str, lines: Sequence[int]) -> Iterator[tuple[int, str]]:
        """The step that another version of the file has more than it, in other lines. Args: text: of that version."""
        yield from self._in_turn([(lines, (self._steps.of_change(text),))])

    def with_more_room(self) -> Iterator[tuple[int, str]]:
        """Lines, each with the file in which a whole number that may be a limit is much larger."""
        for line, nodes in self._nodes.items():
            for node in nodes:
                if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= LIMIT:
                    yield line, self._file.with_one(node, with_more_room(node.value))

    def forced(self) -> Iterator[tuple[int, str]]:
        """Lines, each with the file in which a condition is always, or never, true, or looks for None; and in which
        a module that `self` gets does nothing."""
        for line, nodes in self._nodes.items():
            for node in (one for one in nodes if id(one) in self._changes.conditions):
                new: list[ast.AST] = [ast.Constant(value) for value in (True, False)]
                for name in self._scopes.names(line)[:MOST_NAMES]:
                    for kind in (ast.IsNot, ast.Is):
                        new.append(ast.Compare(ast.Name(name, ast.Load()), [kind()], [ast.Constant(None)]))
                yield from ((line, self._file.with_one(node, one)) for one in new)
        for line, nodes in self._nodes.items():
            yield from (
                (line, self._file.with_one(node, one)) for node in nodes for one in self._made.left_out(node)
            )

    @cached_property
    def _nodes(self) -> dict[int, list[ast.AST]]:
        """By line; those that ran, without types."""
        found: dict[int, list[ast.AST]] = {}

        def walk(node: ast.AST, inside: bool = False) -> None:
            if isinstance(node, ast.ClassDef) and len(node.bases) > 1:
                found.setdefault(node.lineno, []).append(node)
            if isinstance(node, (ast.ClassDef, ast.Import, ast.ImportFrom)):
                for child in (*node.body, *node.decorator_list) if isinstance(node, ast.ClassDef) else ():
                    walk(child, inside)
                return
            if inside and not self._has_run(node):
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

        walk(self._tree)
        return found

    def _has_run(self, node: ast.AST) -> bool:
        """Whether a statement has run, as far as that is known."""
        if not self._ran or not isinstance(node, ast.stmt):
            return True
        return any(line in self._ran for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))

    def _weighted(self, node: ast.AST) -> Iterator[Changed]:
        """The mean of the means of a loop's rounds as the mean of all; keys that tell more rounds apart."""
        yield from map(self._file.with_all, self._loops.weighted(node))
        yield from map(self._file.with_all, self._loops.with_wider_key(node))

    def _handed(self, node: ast.AST) -> Iterator[Changed]:
        """Another name in a call that is made for what it does, as `rows.append(x)`, or in what is written into
        something, whose values no record has; an argument that is handed on to what has one of this name."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            names = [one for one in node.value.args if isinstance(one, ast.Name)]
            yield from (
                (one.lineno, self._file.with_one(one, new))
                for one in names
                for new in self._changes.renamed(one)
            )
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            names = [one for one in ast.walk(node.value) if isinstance(one, ast.Name)]
            yield from (self._file.with_one(one, new) for one in names for new in self._changes.renamed(one))
        if isinstance(node, ast.Call):
            yield from self._keywords.handed_on(node, self._scopes.given(node.lineno))
        if isinstance(node, ast.Name):
            yield from self._keywords.handed_on_later(node, self._scopes.given(node.lineno))

    def _of_all(self, node: ast.AST) -> Iterator[str]:
        yield from (self._file.with_one(old, new) for old, new in of_all(node))

    def _counted(self, node: ast.AST) -> Iterator[str]:
        """Another name where something is counted, as `used = slot + 1`: there are few."""
        if isinstance(node, ast.Assign) and counts(node.value):
            names = [one for one in ast.walk(node.value) if isinstance(one, ast.Name)]
            yield from (self._file.with_one(one, new) for one in names for new in self._changes.renamed(one))

    def _in_all_alike(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.expr):
            changed = chain(self._slips.undone(node), self._made.changed(node), self._changes.changed(node))
            changes: Iterator[ast.AST] = (new for new in changed if isinstance(new, ast.AST))
            if isinstance(node, (ast.Tuple, ast.List)):
                changes = chain(changes, (type(node)(items, node.ctx) for items in exchanged(node.elts)))
            yield from self._several.in_all_alike(node, changes, self._changes.other_constants)

    def _renamed_throughout(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Name):
            others = [one for one in self._scopes.names(node.lineno) if one not in ("self", "cls")]
            yield from self._several.renamed_throughout(node, self._scopes.function(node.lineno), others)

    def _past_an_end(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        moved = self._moves.past_an_end(node)
        yield from (one for one in moved if not self._ran or one[0] in self._ran)

    def _carried_on(self, node: ast.AST) -> Iterator[str]:
        """A `continue` after a statement that is made for other rounds; state that is put in order like other state."""
        for statement in self._loops.carried_on(node):
            yield self._file.with_text(node, f"{ast.unparse(statement)}; continue")
        if isinstance(node, ast.Assign):
            yield from (self._file.with_after(node, one) for one in self._loops.also_reordered(node))
            yield from (self._file.with_one(node, one) for one in self._loops.with_more_state(node))
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            yield from (self._file.with_before(node, one) for one in self._loops.in_its_order(node))

    def _given_twice(self, node: ast.AST) -> Iterator[ast.AST]:
        yield from given_twice(node, self._scopes.given(node.lineno) if isinstance(node, ast.Call) else ())

    def _heap_in_order(self, node: ast.AST) -> Iterator[ast.AST]:
        yield from heap_in_order(node, self._heaps)

    @cached_property
    def _heaps(self) -> set[str]:
        return heaps_of(nodes_of(self._tree))

    def _own_options(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.Call):
            known = dict.fromkeys((*self._scopes.names(node.lineno), *self._scopes.given(node.lineno)))
            names = [one for one in known if one != "self"]
            yield from (
                (line, self._file.with_one(node, new)) for line, new in self._keywords.own(node, names)
            )

    def _keywords_exchanged(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        yield from ((line, self._file.with_one(node, new)) for line, new in keywords_exchanged(node))

    def _other_keys(self, node: ast.AST) -> Iterator[ast.AST]:
        yield from other_keys(node, self._tree)

    def _made_of_them(self, node: ast.AST) -> Iterator[ast.AST]:
        function = self._scopes.function(node.lineno) if isinstance(node, (ast.Tuple, ast.Call)) else None
        if function is not None:
            yield from made_of_them(node, function)

    def _composed(self, node: ast.AST) -> Iterator[ast.AST]:
        function = self._scopes.function(node.lineno) if isinstance(node, (ast.Assign, ast.Name)) else None
        if isinstance(node, (ast.Assign, ast.Name)) and function is not None:
            yield from composed(node, function, self._indices(function), self._scopes.stored_attributes)

    def _in_dtype_of(self, node: ast.AST) -> Iterator[ast.AST]:
        yield from in_dtype_of(node, self._scopes.given(node.lineno) if isinstance(node, ast.Call) else ())

    def _parts_of_two(self, node: ast.AST) -> Iterator[ast.AST]:
        yield from parts_of_two(node, self._scopes.given(node.lineno) if isinstance(node, ast.Assign) else ())

    def _starting(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        yield from first_alone(node, self._file)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            owners = (one for one in nodes_of(self._tree) if isinstance(one, ast.ClassDef))
            for owner in (one for one in owners if node in one.body):
                yield from from_the_start(node, owner, self._file)

    def _bases_exchanged(self, node: ast.AST) -> Iterator[str]:
        """The bases of a class in another order: whose method comes first."""
        if isinstance(node, ast.ClassDef):
            yield from (
                self._file.with_all(list(zip(node.bases, bases, strict=True)))
                for bases in exchanged(node.bases)
            )

    def _with_another_name(self, node: ast.AST) -> Iterator[ast.AST]:
        yield from with_another_name(node, self._scopes.stored_attributes)

    def _limited(self, node: ast.AST) -> Iterator[ast.AST]:
        """A number that a function is given, but no more, or no less, than another one that it is given."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            numbers = self._scopes.numbers(node.lineno)
            others = [ast.Name(one, ast.Load()) for one in numbers if one != node.id]
            for one in others if node.id in numbers else ():
                yield from (ast.Call(ast.Name(name, ast.Load()), [node, one], []) for name in ("max", "min"))

    def _without_share(self, node: ast.AST) -> Iterator[ast.AST]:
        """A product with, or a quotient by, what a share that the function is given leaves: `x / (1 - p)`."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            yield from (ast.BinOp(node.left, node.op, rest) for rest in self._rests(node.lineno))

    def _by_given_share(self, node: ast.AST) -> Iterator[ast.AST]:
        """A quotient of what was counted, where something is drawn by a share that the function is given, as what that
        leaves on average: `1 / (1 - p)`."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and self._scopes.draws(node.lineno):
            yield from (ast.BinOp(ast.Constant(1), ast.Div(), rest) for rest in self._rests(node.lineno))

    def _rests(self, line: int) -> Iterator[ast.expr]:
        """What the numbers that the function around a line is given leave as shares: `1 - p`."""
        for name in self._scopes.numbers(line):
            yield ast.BinOp(ast.Constant(1), ast.Sub(), ast.Name(name, ast.Load()))

    def _of_mean(self, node: ast.AST) -> Iterator[ast.AST]:
        """What goes backward, divided by a local."""
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(function, ast.Attribute) and function.attr == "backward":
            for name in self._scopes.names(node.lineno)[:MOST_NAMES]:
                share = ast.BinOp(function.value, ast.Div(), ast.Name(name, ast.Load()))
                yield ast.Call(ast.Attribute(share, "backward", ast.Load()), node.args, node.keywords)

    def _also_the_same(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Compare):
            yield from also_the_same(node, self._scopes.given(node.lineno))

    def _by_option(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Assign):
            yield from self._made.by_option(node, self._scopes.function(node.lineno))

    def _of_buffers(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Return):
            yield from cut_to_size(node, self._scopes.numbers(node.lineno))
        yield from in_use(node, self._counts)

    @cached_property
    def _counts(self) -> list[str]:
        return counts_of(self._tree)

    def _of_arguments(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Compare):
            yield from of_arguments(self._scopes.given(node.lineno))

    def _with_keywords(self, node: ast.AST) -> Iterator[ast.AST]:
        """A call with one keyword argument more, of those that its signature has."""
        if isinstance(node, ast.Call):
            known = (*self._scopes.given(node.lineno), *self._scopes.names(node.lineno))
            names = dict.fromkeys((*known, *self._scopes.constants))
            yield from self._keywords.more(node, [name for name in names if name != "self"])


def counts(node: ast.expr) -> bool:
    """Whether it is a sum or a remainder of names and whole numbers."""
    parts = [one for one in ast.walk(node) if isinstance(one, ast.expr)]
    whole = any(isinstance(one, ast.Constant) and type(one.value) is int for one in parts)
    cut = any(isinstance(one, ast.BinOp) and isinstance(one.op, (ast.Mod, ast.FloorDiv)) for one in parts)
    return (whole or cut) and all(isinstance(one, (ast.BinOp, ast.Name, ast.Constant)) for one in parts)


def by_turns(several: Sequence[Iterator[tuple[int, str]]]) -> Iterator[tuple[int, str]]:
    """The first of each, the second of each, and so on."""
    left = list(several)
    while left:
        for one in list(left):
            try:
                yield next(one)
            except StopIteration:
                left.remove(one)


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
