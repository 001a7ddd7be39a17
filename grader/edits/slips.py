"""What people get wrong when they write code by hand, each with the few changes that would undo it."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Sequence

from grader.edits.alike import worked_on
from grader.edits.code import Code
from grader.edits.edit_kinds import KINDS, in_training
from grader.edits.file_facts import FileFacts, counted, is_count
from grader.edits.syntax import (
    LAZY,
    LISTING,
    PATHS,
    SELF,
    TRAINING,
    called,
    copy_of,
    defaults_of,
    function_named,
    in_each,
    method,
    method_free,
    renamed,
)

MOST_TEXTS = 4
MOST_CALLS = 4  # of one function
MOST_KEYS = 3  # arguments that a key may lack
MOST_UNREAD = 2  # arguments
MOST_SIZES = 3  # of a class, that may be meant
BOUNDING = frozenset({"clamp", "clamp_min", "maximum", "max"})
CHANGING = ("append", "extend", "insert", "pop", "remove", "update", "add", "clear")
EQUAL: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Is: ast.Eq, ast.IsNot: ast.NotEq}
MOST_LOCALS = 12  # that may be what is returned
BESIDE = 1  # lines
INFINITELY_SMALL = ast.parse("float('-inf')", mode="eval").body
INFINITE = {"min": INFINITELY_SMALL, "max": ast.parse("float('inf')", mode="eval").body}  # of `torch.finfo`
REGISTERING = ("register_buffer", "register_parameter", "add_module", "register_module")
FORGOTTEN_CALLS = (  # of methods
    "bool clone contiguous cpu detach double exp float int item keys items long log max mean min numel parameters "
    "relu sqrt square sum tolist values"
)
FORGOTTEN = frozenset(FORGOTTEN_CALLS.split())


class Slips:
    """Of one file. Args: nn: `torch.nn`, as the file calls it; None if it does not."""

    def __init__(self, code: Code, nn: ast.expr | None) -> None:
        self._facts, self._scopes, self._nn = FileFacts(code), code.scopes, nn

    def undone(self, node: ast.AST) -> Iterator[ast.AST]:
        """An expression or a statement without such a slip."""
        if isinstance(node, ast.Constant):
            yield from self._argument_fixed(node)
            yield from self._another_key(node)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            if isinstance(node, ast.GeneratorExp):  # what can be read once only
                yield ast.ListComp(node.elt, node.generators)
            yield from _not_copied(node)
            yield from _with_its_variable(node)
        elif isinstance(node, ast.BinOp):
            yield from self._of_operator(node)
        elif isinstance(node, ast.Lambda) or (isinstance(node, ast.FunctionDef) and not node.decorator_list):
            yield from self._bound_early(node)
        elif isinstance(node, ast.Call):
            yield from self._of_call(node)
        elif isinstance(node, ast.Compare):
            yield from _compared(node, node.comparators[-1])
        elif isinstance(node, ast.Attribute):
            if node.attr in INFINITE and called(getattr(node.value, "func", node.value)) == "finfo":
                yield INFINITE[node.attr]
            if isinstance(node.ctx, ast.Load) and node.attr in FORGOTTEN and node not in self._facts.callees:
                yield ast.Call(node, [], [])
            if node not in self._facts.callees:  # a function that is handed on, or an entry of a dictionary
                yield from (
                    function_named(node, one) for kinds, names in KINDS if node.attr in names for one in kinds
                )
            if isinstance(node.ctx, ast.Load) and called(node.value) == "self":
                unread = self._scopes.unread(node.lineno)[:MOST_UNREAD]
                yield from (ast.Name(one, ast.Load()) for one in unread if one != "self")
                own = self._scopes.sizes(node.lineno)
                meant = [one for one in own if one != node.attr] if node.attr in own else []
                yield from (ast.Attribute(node.value, one, ast.Load()) for one in meant[:MOST_SIZES])
        elif isinstance(node, ast.Return):
            yield from self._returned_without_state(node)
            if self._facts.has_numpy and node.value is not None:
                yield ast.Return(method_free("torch.as_tensor", node.value))
            yield from self._local_returned(node)
        elif isinstance(node, ast.Assign):
            yield from self._not_unpacked(node)
            yield from self._shared(node)
            if isinstance(node.targets[0], ast.Subscript):
                yield ast.AugAssign(node.targets[0], ast.Add(), node.value)
        elif isinstance(node, ast.AugAssign):
            yield ast.Assign([node.target], node.value)
        elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
            yield from self._with_more(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from self._as_condition(node)
            unread = self._scopes.unread(node.lineno)[:MOST_UNREAD]
            found = [one for one in (*self._scopes.unread_locals(node.lineno), *unread) if one != "self"]
            yield from (ast.Name(name, ast.Load()) for name in found)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            key = node.slice.value
            others = [one for one in self._facts.keys if one != key] if isinstance(key, str) else []
            yield from (ast.Subscript(node.value, ast.Constant(one), node.ctx) for one in others[:MOST_TEXTS])
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            yield from self._of_those(node, node.slice)

    def _with_more(self, node: ast.Tuple) -> Iterator[ast.Tuple]:
        """A tuple, which may be a key, with one more of the function's arguments."""
        read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        left = [one for one in self._scopes.given(node.lineno) if one not in {*read, "self", "cls"}]
        for name in left if read and len(left) <= MOST_KEYS else ():
            yield ast.Tuple([*node.elts, ast.Name(name, ast.Load())], ast.Load())

    def _another_key(self, node: ast.Constant) -> Iterator[ast.Constant]:
        """Another key of a dictionary of the file that has this one: `"relu"` for `"gelu"`; also as a word among
        others."""
        text = node.value if isinstance(node.value, str) else ""
        for keys in self._facts.dictionaries if text else ():
            names = [str(one.value) for one in keys]
            words = [] if node in keys else re.findall(r"[\w-]+", text)
            for word in dict.fromkeys(one for one in words if one in names):
                for name in (one for one in names[:MOST_TEXTS] if one != word):
                    yield ast.Constant(re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", name, text))

    def _of_those(self, node: ast.Subscript, part: ast.Slice) -> Iterator[ast.Subscript]:
        """The rows that an index says, in place of as many of the first ones: `x[rows]` for `x[: len(rows)]`."""
        names: Sequence[str] = ()
        if isinstance(part.upper, ast.Name):
            names = self._facts.counts.get(part.upper.id, ())
        elif part.upper is not None and is_count(part.upper):
            names = counted(part.upper)
        for name in names if part.lower is None else ():
            yield ast.Subscript(node.value, ast.Name(name, ast.Load()), node.ctx)

    def _as_called_before(self, node: ast.Call, name: str) -> Iterator[ast.Call]:
        """A call with the arguments that the same function calls the same with, of which none is one of its own."""
        around = self._scopes.function(node.lineno)
        for other in self._facts.calls.get(name, ()) if around is not None and len(node.args) > 1 else ():
            same = self._scopes.function(other.lineno) is around and len(other.args) == len(node.args)
            if same and not {*map(ast.unparse, other.args)} & {*map(ast.unparse, node.args)}:
                yield ast.Call(node.func, other.args, other.keywords)

    def as_operand(self, node: ast.AST) -> Iterator[ast.BinOp]:
        """What is made of the same value beside it, or with a part of that: `h * d` beside `(h + 1) * d`."""
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            return
        for other in self._facts.operators.get(ast.unparse(node), ()):
            if abs(other.lineno - node.lineno) <= BESIDE and node not in (other.left, other.right):
                first = ast.unparse(other.left) == ast.unparse(node)
                rest = other.right if first else other.left
                for part in (rest, *(one for one in ast.walk(rest) if isinstance(one, ast.Name))):
                    yield ast.BinOp(node, other.op, part) if first else ast.BinOp(part, other.op, node)

    def _of_operator(self, node: ast.BinOp) -> Iterator[ast.AST]:
        if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
            yield from (
                in_each(copy_of(one), node.right) for one in node.left.elts if isinstance(one, ast.Name)
            )
            each = ast.comprehension(ast.Name("one", ast.Store()), node, [], 0)
            yield ast.ListComp(copy_of(ast.Name("one", ast.Load())), [each])
        elif isinstance(node.op, ast.Add) and _is_one(node.right):
            for flag in self._facts.flags:  # what has ended does not count on
                if isinstance(flag, ast.Attribute) or flag.id in self._scopes.names(node.lineno):
                    yield ast.BinOp(node.left, ast.Add(), ast.UnaryOp(ast.Invert(), flag))
        elif isinstance(node.op, ast.Div):  # a sum, by that of its own weights: `(w * x).sum() / w.sum()`
            names = {one.id: one for one in ast.walk(node.left) if isinstance(one, ast.Name)}
            if "sum" in {called(one) for one in ast.walk(node.left) if isinstance(one, ast.Attribute)}:
                own = (one for name, one in names.items() if name not in PATHS)
                yield from (ast.BinOp(node.left, node.op, method(one, "sum")) for one in own)

    def _of_call(self, node: ast.Call) -> Iterator[ast.AST]:
        function = ast.unparse(node.func)  # of what it gave, once is enough
        yield from (
            one for one in node.args if isinstance(one, ast.Call) and ast.unparse(one.func) == function
        )
        yield from self._as_called_before(node, function)
        for other in self._facts.calls.get(function, ())[
            :MOST_CALLS
        ]:  # a keyword argument that another call has
            for word in other.keywords:
                if word.arg is not None and word.arg not in [one.arg for one in node.keywords]:
                    yield ast.Call(node.func, node.args, [*node.keywords, word])
        for i, one in enumerate(node.args):  # what the object was made with, and forgets
            if isinstance(one, (ast.Constant, ast.Subscript, ast.Attribute)):
                unread = self._scopes.unread_attributes(node.lineno)[:MOST_UNREAD]
                yield from (
                    ast.Call(node.func, [*node.args[:i], new, *node.args[i + 1 :]], node.keywords)
                    for new in unread
                )
        yield from self._made_once_for_all(node)
        yield from self._kept_uncopied(node)
        yield from self._not_spread(node)
        if called(node.func) in REGISTERING and len(node.args) == 1:
            name = ast.Constant(ast.unparse(node.args[0]).rpartition(".")[2])
            yield ast.Call(node.func, [name, *node.args], node.keywords)
        yield from _from_another_start(node)
        yield from in_training(node)
        yield from self._handed_nothing(node)
        if called(node.func) == "fromkeys" and len(node.args) == 2:  # one value for all keys
            each = ast.comprehension(ast.Name("each", ast.Store()), node.args[0], [], 0)
            yield ast.DictComp(ast.Name("each", ast.Load()), node.args[1], [each])
        if called(node.func) == "to" and len(node.args) == 1 and isinstance(node.args[0], ast.Attribute):
            yield ast.Call(node.func, [node.args[0].value], node.keywords)
        if called(node.func) in ("range", "arange") and len(node.args) in (1, 2):  # every other one
            start = [ast.Constant(0)] if len(node.args) == 1 else []
            yield ast.Call(node.func, [*start, *node.args, ast.Constant(2)], node.keywords)
        if called(node.func) == "map" and len(node.args) == 2:
            yield node.args[1]
        if called(node.func) in BOUNDING:  # what is added, in place of a bound: `(var + eps).sqrt()`
            of = worked_on(node)
            bounds = [one for one in node.args if one is not of] + [word.value for word in node.keywords]
            if of is not None and len(bounds) == 1:
                yield ast.BinOp(of, ast.Add(), bounds[0])
        if called(node.func) in (*LAZY, *LISTING):  # what can be read once only
            yield ast.Call(ast.Name("list", ast.Load()), [node], [])
        if called(node.func) == "arange":  # offsets of groups
            sizes = (one for one in self._scopes.given(node.lineno) if one != "self")
            yield from (ast.BinOp(node, ast.Mult(), ast.Name(one, ast.Load())) for one in sizes)
        if called(node.func) in ("max", "min") and len(node.args) == 1 and not node.keywords:
            yield ast.Call(node.func, node.args, [ast.keyword("key", ast.Name("len", ast.Load()))])

    def _argument_fixed(self, node: ast.Constant) -> Iterator[ast.expr]:
        """A number, or a text, in place of the argument that has it for a default, here or in another function, or of
        the attribute of the same name."""
        if node.value is not None and not isinstance(node.value, bool) and node not in self._facts.defaults:
            known, own = self._scopes.names(node.lineno), self._scopes.attributes(node.lineno)
            for name, value in self._facts.named_defaults:
                if ast.dump(value) == ast.dump(node):
                    if name in known:
                        yield ast.Name(name, ast.Load())
                    if name in own and "self" in known:
                        yield ast.Attribute(SELF, name, ast.Load())

    def _handed_nothing(self, node: ast.Call) -> Iterator[ast.Call]:
        """A call of a function of the file, also a later one, with None in place of a name."""
        function = node.args[0] if called(node.func) == "partial" and node.args else node.func
        if called(function) in self._facts.functions:
            for i, word in enumerate(node.keywords):
                if isinstance(word.value, ast.Name):
                    nothing = ast.keyword(word.arg, ast.Constant(None))
                    yield ast.Call(
                        node.func, node.args, [*node.keywords[:i], nothing, *node.keywords[i + 1 :]]
                    )

    def _made_once_for_all(self, node: ast.Call) -> Iterator[ast.AST]:
        """`clones(make(), n)`: what is made once, for a helper that copies it, made anew each time."""
        if (
            len(node.args) == 2
            and isinstance(node.args[0], ast.Call)
            and called(node.func) in self._facts.functions
        ):
            made = in_each(node.args[0], node.args[1])
            yield made
            if self._nn is not None:
                yield ast.Call(ast.Attribute(self._nn, "ModuleList", ast.Load()), [made], [])

    def _kept_uncopied(self, node: ast.Call) -> Iterator[ast.Call]:
        """A copy of what is kept in a list, where its numbers are written again: `rows.append(row.clone())`."""
        function = self._scopes.function(node.lineno)
        written = [
            one.value.id
            for one in (ast.walk(function) if function is not None else ())
            if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)
            if isinstance(one.value, ast.Name)
        ]
        given = node.args[0] if called(node.func) == "append" and node.args else None
        if isinstance(given, ast.Name) and given.id in written:
            yield ast.Call(node.func, [method(given, "clone")], [])

    def _returned_without_state(self, node: ast.Return) -> Iterator[ast.Return]:
        """Several names that are returned in place of as many attributes that the function has made."""
        function = self._scopes.function(node.lineno)
        if isinstance(node.value, ast.Tuple) and function is not None:
            own = [
                ast.Attribute(one.value, one.attr, ast.Load())
                for one in ast.walk(function)
                if isinstance(one, ast.Attribute)
                and isinstance(one.ctx, ast.Store)
                and called(one.value) == "self"
            ]
            several = list({one.attr: one for one in own}.values())
            if len(several) == len(node.value.elts):
                yield ast.Return(ast.Tuple([*several], ast.Load()))

    def _local_returned(self, node: ast.Return) -> Iterator[ast.Return]:
        """One of several results that is made in this line, in place of it what the function has made before."""
        for i, one in enumerate(node.value.elts if isinstance(node.value, ast.Tuple) else ()):
            names = self._scopes.names(node.lineno)[:MOST_LOCALS] if isinstance(one, ast.Call) else []
            for name in (ast.Name(name, ast.Load()) for name in names if name != "self"):
                elts = node.value.elts  # type: ignore[union-attr]
                yield ast.Return(ast.Tuple([*elts[:i], name, *elts[i + 1 :]], ast.Load()))

    def _shared(self, node: ast.Assign) -> Iterator[ast.Assign]:
        """What is then changed, a list or a tensor, where it is something else's too: a copy of it."""
        function, target = self._scopes.function(node.lineno), node.targets[0]
        if function is None or not isinstance(target, ast.Name):
            return
        value = node.value
        own = (
            isinstance(value, ast.Call) and called(value.func) in self._facts.functions
        )  # may keep what it gives
        if (own or isinstance(value, (ast.Name, ast.Attribute))) and target.id in _changed(function):
            plain = ast.parse(f"__import__('copy').copy({ast.unparse(node.value)})", mode="eval").body
            yield from (ast.Assign(node.targets, one) for one in (plain, method(node.value, "clone")))

    def _bound_early(self, node: ast.Lambda | ast.FunctionDef) -> Iterator[ast.AST]:
        """A function made in each round of a loop, with the variables of this round: it reads the last ones."""
        variables = self._facts.of_rounds.get(id(node), ())
        read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        late = [name for name in variables if name in read - {one.arg for one in node.args.args}]
        if late:
            args = ast.arguments(
                posonlyargs=node.args.posonlyargs,
                args=[*node.args.args, *map(ast.arg, late)],
                vararg=node.args.vararg,
                kwonlyargs=node.args.kwonlyargs,
                kw_defaults=node.args.kw_defaults,
                kwarg=node.args.kwarg,
                defaults=[*node.args.defaults, *(ast.Name(name, ast.Load()) for name in late)],
            )
            if isinstance(node, ast.Lambda):
                yield ast.Lambda(args, node.body)
            else:
                own = copy.copy(node)
                own.args = args
                yield own

    def _not_unpacked(self, node: ast.Assign) -> Iterator[ast.Assign]:
        """One name for what a function gives as a tuple, or two for one value; a class in place of an object."""
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
            yield ast.Assign(target.elts[:1], node.value)
        elif isinstance(node.value, ast.Name) and node.value.id in self._facts.classes:
            yield ast.Assign(node.targets, ast.Call(node.value, [], []))
        elif isinstance(target, ast.Name) and isinstance(node.value, ast.Call):
            for i in range(self._facts.functions.get(called(node.value.func), 0)):
                yield ast.Assign(node.targets, ast.Subscript(node.value, ast.Constant(i), ast.Load()))

    def _not_spread(self, node: ast.Call) -> Iterator[ast.Call]:
        """`*args` and `**kwargs` that are handed on without their stars."""
        function = self._scopes.function(node.lineno)
        if function is None:
            return
        rest, words = (
            one.arg if one is not None else "" for one in (function.args.vararg, function.args.kwarg)
        )
        names = [getattr(one, "id", None) for one in node.args]
        if {*names} & {rest, words}:
            some = [(one, name) for one, name in zip(node.args, names, strict=True) if name != words]
            args = [ast.Starred(one, ast.Load()) if name == rest else one for one, name in some]
            more = [ast.keyword(None, ast.Name(words, ast.Load()))] if words in names else []
            yield ast.Call(node.func, args, [*node.keywords, *more])

    def _as_condition(self, node: ast.Name) -> Iterator[ast.expr]:
        """A text, which counts as true, in place of whether it is the one or the other; what an argument decides in
        place of the module's mode."""
        function = self._scopes.function(node.lineno)
        default = None if function is None else defaults_of(function).get(node.id)
        is_flag = isinstance(default, ast.Constant) and isinstance(default.value, bool)
        if is_flag and "self" in self._scopes.names(node.lineno):
            yield TRAINING
        is_text = isinstance(default, ast.Constant) and isinstance(default.value, str)
        if is_text and node not in self._facts.compared:
            for text in self._facts.texts[:MOST_TEXTS]:
                yield ast.Compare(node, [ast.Eq()], [ast.Constant(text)])

    def never_advanced(self, node: ast.AST) -> Iterator[tuple[ast.stmt, ast.Assign]]:
        """Yield `state["pos"] = pos + 1` for `pos = state["pos"]` that nothing counts on, and after which statement."""
        if not (isinstance(node, ast.Assign) and isinstance(node.value, (ast.Subscript, ast.Attribute))):
            return
        function, target = self._scopes.function(node.lineno), node.targets[0]
        text = ast.unparse(node.value)
        if function is None or not isinstance(target, ast.Name) or text in self._facts.stored:
            return
        counted = ast.BinOp(ast.Name(target.id, ast.Load()), ast.Add(), ast.Constant(1))
        statement = ast.Assign([ast.parse(text, mode="eval").body], counted)
        written = [
            one
            for one in ast.walk(function)
            if isinstance(one, ast.Assign)
            and isinstance(one.targets[0], ast.Subscript)
            and target.id in map(ast.unparse, ast.walk(one.targets[0].slice))
        ]
        yield from ((one, statement) for one in written[-1:])


def _not_copied(node: ast.ListComp | ast.GeneratorExp) -> Iterator[ast.AST]:
    """The same thing several times, in place of copies of it, or of what it makes."""
    targets = {name for one in node.generators for name in map(ast.unparse, ast.walk(one.target))}
    if isinstance(node.elt, ast.Name) and node.elt.id not in targets:
        yield type(node)(copy_of(node.elt), node.generators)
        yield type(node)(ast.Call(node.elt, [], []), node.generators)


def _with_its_variable(node: ast.ListComp | ast.GeneratorExp) -> Iterator[ast.AST]:
    """The variable of a comprehension that reads something else in each round in its place."""
    names = [one for one in ast.walk(node.elt) if isinstance(one, ast.Name)]
    target = node.generators[0].target
    if isinstance(target, ast.Name) and target.id not in [one.id for one in names]:
        for name in dict.fromkeys(one.id for one in names):
            yield type(node)(renamed(node.elt, name, target.id), node.generators)


def _from_another_start(node: ast.Call) -> Iterator[ast.Call]:
    """As many numbers that start at 0, in place of those that start elsewhere; or at 1."""
    if called(node.func) not in ("range", "arange"):
        return
    if len(node.args) == 1:
        stop = ast.BinOp(node.args[0], ast.Add(), ast.Constant(1))
        yield ast.Call(node.func, [ast.Constant(1), stop], node.keywords)
    elif len(node.args) == 2 and isinstance(node.args[0], ast.Constant) and node.args[0].value != 0:
        start, end = node.args
        more = end.left if isinstance(end, ast.BinOp) and ast.dump(end.right) == ast.dump(start) else None
        yield ast.Call(node.func, [more or ast.BinOp(end, ast.Sub(), start)], node.keywords)


def without_room(node: ast.AST) -> Iterator[ast.Call]:
    """A softmax without scores that are 0: those of keys which are all zeros, where a buffer is not full yet."""
    if not isinstance(node, ast.Call) or called(node.func) != "softmax":
        return
    of = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    own = of is not node.func and ast.unparse(of) not in (
        "F",
        "torch",
        "nn.functional",
        "torch.nn.functional",
    )
    for scores in [of] if own else node.args[:1]:
        empty = ast.Compare(scores, [ast.Eq()], [ast.Constant(0)])
        left = method(scores, "masked_fill", empty, INFINITELY_SMALL)
        function = ast.Attribute(left, "softmax", ast.Load()) if own else node.func
        yield ast.Call(function, node.args if own else [left, *node.args[1:]], node.keywords)


def _compared(node: ast.Compare, last: ast.expr) -> Iterator[ast.expr]:
    """Whether two are equal, in place of whether they are the same, and the other way round; `(left != p) & q` for
    `left != p & q`."""
    if all(isinstance(one, ast.Eq) for one in node.ops):
        yield from _same_object(node)
    if type(node.ops[0]) in EQUAL and not isinstance(last, ast.Constant):
        yield ast.Compare(node.left, [EQUAL[type(node.ops[0])]()], node.comparators)
    if isinstance(last, ast.BinOp) and isinstance(last.op, (ast.BitAnd, ast.BitOr)):
        one = ast.Compare(node.left, node.ops, [*node.comparators[:-1], last.left])
        yield ast.BinOp(one, last.op, last.right)


def _same_object(node: ast.Compare) -> Iterator[ast.Compare]:
    """Whether two are the same, in place of whether they are alike: `query is key` for `query.shape == key.shape`."""
    sides = [one.func if isinstance(one, ast.Call) else one for one in (node.left, *node.comparators)]
    owners = [one.value for one in sides if isinstance(one, ast.Attribute)]
    if len(owners) == len(sides) and all(isinstance(one, ast.Name) for one in owners):
        yield ast.Compare(owners[0], [ast.Is() for _ in node.ops], owners[1:])


def _changed(function: ast.FunctionDef) -> set[str]:
    """The names of what a function changes: `ids.append(one)`, `ids[0] = one`, `ids += [one]`."""
    found: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
            found.append(node.func.value)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found.append(node.value)
        elif isinstance(node, ast.AugAssign):
            found.append(node.target)
    return {one.id for one in found if isinstance(one, ast.Name)}


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1 and type(node.value) is int
