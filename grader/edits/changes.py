"""What one expression or statement may have been: a sign, an operator, a dim, a number, a name, a call too many."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from grader.edits.axes import indexed, shape_of_one, transposed
from grader.edits.code import Code
from grader.edits.edit_kinds import (
    COMPARISONS,
    EQUATION,
    OPERATORS,
    WRAPPERS,
    bounded,
    by_one,
    equations,
    exchanged,
    near,
    of_call,
    of_two,
    rarer_of_call,
    reordered,
    swapped_letters,
    swapped_words,
    turned_round,
    unwrapped,
)
from grader.edits.given_numbers import SHARE
from grader.edits.left_out import LeftOut
from grader.edits.modules import Modules
from grader.edits.moved import Moves
from grader.edits.other_names import other_arguments
from grader.edits.parsed import nodes_of
from grader.edits.syntax import PATHS, SELF, TRAINING, called, defaults_in, is_whole, loaded, method

CHANCE = re.compile("drop|rand|bernoulli")
LARGEST = ("maximum", "max", "fmax")
NUMBER = re.compile(r"[-+]?(inf|\d+(\.\d*)?(e-?\d+)?)")  # in `float("-inf")`
LIMITS_OF_FLOATS = re.compile("finfo|float_info")
CODE = re.compile("[a-z]{2,5}")  # a text whose letters may each say a step
NAMES = re.compile(r"\w+([ ,]+\w+){1,7}")  # in "norm attention drop".split()
OF_PARTS = ("parameters", "named_parameters", "modules", "children", "apply")
COUNTS = ("arange", "linspace", "range", "len")
SIZES = ("len", "numel", "size")
LIMIT = 8  # a whole number that may be a length built in, ...
MUCH, ENOUGH = 16, 2**10  # ... with so many times as much, or this, in its place
LARGE = 1e4  # a number that may stand for infinity
INFINITY = ast.parse("float('inf')", mode="eval").body
OPPOSITE = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}
OPPOSITE |= {positive: negative for negative, positive in OPPOSITE.items()}
MOST_NAMES = 12
MOST_NEAREST = 3  # locals in place of a part of something
MOST_TEXTS, MOST_LETTERS, SHORT = 6, 24, 8
FEW = 6  # attributes of a class
MOST_WRAPPED = 8  # functions that an expression may have to go through

Changed = ast.AST | str | tuple[int, str]  # a text is the whole file, a number the line that was changed


def with_more_room(limit: int) -> ast.Constant:
    """A number in place of one that may be a limit. Args: limit: that one."""
    return ast.Constant(max(MUCH * limit, ENOUGH))


class Changes:
    """Of one file.

    Args:
        moves: its statements elsewhere.
        made: its modules.
        left_out: what may lack in it.
    """

    def __init__(self, code: Code, moves: Moves, made: Modules, left_out: LeftOut) -> None:
        self._code, self._file, self._trees = code, code.file, code.trees
        self._scopes, self._known = code.scopes, code.constants
        self._moves, self._made, self._left_out = moves, made, left_out

    @cached_property
    def conditions(self) -> set[int]:
        nodes = list(nodes_of(self._trees[0]))
        tests = [node.test for node in nodes if isinstance(node, (ast.If, ast.IfExp, ast.Assert))]
        tests += [one for node in nodes if isinstance(node, ast.comprehension) for one in node.ifs]
        return _with_parts(tests)

    @cached_property
    def deciding(self) -> set[int]:
        """Conditions, also of a `while`, and what the functions return of which they are made."""
        nodes = list(nodes_of(self._trees[0]))
        tests = [node.test for node in nodes if isinstance(node, (ast.If, ast.IfExp, ast.While))]
        parts = [one for test in tests for one in ast.walk(test) if isinstance(one, ast.expr)]
        names = {*map(called, parts)} - {""}
        functions = [one for one in nodes if isinstance(one, ast.FunctionDef) and one.name in names]
        returned = [one.value for each in functions for one in ast.walk(each) if isinstance(one, ast.Return)]
        return self.conditions | _with_parts([*tests, *filter(None, returned)])

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
    def _counting(self) -> set[str]:
        """Functions that give numbers one after the other, also the file's own: no mask, and nothing below 0."""
        functions = [one for one in nodes_of(self._trees[0]) if isinstance(one, ast.FunctionDef)]
        ends = {f.name: f.body[-1].value for f in functions if isinstance(f.body[-1], ast.Return)}
        own = (
            name
            for name, value in ends.items()
            if isinstance(value, ast.Call) and called(value.func) in COUNTS
        )
        return {*COUNTS, *own}

    @cached_property
    def _told_apart(self) -> set[int]:
        """What `is` and `is not` compare with."""
        tests = [node for node in nodes_of(self._trees[0]) if isinstance(node, ast.Compare)]
        kinds = (ast.Is, ast.IsNot)
        return {id(one) for n in tests if isinstance(n.ops[0], kinds) for one in n.comparators}

    @cached_property
    def _exponents(self) -> set[int]:
        powers = [node for node in nodes_of(self._trees[0]) if isinstance(node, ast.BinOp)]
        return {id(node.right) for node in powers if isinstance(node.op, ast.Pow)}

    def changed(self, node: ast.AST) -> Iterator[Changed]:
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
            if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
                yield ast.Constant(0)
        elif isinstance(node, ast.Constant):
            yield from self.other_constants(node)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            if isinstance(node.elt, ast.Name):  # one of several that a round has
                yield type(node)(loaded(node.generators[0].target), node.generators)
        elif isinstance(node, ast.Name) and node.id == "dataclass":
            yield ast.Call(node, [], [ast.keyword("eq", ast.Constant(False))])
        elif isinstance(node, ast.Attribute) and LIMITS_OF_FLOATS.search(ast.unparse(node.value)):
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
            yield from (node.value,) if isinstance(node.ctx, ast.Load) else ()
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
        if id(node) in self.conditions and isinstance(node, ast.expr) and not isinstance(node, ast.Compare):
            yield from self._where_decided(node)
            yield ast.UnaryOp(ast.Not(), node)

    def _where_decided(self, node: ast.expr) -> Iterator[Changed]:
        """The opposite of what a condition reads, where that was made: `self.pre = norm != "pre"`."""
        made = [one for one in nodes_of(self._trees[0]) if isinstance(one, ast.Assign)]
        made = [one for one in made if ast.unparse(one.targets[0]) == ast.unparse(node)]
        value = made[0].value if len(made) == 1 else node
        if isinstance(value, ast.Compare) and type(value.ops[0]) in OPPOSITE and len(value.ops) == 1:
            opposite = ast.Compare(value.left, [OPPOSITE[type(value.ops[0])]()], value.comparators)
            yield value.lineno, self._file.with_one(value, opposite)
        elif isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
            yield value.lineno, self._file.with_one(value, value.operand)

    def other_float(self, node: ast.AST) -> Iterator[ast.expr]:
        """Another number that is not whole."""
        if isinstance(node, ast.Constant) and type(node.value) is float:
            yield from self.other_constants(node)

    def other_default(self, node: ast.AST) -> Iterator[ast.expr]:
        """The default that right code has for an argument of this name."""
        if isinstance(node, ast.Constant) and id(node) in self._defaults:
            yield from self.other_constants(node)

    def other_constants(self, node: ast.Constant) -> Iterator[ast.expr]:
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
            yield from map(ast.Constant, swapped_words(value) if NAMES.fullmatch(value) else ())
        else:
            yield from (ast.Constant(one) for one in near(value, self._known))
            if isinstance(value, (int, float)) and value >= LARGE:
                yield INFINITY
            if type(value) is float and not value:  # where nothing is filled in yet: the lowest score
                yield ast.UnaryOp(ast.USub(), INFINITY)
            if type(value) is int and value >= LIMIT:
                yield with_more_room(value)
            if isinstance(value, bool) and "self" in self._scopes.names(node.lineno):
                yield TRAINING

    def _other_statements(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.AugAssign):
            yield from (ast.Pass(), ast.Assign([node.target], node.value))
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
            if isinstance(node.value, ast.Name):
                yield ast.Return(turned_round(node.value))
        elif isinstance(node, ast.Break):
            if not self._moves.ends_round(node):  # there it would be as if its condition was never met
                yield from (ast.Continue(), ast.Pass())
        elif isinstance(node, ast.Continue):
            yield from (ast.Break(), ast.Pass())
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

    def inverted(self, node: ast.AST) -> Iterator[ast.AST]:
        """A value with a sign, a mask or a condition inverted."""
        counts = isinstance(node, ast.Call) and called(node.func) in self._counting
        if (
            isinstance(node, (ast.Name, ast.Attribute, ast.Call))
            and id(node) in self._code.values
            and not counts
        ):
            yield from (ast.UnaryOp(one(), node) for one in (ast.Invert, ast.USub))
        if id(node) in self.conditions and isinstance(node, ast.expr):
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

    def renamed(self, node: ast.AST) -> Iterator[ast.AST]:
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
            yield from self._other_attributes(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            fields = self._scopes.fields.get(ast.unparse(node.value), [])
            if node.attr in fields:  # no method
                yield from (
                    ast.Attribute(node.value, name, ast.Load()) for name in fields if name != node.attr
                )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from map(ast.Constant, self._other_texts(node.value))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            nearest = [one for one in self._scopes.names(node.lineno) if one not in PATHS and one != "self"]
            yield from (ast.Name(one, ast.Load()) for one in nearest[:MOST_NEAREST])

    def _other_texts(self, text: str) -> list[str]:
        """Other short texts of the file, and of right code."""
        found = [n.value for tree in self._trees for n in nodes_of(tree) if isinstance(n, ast.Constant)]
        short = [one for one in found if isinstance(one, str) and (len(one) < SHORT or one.isidentifier())]
        return [one for one in dict.fromkeys(short) if one != text and len(one) < MOST_LETTERS][:MOST_TEXTS]

    def _other_attributes(self, node: ast.Attribute) -> Iterator[ast.AST]:
        for name in self._scopes.attributes(node.lineno)[:MOST_NAMES]:
            if name != node.attr and isinstance(node.ctx, ast.Load):
                yield ast.Attribute(node.value, name, ast.Load())

    def complement(self, node: ast.AST) -> Iterator[ast.BinOp]:
        """What is left of a share: `keep=1 - dropout` for `keep=dropout`."""
        named = isinstance(node, (ast.Name, ast.Attribute)) and id(node) in self._code.values
        if isinstance(node, (ast.Name, ast.Attribute)) and named and SHARE.search(called(node)):
            yield ast.BinOp(ast.Constant(1), ast.Sub(), node)

    def renamed_for_what_it_does(self, node: ast.AST) -> Iterator[tuple[int, str] | str]:
        """Another name in a call that is made for what it does, as `rows.append(x)`, or in what is written into
        something, whose values no record has."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            for one in (one for one in node.value.args if isinstance(one, ast.Name)):
                yield from ((one.lineno, self._file.with_one(one, new)) for new in self.renamed(one))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            yield from self._renamed_in(node.value)

    def renamed_where_counted(self, node: ast.AST) -> Iterator[str]:
        """Another name where something is counted, as `used = slot + 1`: there are few."""
        if isinstance(node, ast.Assign) and _counts(node.value):
            yield from self._renamed_in(node.value)

    def _renamed_in(self, value: ast.expr) -> Iterator[str]:
        names = [one for one in ast.walk(value) if isinstance(one, ast.Name)]
        yield from (self._file.with_one(one, new) for one in names for new in self.renamed(one))

    def of_few_attributes(self, node: ast.AST) -> Iterator[ast.AST]:
        """Another attribute of the same class, where it has few."""
        own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        if isinstance(node, ast.Attribute) and own and len(self._scopes.attributes(node.lineno)) <= FEW:
            yield from self._other_attributes(node)

    def numbers_as_names(self, node: ast.AST) -> Iterator[ast.AST]:
        """A number as an argument of the same function, or as an attribute of the same class."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            given = self._scopes.given(node.lineno)
            if id(node) in self._exponents:  # 4000 ** step takes seconds
                given = [name for name in given if name not in _whole(self._scopes.function(node.lineno))]
            yield from (ast.Name(name, ast.Load()) for name in given)
            own = (ast.Name(name, ast.Load()) for name in self._scopes.attributes(node.lineno)[:MOST_NAMES])
            yield from map(_own, own)

    def reduced(self, node: ast.AST) -> Iterator[ast.AST]:
        """An operator with the sum of one of its operands."""
        if isinstance(node, ast.BinOp):
            if isinstance(node.left, (ast.Name, ast.Call)):
                yield ast.BinOp(method(node.left, "sum"), node.op, node.right)
            if isinstance(node.right, (ast.Name, ast.Call)):
                yield ast.BinOp(node.left, node.op, method(node.right, "sum"))

    def with_saved_factor(self, node: ast.AST) -> Iterator[ast.AST]:
        """In a backward pass of the file's own, a value times one that the forward pass has saved."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for name in self._scopes.saved(node.lineno):
                if name != node.id:
                    yield ast.BinOp(node, ast.Mult(), ast.Name(name, ast.Load()))

    def rescaled(self, node: ast.AST) -> Iterator[ast.AST]:
        """A sum that grows, `total = total + x`, with one of both times what the function multiplies something else by:
        sums of a softmax in parts."""
        grown = _grown(node)
        function = self._scopes.function(node.lineno) if isinstance(node, (ast.stmt, ast.expr)) else None
        if function is not None and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for factor in rescalings(function):  # the sum may be an argument, or what is returned
                yield ast.BinOp(ast.BinOp(node.left, ast.Mult(), factor), ast.Add(), node.right)
                yield ast.BinOp(node.left, ast.Add(), ast.BinOp(node.right, ast.Mult(), factor))
        if grown is None or function is None:
            return
        products = [
            one for one in ast.walk(function) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult)
        ]
        factors = [
            one.id for each in products for one in (each.left, each.right) if isinstance(one, ast.Name)
        ]
        target, before, added = grown
        for name in dict.fromkeys(factors):
            for pair in ((before, added), (added, before)):
                scaled = ast.BinOp(pair[0], ast.Mult(), ast.Name(name, ast.Load()))
                yield ast.Assign([target], ast.BinOp(scaled, ast.Add(), pair[1]))

    def other_arguments(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, (ast.Assign, ast.Return, ast.Call)):
            yield from other_arguments(node, self._scopes.names(node.lineno)[:MOST_NAMES])

    def rarer(self, node: ast.AST) -> Iterator[ast.AST]:
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

    def through_a_part(self, node: ast.AST) -> Iterator[ast.AST]:
        """A value that goes through a part or a helper of the class first."""
        values = (ast.Name, ast.Call, ast.BinOp, ast.Subscript)
        if not isinstance(node, values) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return
        if not isinstance(node, ast.Name) or node.id in self._scopes.names(node.lineno):
            for function in self._scopes.functions(node.lineno)[:MOST_WRAPPED]:
                yield ast.Call(function, [node], [])

    def of_a_part(self, node: ast.AST) -> Iterator[ast.AST]:
        """What is called of the whole module, `self.parameters()`, of one of its parts."""
        if isinstance(node, ast.Attribute) and node.attr in OF_PARTS and called(node.value) == "self":
            for part in self._scopes.attributes(node.lineno)[:MOST_NAMES]:
                yield ast.Attribute(ast.Attribute(node.value, part, ast.Load()), node.attr, ast.Load())

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


def _counts(node: ast.expr) -> bool:
    """Whether it is a sum or a remainder of names and whole numbers."""
    parts = [one for one in ast.walk(node) if isinstance(one, ast.expr)]
    whole = any(isinstance(one, ast.Constant) and type(one.value) is int for one in parts)
    cut = any(isinstance(one, ast.BinOp) and isinstance(one.op, (ast.Mod, ast.FloorDiv)) for one in parts)
    return (whole or cut) and all(isinstance(one, (ast.BinOp, ast.Name, ast.Constant)) for one in parts)


def _with_parts(tests: Sequence[ast.expr]) -> set[int]:
    """The ids of conditions and of those that they are made of."""
    several = [one for one in tests if isinstance(one, ast.BoolOp)]
    return {id(one) for one in (*tests, *(part for one in several for part in one.values))}


def _grown(node: ast.AST) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """What a statement adds to: the target, what it was before, what is added; None for other statements."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return node.target, loaded(node.target), node.value
    if (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.BinOp)
        and isinstance(node.value.op, ast.Add)
    ):
        target, sides = node.targets[0], (node.value.left, node.value.right)
        for one, other in (sides, sides[::-1]):
            if ast.unparse(one) == ast.unparse(target):
                return target, one, other
    return None


def _whole(function: ast.FunctionDef | None) -> set[str]:
    """The arguments of a function that are whole numbers, as its types say."""
    args = (
        [one for one in ast.walk(function.args) if isinstance(one, ast.arg)] if function is not None else []
    )
    return {one.arg for one in args if one.annotation is not None and called(one.annotation) == "int"}


def rescalings(function: ast.FunctionDef) -> list[ast.expr]:
    """Locals that a function makes by `exp`; and, where it keeps the largest number so far, what a sum of powers has to
    be multiplied by where that grows: `exp(old - new)`."""
    nodes = list(ast.walk(function))
    powers = [one for one in nodes if isinstance(one, ast.Call) and called(one.func) == "exp"]
    made = [one for one in nodes if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)]
    found: dict[str, ast.expr] = {}
    for one in made:
        name, value = loaded(one.targets[0]), one.value
        if value in powers:
            found[ast.unparse(name)] = name
        elif powers and isinstance(value, ast.Call) and called(value.func) in LARGEST:
            of = [value.func.value] if isinstance(value.func, ast.Attribute) else []
            for old in (each for each in (*of, *value.args) if isinstance(each, ast.Name)):
                if old.id not in PATHS:
                    factor = _power(powers[0], ast.BinOp(old, ast.Sub(), name))
                    found[ast.unparse(factor)] = factor
    return list(found.values())


def _power(like: ast.Call, of: ast.expr) -> ast.Call:
    """The power of another expression, computed like one that is there: `torch.exp(x)`, `x.exp()`."""
    return ast.Call(like.func, [of], []) if like.args else method(of, "exp")


def _other_end(node: ast.Slice) -> Iterator[ast.Slice]:
    """As many from the beginning as there were from the end, and the other way round."""
    if isinstance(node.lower, ast.UnaryOp) and node.upper is None:
        yield ast.Slice(None, node.lower.operand, node.step)
    elif isinstance(node.lower, ast.BinOp) and isinstance(node.lower.op, ast.Sub) and node.upper is None:
        yield ast.Slice(None, node.lower.right, node.step)
    elif node.lower is None and node.upper is not None:
        yield ast.Slice(ast.UnaryOp(ast.USub(), node.upper), None, node.step)


def _own(name: ast.Name) -> ast.Attribute:
    return ast.Attribute(SELF, name.id, name.ctx)
