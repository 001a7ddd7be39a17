"""Small changes to one line of a file, each of which may undo a mistake there; some are no Python.

A place is proved if one of them makes wrong results right. They are what people get wrong most: a sign, an operator, a
dim, a number off by one, a name in place of another, a call too many or too few.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain

from grader.edits.alike import Alike
from grader.edits.blocks import Blocks
from grader.edits.edit_kinds import (
    COMPARISONS,
    EQUATION,
    OPERATORS,
    PATHS,
    TRAINING,
    WRAPPERS,
    bounded,
    by_one,
    called,
    defaults_in,
    equations,
    exchanged,
    indexed,
    is_whole,
    laid_out,
    loaded,
    method,
    near,
    of_call,
    of_two,
    one_axis,
    rarer_of_call,
    regrouped,
    reordered,
    shape_of_one,
    transposed,
    unkept,
    unwrapped,
    without_an_end,
)
from grader.edits.file_text import FileText
from grader.edits.keywords import Keywords
from grader.edits.left_out import LeftOut
from grader.edits.loops import Loops
from grader.edits.made_once import MadeOnce
from grader.edits.missing_calls import with_calls, with_decorators
from grader.edits.modules import Modules
from grader.edits.moved import Moves
from grader.edits.other_names import given_twice, other_arguments
from grader.edits.pairs import Pairs
from grader.edits.parsed import nodes_of, parsed
from grader.edits.scopes import Scopes
from grader.edits.several import Several
from grader.edits.slips import Slips, without_room
from grader.edits.starts import first_alone
from grader.edits.steps import Steps

CHANCE = re.compile("drop|rand|bernoulli")
NUMBER = re.compile(r"[-+]?(inf|\d+(\.\d*)?(e-?\d+)?)")  # in `float("-inf")`
CODE = re.compile("[a-z]{2,5}")  # a text whose letters may each say a step
COUNTS = ("arange", "linspace", "range", "len")  # give no masks, and nothing below 0
SIZES = ("len", "numel", "size")
LIMIT, MUCH = 8, 16  # a whole number that may be a length built in, and how many times as much is enough
LARGE = 1e4  # a number that may stand for infinity
INFINITY = ast.parse("float('inf')", mode="eval").body
MOST_NAMES = 12
MOST_ALIKE = 2  # lines
NEAR = 8  # lines
MOST_WRAPPED = 8  # functions that an expression may have to go through


Changed = ast.AST | str | tuple[int, str]  # a text is the whole file, a number the line that was changed
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
        self._scopes = Scopes(self._tree)
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
        self._several = Several(self._file, Alike(self._tree), self._made_once, self._slips)
        self._keywords = Keywords(self._tree, self._known)
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
                id(n) in self._conditions or isinstance(n, (ast.Break, ast.Continue))
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
        yield from self._in_turn(late)

    def _without_defaults_first(self, lines: Sequence[int]) -> list[int]:
        """Lines, those where functions begin last: another default may help by accident, as in `eps=0.1`."""
        begun = {node.lineno for node in nodes_of(self._tree) if isinstance(node, ast.FunctionDef)}
        return sorted(lines, key=lambda line: line in begun)

    def _stages(
        self, first: Sequence[int], conditions: Sequence[int], second: Sequence[int], rest: Sequence[int]
    ) -> tuple[Sequence[Stage], Sequence[Stage]]:
        """Which changes are tried in which lines, in this order; the second ones after calls that are missing."""
        changed: tuple[Change, ...] = (self._changed,)
        renamed: tuple[Change, ...] = (self._renamed, self._inverted, self._other_arguments)
        rarer: tuple[Change, ...] = (self._with_keywords, self._rarer)
        other: tuple[Change, ...] = (self._steps.other,)
        more: tuple[Change, ...] = (self._steps.more,)
        moved: tuple[Change, ...] = (self._moves.of,)
        lacking: tuple[Change, ...] = (self._steps.lacking,)
        soon = (
            ([*first, *conditions, *second, *rest], (unkept, self._left_out.kept, self._made.not_using)),
            ([*first, *conditions, *second, *rest], self._slipped),
            (first, (self._given_twice,)),
            (first[:NEAR], changed),
            (conditions[:NEAR], changed),
            ([*first, *second, *rest], (self._moves.repeated_names, self._moves.displaced, without_room)),
            (first, changed),
            (first, moved),
            (first[:MOST_ALIKE], (self._in_all_alike,)),
            (first, lacking),
            ([*first, *second, *rest], (without_an_end, laid_out, regrouped)),
            (conditions, changed),
            (second, changed),
            (second, lacking),
            ([*first[:NEAR], *second], (self._pairs.left_out,)),
            (
                [*first, *second, *rest],
                (self._made.left_out, self._made.in_place_of_nothing, self._made.changed),
            ),
            (
                [*first, *second, *rest],
                (self._left_out.unread, self._slips.as_operand, self._blocks.together_left_out),
            ),
            ([*first, *second, *rest], (self._left_out.worked_in,)),
            (first, renamed),
            ([*first, *second], (self._in_all_alike,)),
            (first, (self._reduced,)),
            (rest, changed),
            ([*first, *rest], (self._steps.index, one_axis)),
            (conditions, renamed),
            (second, (self._inverted,)),
            (second, moved),
            (rest, moved),
            (first, (self._moves.repeated,)),
            ([*first, *second, *rest], (self._steps.of_state,)),
            (first, (self._steps.of_near,)),
            (first, rarer),
            (conditions, (regrouped,)),
        )
        late = (
            (first, (self._through_a_part,)),
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
            self._several.in_each_round,
            self._handed,
            self._slips.undone,
            self._several.counter_advanced,
            self._several.read_through,
            self._several.in_objects,
            self._loops.kept,
            self._blocks.undone,
            self._carried_on,
            self._first_alone,
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

    def forced(self) -> Iterator[tuple[int, str]]:
        """Lines, each with the file in which a condition is always, or never, true, or looks for None; and in which
        a module that `self` gets does nothing."""
        for line, nodes in self._nodes.items():
            for node in (one for one in nodes if id(one) in self._conditions):
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
    def _conditions(self) -> set[int]:
        nodes = list(nodes_of(self._tree))
        tests = [node.test for node in nodes if isinstance(node, (ast.If, ast.IfExp, ast.Assert))]
        tests += [one for node in nodes if isinstance(node, ast.comprehension) for one in node.ifs]
        several = [one for one in tests if isinstance(one, ast.BoolOp)]
        return {id(one) for one in (*tests, *(part for one in several for part in one.values))}

    @cached_property
    def _defaults(self) -> dict[int, list[ast.expr]]:
        """By default of an argument: those that right code has for arguments of its name, if it has such."""
        own, right = map(defaults_in, self._trees)
        return {
            id(value): [other for known, other in right if known == name]
            for name, value in own
            if any(known == name for known, _ in right)
        }

    @cached_property
    def _told_apart(self) -> set[int]:
        """What `is` and `is not` compare with."""
        tests = [node for node in nodes_of(self._tree) if isinstance(node, ast.Compare)]
        kinds = (ast.Is, ast.IsNot)
        return {id(one) for n in tests if isinstance(n.ops[0], kinds) for one in n.comparators}

    @cached_property
    def _values(self) -> set[int]:
        """Expressions that may stand for a value with a sign: no module, no function that is called."""
        nodes = list(nodes_of(self._tree))
        parts = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        parts |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        read = [n for n in nodes if isinstance(getattr(n, "ctx", ast.Load()), ast.Load)]
        return {id(n) for n in read if id(n) not in parts and getattr(n, "id", "") not in PATHS}

    @cached_property
    def _nodes(self) -> dict[int, list[ast.AST]]:
        """By line; those that ran, without types."""
        found: dict[int, list[ast.AST]] = {}

        def walk(node: ast.AST, inside: bool = False) -> None:
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

    def _changed(self, node: ast.AST) -> Iterator[Changed]:
        yield from ((line, self._file.with_one(node, new)) for line, new in reordered(node))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            for kinds in COMPARISONS:
                if type(node.ops[0]) in kinds:
                    others = [one for one in kinds if one is not type(node.ops[0])]
                    yield from (ast.Compare(node.left, [one()], node.comparators) for one in others)
        elif isinstance(node, ast.BinOp):
            yield from of_two(node)
        elif isinstance(node, ast.BoolOp):
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            yield from node.values
        elif isinstance(node, ast.UnaryOp):
            yield node.operand
        elif isinstance(node, ast.Constant):
            yield from self._other_constants(node)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            if isinstance(node.elt, ast.Name):  # one of several that a round has
                yield type(node)(loaded(node.generators[0].target), node.generators)
        elif isinstance(node, ast.Attribute) and "finfo" in ast.unparse(node.value):
            yield ast.parse("float('-inf')", mode="eval").body
            yield from (
                ast.Attribute(node.value, one, ast.Load()) for one in ("min", "eps") if one != node.attr
            )
        elif isinstance(node, ast.IfExp):
            yield from (ast.IfExp(node.test, node.orelse, node.body), node.body, node.orelse)
        elif isinstance(node, ast.Call):
            yield from of_call(node)
            yield from by_one(node) if called(node.func) in SIZES else ()
        elif isinstance(node, ast.Subscript):
            yield from indexed(node)
            yield from (
                by_one(node) if isinstance(node.ctx, ast.Load) and called(node.value) == "shape" else ()
            )
        elif isinstance(node, ast.Slice):
            yield from (
                ast.Slice(None, node.upper, node.step),
                ast.Slice(node.lower, None, node.step),
                ast.Slice(ast.Constant(1), None),
                ast.Slice(None, ast.UnaryOp(ast.USub(), ast.Constant(1))),
                ast.Slice(None, None),
            )
            yield from _other_end(node)
            if node.lower is None and isinstance(node.upper, ast.BinOp):  # [: i + 1] for [i : i + 1]
                yield ast.Slice(node.upper.left, node.upper, node.step)
            elif node.upper is None and node.lower is not None:
                yield ast.Slice(node.lower, ast.BinOp(node.lower, ast.Add(), ast.Constant(1)), node.step)
        elif isinstance(node, (ast.Tuple, ast.List)):  # also what is unpacked
            for items in exchanged(node.elts):
                line = next(new.lineno for new, old in zip(items, node.elts, strict=True) if new is not old)
                yield line, self._file.with_one(node, type(node)(items, node.ctx))
            yield from shape_of_one(node)
        elif isinstance(node, ast.Dict):
            yield from (ast.Dict(node.keys, values) for values in exchanged(node.values))
        else:
            yield from self._other_statements(node)
        if id(node) in self._conditions and isinstance(node, ast.expr) and not isinstance(node, ast.Compare):
            yield ast.UnaryOp(ast.Not(), node)

    def _other_constants(self, node: ast.Constant) -> Iterator[ast.expr]:
        value = node.value
        if id(node) in self._defaults:  # of an argument that right code has: any other may help by accident
            yield from (one for one in self._defaults[id(node)] if ast.dump(one) != ast.dump(node))
            return
        if value is None:
            if id(node) not in self._told_apart:
                names = self._scopes.names(node.lineno)[:MOST_NAMES]
                yield from (ast.Name(name, ast.Load()) for name in names)
                yield from self._scopes.of_objects(node.lineno)
        elif isinstance(value, str):
            yield from map(ast.Constant, equations(value) if EQUATION.fullmatch(value) else ())
            yield from map(ast.Constant, ("-inf", "inf") if NUMBER.fullmatch(value) else ())
            yield from map(ast.Constant, swapped_letters(value) if CODE.fullmatch(value) else ())
        else:
            yield from (ast.Constant(one) for one in near(value, self._known))
            if isinstance(value, (int, float)) and value >= LARGE:
                yield INFINITY
            if type(value) is int and value >= LIMIT:
                yield ast.Constant(MUCH * value)
            if isinstance(value, bool) and "self" in self._scopes.names(node.lineno):
                yield TRAINING

    def _other_statements(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.AugAssign):
            yield ast.Pass()
            yield from (
                ast.AugAssign(node.target, one(), node.value) for one in OPERATORS.get(type(node.op), ())
            )
        elif isinstance(node, ast.Assign):
            yield ast.Pass()
            target = node.targets[0]
            if isinstance(target, ast.Name) and "self" in self._scopes.names(node.lineno):
                yield ast.Assign([_own(target)], node.value)
            yield from (ast.Assign(node.targets, one) for one in transposed(node.value))
        elif isinstance(node, ast.Return) and node.value is not None:
            yield from map(ast.Return, transposed(node.value))
        elif isinstance(node, (ast.Break, ast.Continue)):
            yield from (ast.Continue() if isinstance(node, ast.Break) else ast.Break(), ast.Pass())
        elif isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Attribute):
                yield ast.Expr(ast.Call(node.value, [], []))
            yield from (ast.Return(node.value),) if self._moves.ends(node) else ()
            yield ast.Pass()
            root = node.value
            while isinstance(root, (ast.Call, ast.Attribute)):
                root = root.func if isinstance(root, ast.Call) else root.value
            if isinstance(root, ast.Name) and root.id not in PATHS:
                yield ast.Assign([ast.Name(root.id, ast.Store())], node.value)

    def _inverted(self, node: ast.AST) -> Iterator[ast.AST]:
        """A value with a sign, a mask or a condition inverted."""
        counts = isinstance(node, ast.Call) and called(node.func) in COUNTS
        if isinstance(node, (ast.Name, ast.Attribute, ast.Call)) and id(node) in self._values and not counts:
            yield from (ast.UnaryOp(one(), node) for one in (ast.Invert, ast.USub))
        if id(node) in self._conditions and isinstance(node, ast.expr):
            if isinstance(node, ast.Compare):
                yield ast.UnaryOp(ast.Not(), node)
            function = self._scopes.function(node.lineno)
            text = "" if function is None else ast.unparse(function)
            if "self" in text and CHANCE.search(text):  # which train mode may decide
                yield ast.BoolOp(ast.Or(), [node, ast.UnaryOp(ast.Not(), TRAINING)])
                yield ast.BoolOp(ast.And(), [node, TRAINING])
            names = self._scopes.names(node.lineno)[:MOST_NAMES] if isinstance(node, ast.Constant) else []
            for name in (ast.Name(one, ast.Load()) for one in names):
                yield from (name, ast.UnaryOp(ast.Not(), name))
                for is_none in (ast.Is(), ast.IsNot()):
                    yield ast.Compare(name, [is_none], [ast.Constant(None)])

    def _renamed(self, node: ast.AST) -> Iterator[ast.AST]:
        """Another name of the same function, another attribute of the same class."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in PATHS:
            for name in self._scopes.names(node.lineno)[:MOST_NAMES]:
                if name not in (node.id, "self", self._scopes.growing.get(id(node))):
                    yield ast.Name(name, ast.Load())
            if node.id in self._scopes.attributes(node.lineno):
                yield _own(node)
        elif isinstance(node, ast.Slice) and is_whole(node):
            for name in self._scopes.names(node.lineno)[:MOST_NAMES]:
                yield ast.Slice(None, ast.Name(name, ast.Load()))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            for name in self._scopes.attributes(node.lineno)[:MOST_NAMES]:
                if name != node.attr and isinstance(node.ctx, ast.Load):
                    yield ast.Attribute(node.value, name, ast.Load())
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            fields = self._scopes.fields.get(ast.unparse(node.value), [])
            if node.attr in fields:  # no method
                yield from (
                    ast.Attribute(node.value, name, ast.Load()) for name in fields if name != node.attr
                )
        elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            yield from (ast.Name(name, ast.Load()) for name in self._scopes.given(node.lineno))
            own = (ast.Name(name, ast.Load()) for name in self._scopes.attributes(node.lineno)[:MOST_NAMES])
            yield from map(_own, own)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = [n.value for n in nodes_of(self._tree) if isinstance(n, ast.Constant)]
            others = {one for one in found if isinstance(one, str) and len(one) < 8 and one != node.value}
            yield from map(ast.Constant, sorted(others)[:4])

    def _handed(self, node: ast.AST) -> Iterator[Changed]:
        """Another name in a call that is made for what it does, as `rows.append(x)`, or in what is written into
        something, whose values no record has; an argument that is handed on to what has one of this name."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            names = [one for one in node.value.args if isinstance(one, ast.Name)]
            yield from (
                (one.lineno, self._file.with_one(one, new)) for one in names for new in self._renamed(one)
            )
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            names = [one for one in ast.walk(node.value) if isinstance(one, ast.Name)]
            yield from (self._file.with_one(one, new) for one in names for new in self._renamed(one))
        if isinstance(node, ast.Call):
            yield from self._keywords.handed_on(node, self._scopes.given(node.lineno))

    def _in_all_alike(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.expr):
            changed = chain(self._slips.undone(node), self._made.changed(node), self._changed(node))
            changes = (new for new in changed if isinstance(new, ast.AST))
            yield from self._several.in_all_alike(node, changes, self._other_constants)

    def _carried_on(self, node: ast.AST) -> Iterator[str]:
        """A `continue` after a statement that is made for other rounds; state that is put in order like other state."""
        for statement in self._loops.carried_on(node):
            yield self._file.with_text(node, f"{ast.unparse(statement)}; continue")
        if isinstance(node, ast.Assign):
            yield from (self._file.with_after(node, one) for one in self._loops.also_reordered(node))
            yield from (self._file.with_one(node, one) for one in self._loops.with_more_state(node))

    def _given_twice(self, node: ast.AST) -> Iterator[ast.AST]:
        yield from given_twice(node, self._scopes.given(node.lineno) if isinstance(node, ast.Call) else ())

    def _first_alone(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        yield from first_alone(node, self._file)

    def _reduced(self, node: ast.AST) -> Iterator[ast.AST]:
        """An operator with the sum of one of its operands."""
        if isinstance(node, ast.BinOp):
            if isinstance(node.left, (ast.Name, ast.Call)):
                yield ast.BinOp(method(node.left, "sum"), node.op, node.right)
            if isinstance(node.right, (ast.Name, ast.Call)):
                yield ast.BinOp(node.left, node.op, method(node.right, "sum"))

    def _other_arguments(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, (ast.Assign, ast.Return, ast.Call)):
            yield from other_arguments(node, self._scopes.names(node.lineno)[:MOST_NAMES])

    def _rarer(self, node: ast.AST) -> Iterator[ast.AST]:
        """What people forget: a step, an operand, an argument, a 1; or another layout."""
        if isinstance(node, ast.Call) and ast.unparse(node.func) in map(ast.unparse, self._made.classes):
            others = [one for one in self._made.classes if called(one) != called(node.func)]
            yield from (ast.Call(one, node.args, node.keywords) for one in others)
        if isinstance(node, (ast.Assign, ast.Return)):
            yield from unwrapped(node)
            yield from bounded(node, self._scopes.names(node.lineno)[:MOST_NAMES])
        if isinstance(node, ast.Assign) and len(node.targets) > 1:
            yield from (ast.Assign([one], node.value) for one in node.targets)
        if isinstance(node, ast.Assign):
            yield from self._with_more(node)
        elif isinstance(node, ast.Return) and node.value is not None:
            yield from map(ast.Return, self._more(node.value))
            if not isinstance(node.value, ast.Tuple):
                for name in self._scopes.names(node.lineno)[:MOST_NAMES]:
                    yield ast.Return(ast.Tuple([node.value, ast.Name(name, ast.Load())], ast.Load()))
        elif isinstance(node, ast.IfExp):
            yield from (ast.IfExp(node.test, more, node.orelse) for more in self._more(node.body))
            yield from (ast.IfExp(node.test, node.body, more) for more in self._more(node.orelse))
        elif isinstance(node, ast.Call):
            yield from self._left_out.options(node)
            yield from rarer_of_call(node, self._scopes.names(node.lineno)[:MOST_NAMES])
            for value in self._scopes.of_objects(node.lineno):
                yield ast.Call(node.func, [*node.args, value], node.keywords)
            words = [word.arg for word in node.keywords]
            for name in (one for one in self._scopes.given(node.lineno) if one not in words):
                passed = ast.keyword(name, ast.Name(name, ast.Load()))
                yield ast.Call(node.func, node.args, [*node.keywords, passed])
            yield from self._multiplied(node)
            for i, one in enumerate(node.args):
                for new in by_one(one) if isinstance(one, (ast.Name, ast.Call, ast.Attribute)) else ():
                    yield ast.Call(node.func, [*node.args[:i], new, *node.args[i + 1 :]], node.keywords)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Mult, ast.Add, ast.Sub)):
            for new in by_one(node.left):
                yield ast.BinOp(new, node.op, node.right)
            for number in self._known:
                yield ast.BinOp(ast.BinOp(ast.Constant(number), ast.Add(), node.left), node.op, node.right)
        elif isinstance(node, ast.Subscript):
            if isinstance(node.ctx, ast.Load):
                yield node.value
            yield from self._with_another_index(node)
        elif isinstance(node, ast.Slice):
            for new in by_one(node.upper) if node.upper is not None else ():
                yield ast.Slice(node.lower, new, node.step)
            for new in by_one(node.lower) if node.lower is not None else ():
                yield ast.Slice(new, node.upper, node.step)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            for new in by_one(node.comparators[0]):
                yield ast.Compare(node.left, node.ops, [new])

    def _with_another_index(self, node: ast.Subscript) -> Iterator[ast.AST]:
        """What is indexed along one axis, indexed along another one too."""
        if isinstance(node.slice, (ast.Name, ast.Slice)):
            for name in self._scopes.names(node.lineno)[:MOST_NAMES]:
                other = ast.Name(name, ast.Load())
                part = ast.Slice(None, other)
                for pair in ((node.slice, other), (other, node.slice), (node.slice, part)):
                    yield ast.Subscript(node.value, ast.Tuple([*pair], ast.Load()), node.ctx)

    def _multiplied(self, node: ast.Call) -> Iterator[ast.AST]:
        """A call with a multiple of an argument in place of a whole number: of sizes."""
        for i, one in enumerate(node.args):
            if isinstance(one, ast.Constant) and type(one.value) is int and one.value > 1:
                for name in self._scopes.given(node.lineno)[:MOST_NAMES]:
                    product = ast.BinOp(ast.Name(name, ast.Load()), ast.Mult(), one)
                    yield ast.Call(node.func, [*node.args[:i], product, *node.args[i + 1 :]], node.keywords)

    def _with_keywords(self, node: ast.AST) -> Iterator[ast.AST]:
        """A call with one keyword argument more, of those that its signature has."""
        if isinstance(node, ast.Call):
            known = (*self._scopes.given(node.lineno), *self._scopes.names(node.lineno))
            names = dict.fromkeys((*known, *self._scopes.constants))
            yield from self._keywords.more(node, [name for name in names if name != "self"])

    def _through_a_part(self, node: ast.AST) -> Iterator[ast.AST]:
        """A value that goes through a part or a helper of the class first."""
        values = (ast.Name, ast.Call, ast.BinOp, ast.Subscript)
        if not isinstance(node, values) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return
        if not isinstance(node, ast.Name) or node.id in self._scopes.names(node.lineno):
            for function in self._scopes.functions(node.lineno)[:MOST_WRAPPED]:
                yield ast.Call(function, [node], [])

    def _with_more(self, node: ast.Assign) -> Iterator[ast.AST]:
        target = node.targets[0]
        if isinstance(target, ast.Tuple):
            for i, one in enumerate(target.elts):
                if isinstance(one, ast.Name) and "self" in self._scopes.names(node.lineno):
                    own = [*target.elts[:i], _own(one), *target.elts[i + 1 :]]
                    yield ast.Assign([ast.Tuple(own, ast.Store())], node.value)
            known = self._scopes.names(node.lineno)[:MOST_NAMES]
            yield from (ast.Assign(node.targets, ast.Name(name, ast.Load())) for name in known)
            return
        if isinstance(target, (ast.Name, ast.Attribute)):
            for op in (ast.Add, ast.Mult, ast.BitAnd):
                yield ast.AugAssign(target, op(), node.value)
        yield from (ast.Assign(node.targets, more) for more in self._more(node.value))

    def _more(self, value: ast.expr) -> Iterator[ast.expr]:
        """A value with another step, or another operand."""
        for function in self._scopes.functions(value.lineno)[:MOST_WRAPPED]:
            yield ast.Call(function, [value], [])
        for name in self._scopes.names(value.lineno)[:MOST_NAMES]:
            if name != "self":
                for op in (ast.Add, ast.Mult):
                    yield ast.BinOp(value, op(), ast.Name(name, ast.Load()))
        yield from (method(value, name) for name in WRAPPERS)


def by_turns(several: Sequence[Iterator[tuple[int, str]]]) -> Iterator[tuple[int, str]]:
    """The first of each, the second of each, and so on."""
    left = list(several)
    while left:
        for one in list(left):
            try:
                yield next(one)
            except StopIteration:
                left.remove(one)


def swapped_letters(text: str) -> Iterator[str]:
    """A text with two neighbours exchanged."""
    for i in range(len(text) - 1):
        yield text[:i] + text[i + 1] + text[i] + text[i + 2 :]


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


def _other_end(node: ast.Slice) -> Iterator[ast.Slice]:
    """As many from the beginning as there were from the end, and the other way round."""
    if isinstance(node.lower, ast.UnaryOp) and node.upper is None:
        yield ast.Slice(None, node.lower.operand, node.step)
    elif node.lower is None and node.upper is not None:
        yield ast.Slice(ast.UnaryOp(ast.USub(), node.upper), None, node.step)


def _own(name: ast.Name) -> ast.Attribute:
    return ast.Attribute(ast.Name("self", ast.Load()), name.id, name.ctx)
