"""Small changes to one line of a file, each of which may undo a mistake there; some are no Python.

A place is proved if one of them makes wrong results right. They are what people get wrong most: a sign, an operator, a
dim, a number off by one, a name in place of another, a call too many or too few.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain

from grader.edits.axes import along_last, composed, for_each_row, laid_out, one_axis, stored_in_one_place
from grader.edits.blocks import Blocks
from grader.edits.buffers import as_parameters, cut_to_size, in_use, of_one_part
from grader.edits.changes import LIMIT, MOST_NAMES, Changed, Changes, with_more_room
from grader.edits.code import Code
from grader.edits.copies import Copies
from grader.edits.edit_kinds import other_end, regrouped
from grader.edits.given_numbers import by_given_share, limited, of_mean, what_is_left, without_share
from grader.edits.instead import (
    all_that_are,
    argument_for_text,
    by_its_own_name,
    called_instead,
    chained,
    filled_with_unread,
    local_of,
    made_of_it,
    other_rounds,
    rounds_exchanged,
    unread_for_numbers,
    with_unread,
    worked_on,
)
from grader.edits.kept_things import (
    always_set,
    computed_each_time,
    in_all_groups,
    in_dtype_of,
    in_full_precision,
    into_a_copy,
    made_now,
    none_for_none,
    onto_what_is_there,
    out_of_place,
    spread_in_part,
    switched_back,
    unkept,
    unless_none,
    with_repetitions,
    without_an_end,
)
from grader.edits.keys import with_longer_key
from grader.edits.keywords import Keywords
from grader.edits.left_out import LeftOut
from grader.edits.like_others import (
    called_like,
    made_as_beside,
    made_like,
    of_table,
    out_of_date,
    returned_like,
    wrapped_like,
)
from grader.edits.loops import Loops
from grader.edits.made_once import MadeOnce
from grader.edits.missing_calls import with_calls, with_decorators
from grader.edits.modules import Modules
from grader.edits.moved import Moves
from grader.edits.never_called import NeverCalled
from grader.edits.other_names import (
    also_the_same,
    as_another_argument,
    crosswise,
    given_twice,
    keywords_exchanged,
    made_of_them,
    numbered,
    of_arguments,
    other_keys,
    parts_of_two,
    with_another_name,
)
from grader.edits.pairs import Pairs
from grader.edits.parsed import nodes_of
from grader.edits.promised import (
    argument_of_its_name,
    as_declared,
    each_of_its_own,
    exchanged_in_helper,
    of_its_type,
    optional_exchanged,
    under_one_name,
    unpacked_otherwise,
)
from grader.edits.python_slips import (
    all_handed_on,
    as_property,
    by_another_field,
    by_value,
    fields_exchanged,
    not_its_own,
    of_self,
    of_the_object,
    overriding,
    with_its_base,
)
from grader.edits.ranges import back_in_order, begun_elsewhere, heap_in_order, of_all, of_blocks
from grader.edits.rows import each_repeated, of_flat_index
from grader.edits.several import Several
from grader.edits.signs import flipped, negated_loss, unsigned
from grader.edits.slips import Slips, without_room
from grader.edits.starts import first_alone, from_the_start
from grader.edits.steps import Steps
from grader.edits.taken_for import (
    in_one_chain,
    returned_after_all,
    taken_for,
    values_compared,
    with_field_switched,
)

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
        self._code = code = Code(text, ran, right)
        self._moves, self._blocks, self._pairs = Moves(code), Blocks(code), Pairs(code)
        self._copies = Copies(code)
        self._made, self._left_out = Modules(code), LeftOut(code)
        self._steps = Steps(code, self._made.imported, lacking)
        self._slips = Slips(code, self._made.nn)
        self._made_once, self._loops, self._keywords = MadeOnce(code), Loops(code), Keywords(code)
        self._changes = Changes(code, self._moves, self._made, self._left_out)
        self._several = Several(code, self._made_once, self._made, self._slips, self._changes)
        self._tried_already: set[str] = set()
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
                for n in self._code.nodes.get(line, ())
            )
        ]
        second = [line for line in second if line not in conditions]
        rest = [line for line in rest if line not in conditions and line not in second]
        first, second, rest = map(self._without_defaults_first, (first, second, rest))
        soon, late = self._stages(first, conditions, second, rest)
        yield from with_decorators(self._code.file.lines, *self._code.trees) if others else ()
        yield from self._in_turn(soon)
        yield from with_calls(self._code.file.lines, *self._code.trees) if others else ()
        possible = {*first, *conditions, *second, *rest}
        called = NeverCalled(self._code).called_after_all()
        yield from (one for one in called if one[0] in possible)
        yield from self._in_turn(late)

    def _without_defaults_first(self, lines: Sequence[int]) -> list[int]:
        """Lines, those where functions begin last: another default may help by accident, as in `eps=0.1`."""
        begun = {node.lineno for node in nodes_of(self._code.tree) if isinstance(node, ast.FunctionDef)}
        return sorted(lines, key=lambda line: line in begun)

    def _in_functions(self, lines: Sequence[int]) -> list[int]:
        return [line for line in lines if self._code.scopes.function(line) is not None]

    def _of_the_file(self, lines: Sequence[int]) -> list[int]:
        """Those of these lines that are in no function."""
        return [line for line in lines if self._code.scopes.function(line) is None]

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
            self._keywords.more,
            self._using(limited),
            self._using(without_share),
            self._using(of_mean),
            self._using(of_arguments),
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
                (
                    unkept,
                    out_of_place,
                    self._left_out.kept,
                    self._made.not_using,
                ),
            ),
            (everywhere, (self._left_out.unused, self._changes.other_default)),
            (everywhere, (self._copies.of, self._copies.among_items)),
            (everywhere, self._promised),
            (first[:NEAR], self._slipped),
            (self._in_functions(first[:NEAR]), changed),
            (first[:NEAR], (self._several.twice,)),
            (self._of_the_file(statements), (self._changes.other_float,)),
            (everywhere, (self._flipped, self._using(taken_for))),
            (everywhere, self._done_elsewhere),
            (second[:NEAR], self._slipped),
            (conditions[:NEAR], changed),
            (second[:NEAR], changed),
            (second[:NEAR], (self._several.twice,)),
            (everywhere, (self._using(exchanged_in_helper),)),
            (self._code.fields, (self._using(fields_exchanged),)),
            (statements, (self._changes.of_few_attributes,)),
            (statements, (self._moves.begun,)),
            ([*first, *second], moved),
            (everywhere, self._slipped),
            (conditions, changed),
            (second, changed),
            (statements, (without_an_end, laid_out, regrouped, chained)),
            (statements, (self._pairs.left_out,)),
            (
                statements,
                (self._made.left_out, self._made.in_place_of_nothing, self._made.changed),
            ),
            (
                statements,
                (self._left_out.unread, self._slips.as_operand, self._blocks.together_left_out),
            ),
            (rest, changed),
            (first, renamed),
            (first, (self._using(given_twice),)),
            (statements, (self._moves.repeated_names, self._moves.displaced, without_room)),
            (first, changed),
            (first, (self._changes.numbers_as_names,)),
            (first, (self._changes.with_saved_factor,)),
            (first[:MOST_ALIKE], (self._several.in_all_alike,)),
            (first, lacking),
            (second if self._steps.few_are_lacking else (), lacking),
            (statements, (self._left_out.worked_in,)),
            ([*first, *second], (self._several.in_all_alike, self._several.renamed_throughout)),
            (first, (self._changes.reduced,)),
            (second, lacking),
            ([*first, *rest], (self._steps.index, one_axis)),
            (conditions, renamed),
            (second, (self._changes.inverted,)),
            (rest, moved),
            (first, (self._moves.repeated,)),
            (statements, (self._steps.of_state,)),
            (first, (self._steps.of_near,)),
            (first, rarer),
            (conditions, (regrouped,)),
        )
        late = (
            (first, (self._changes.through_a_part,)),
            (rest, (self._several.in_all_alike,)),
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
    def _done_elsewhere(self) -> tuple[Change, ...]:
        """Statements and values that belong elsewhere: there are few such changes."""
        return (
            self._moves.after_the_loop,
            self._left_out.not_passed_over,
            self._left_out.never_taken_back,
            self._left_out.unread_near,
            self._loops.carried_on,
            self._loops.in_order,
            self._keywords.handed_on,
            as_another_argument,
            self._pairs.exchanged,
            self._using(none_for_none),
            self._using(always_set),
        )

    @property
    def _promised(self) -> tuple[Change, ...]:
        """What a name promises, and other things that are wrong in few places: there are few such changes."""
        return (
            self._using(argument_of_its_name),
            each_of_its_own,
            unpacked_otherwise,
            self._using(switched_back),
            self._using(under_one_name),
            self._using(as_parameters),
            self._using(each_repeated),
            self._using(of_flat_index),
            self._using(filled_with_unread),
            self._using(unread_for_numbers),
            self._using(argument_for_text),
            self._using(made_of_it),
            all_that_are,
        )

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
            self._several.on_both_sides,
            self._made_once.computed_again,
            along_last,
            for_each_row,
            in_full_precision,
            self._using(in_dtype_of),
            unless_none,
            into_a_copy,
            onto_what_is_there,
            in_all_groups,
            with_repetitions,
            self._using(with_another_name),
            self._using(of_its_type),
            self._changes.renamed_for_what_it_does,
            self._keywords.handed_on,
            unsigned,
            made_now,
            spread_in_part,
            self._using(negated_loss),
            stored_in_one_place,
            self._left_out.unread_near,
            self._left_out.computed,
            self._left_out.as_unpacked,
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
            self._using(parts_of_two),
            self._several.grown,
            self._several.in_order,
            self._several.in_objects,
            self._loops.kept,
            self._loops.weighted,
            self._loops.with_wider_key,
            self._using(with_longer_key),
            self._blocks.undone,
            self._moves.past_an_end,
            self._moves.after_the_loop,
            self._moves.counted_last,
            self._left_out.not_passed_over,
            self._left_out.never_taken_back,
            self._using(out_of_date),
            self._using(local_of),
            self._using(by_its_own_name),
            self._using(called_instead),
            self._using(with_unread),
            rounds_exchanged,
            self._using(other_rounds),
            self._using(worked_on),
            self._using(returned_like),
            self._using(made_like),
            self._using(made_as_beside),
            self._using(called_like),
            self._using(wrapped_like),
            self._using(by_another_field),
            self._using(by_value),
            self._moves.under_a_context,
            self._changes.of_a_part,
            self._changes.rescaled,
            self._using(by_given_share),
            self._using(what_is_left),
            self._changes.complement,
            self._using(also_the_same),
            self._made.by_option,
            self._using(cut_to_size),
            self._using(in_use),
            of_one_part,
            self._changes.renamed_where_counted,
            begun_elsewhere,
            of_blocks,
            back_in_order,
            as_another_argument,
            self._using(made_of_them),
            crosswise,
            self._using(of_all),
            self._loops.carried_on,
            self._loops.in_order,
            self._using(first_alone),
            self._using(from_the_start),
            other_end,
            self._using(heap_in_order),
            self._keywords.own,
            self._using(composed),
            numbered,
            self._using(keywords_exchanged),
            self._using(other_keys),
        )

    def _flipped(self, node: ast.AST) -> Iterator[Changed]:
        if not (isinstance(node, ast.Break) and self._moves.ends_round(node)):
            yield from flipped(node)

    def _using(self, change: Callable[[ast.AST, Code], Iterator[Changed]]) -> Change:
        return lambda node: change(node, self._code)

    def _in_turn(self, stages: Sequence[Stage]) -> Iterator[tuple[int, str]]:
        for lines, changes in stages:
            each = [self._of_line(line, change) for line in lines for change in changes]
            yield from by_turns(each) if self._fairly else chain.from_iterable(each)

    def _of_line(self, line: int, change: Change) -> Iterator[tuple[int, str]]:
        for node in self._code.nodes.get(line, ()):
            for new in change(node):
                at, text = new if isinstance(new, tuple) else (line, new)
                text = self._code.file.with_one(node, text) if isinstance(text, ast.AST) else text
                if text not in self._tried_already:
                    self._tried_already.add(text)
                    yield at, text

    def as_in(self, text: str, lines: Sequence[int]) -> Iterator[tuple[int, str]]:
        """The step that another version of the file has more than it, in other lines. Args: text: of that version."""
        yield from self._in_turn([(lines, (self._steps.of_change(text),))])

    def with_more_room(self) -> Iterator[tuple[int, str]]:
        """Lines, each with the file in which a whole number that may be a limit is much larger."""
        for line, nodes in self._code.nodes.items():
            for node in nodes:
                if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= LIMIT:
                    yield line, self._code.file.with_one(node, with_more_room(node.value))

    def wired(self) -> Iterator[tuple[int, str]]:
        """Lines, each with the file in which what all functions use is otherwise: the order of a class's bases,
        an entry of a table, a property that is kept; what goes wrong in Python."""
        of: tuple[Change, ...] = (
            self._blocks.bases_exchanged,
            with_field_switched,
            *map(self._using, (as_declared, optional_exchanged, as_property, overriding)),
            *map(self._using, (of_table, computed_each_time)),
            *map(self._using, (of_self, not_its_own, of_the_object, with_its_base, all_handed_on)),
            *map(self._using, (in_one_chain, returned_after_all, values_compared)),
        )
        kinds = (ast.ClassDef, ast.Dict, ast.FunctionDef, ast.AnnAssign)
        lines = [at for at, nodes in self._code.nodes.items() if any(isinstance(n, kinds) for n in nodes)]
        yield from self._in_turn([(lines, of)])

    def forced(self) -> Iterator[tuple[int, str]]:
        """Lines, each with the file in which a condition is always, or never, true, or looks for None; and in which
        a module that `self` gets does nothing."""
        for line, nodes in self._code.nodes.items():
            for node in (one for one in nodes if id(one) in self._changes.conditions):
                new: list[ast.AST] = [ast.Constant(value) for value in (True, False)]
                for name in self._code.scopes.names(line)[:MOST_NAMES]:
                    for kind in (ast.IsNot, ast.Is):
                        new.append(ast.Compare(ast.Name(name, ast.Load()), [kind()], [ast.Constant(None)]))
                yield from ((line, self._code.file.with_one(node, one)) for one in new)
        for line, nodes in self._code.nodes.items():
            yield from (
                (line, self._code.file.with_one(node, one))
                for node in nodes
                for one in self._made.left_out(node)
            )


def by_turns(several: Sequence[Iterator[tuple[int, str]]]) -> Iterator[tuple[int, str]]:
    """The first of each, the second of each, and so on."""
    left = list(several)
    while left:
        for one in list(left):
            try:
                yield next(one)
            except StopIteration:
                left.remove(one)
