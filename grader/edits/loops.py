"""What a loop keeps from one round to the next, where a round forgets some of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from grader.edits.code import Code
from grader.edits.keys import keys_of
from grader.edits.parsed import nodes_of
from grader.edits.syntax import called, declared, renamed

MOST_ATTRIBUTES = 6  # of one class
MOST_WEIGHTS = 6  # locals of a round
MOST_FORMS = 3  # in which one loop puts its state in another order
INDEXED = ("{0}.gather(1, {1})", "{0}[{1}]", "{0}.flatten()[{1}.flatten()].view_as({0})")
REORDERING = ("gather", "index_select", "take_along_dim")
REPLACING = ("replace", "_replace")
Loop = ast.For | ast.While


class Loops:
    """Of one file."""

    def __init__(self, code: Code) -> None:
        self._tree, self._scopes, self._file = code.tree, code.scopes, code.file
        self._values = code.values

    def kept(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a round gives the next one, with what was there before it."""
        if isinstance(node, ast.Assign) and id(node) in self._overwritten:
            name = ast.Name(ast.unparse(node.targets[0]), ast.Load())
            for op in (ast.BitOr, ast.BitAnd, ast.Add):
                yield ast.Assign(node.targets, ast.BinOp(name, op(), node.value))
            yield ast.Assign(node.targets, ast.Subscript(name, node.value, ast.Load()))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from self._reordered(node)
        elif isinstance(node, ast.Attribute) and id(node) in self._values:
            yield from self._field_reordered(node)
        elif isinstance(node, ast.Call):
            yield from self._summed(node)

    def carried_on(self, node: ast.AST) -> Iterator[str]:
        """A `continue` after a statement that is made for other rounds (`kept.append(one)`)."""
        loop = self._loops.get(id(node)) if isinstance(node, ast.Continue) else None
        if not isinstance(loop, ast.For):
            return
        for name in _names(loop.target):
            for to in self._filled(loop):
                appended = ast.Attribute(ast.Name(to, ast.Load()), "append", ast.Load())
                kept = ast.Expr(ast.Call(appended, [ast.Name(name, ast.Load())], []))
                yield self._file.with_text(node, f"{ast.unparse(kept)}; continue")

    def with_wider_key(self, node: ast.AST) -> Iterator[str]:
        """For `best[token] = new` in loops: keys that also tell apart what the loops further out go through."""
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return
        key, found, loop = ast.unparse(target.slice), target.value.id, self._loops.get(id(node))
        rounds: list[list[str]] = []
        while loop is not None:
            rounds += [_names(loop.target)] if isinstance(loop, ast.For) else []
            loop = self._loops.get(id(loop))
        own = next((i for i, names in enumerate(rounds) if {*names} & {*_names(target.slice)}), len(rounds))
        ids = [ast.parse(f"id({one})", mode="eval").body for names in rounds[own + 1 :] for one in names]
        function = self._scopes.function(target.lineno)
        keys = [] if function is None else keys_of(function, found)
        same = [one for one in keys if ast.unparse(one) == key]
        if ids and same:
            yield self._file.with_all([(one, ast.Tuple([one, *ids], ast.Load())) for one in same])

    def weighted(self, node: ast.AST) -> Iterator[str]:
        """For `rounds += 1` in a loop that sums up means: sums, each weighted by a local of the round, and of those."""
        loop = self._loops.get(id(node))
        one = _added(node)
        if loop is None or not isinstance(one, ast.Constant) or one.value != 1:
            return
        sums = [
            value
            for part in loop.body
            for each in ast.walk(part)
            if (value := _added(each)) is not None and not isinstance(value, ast.Constant)
        ]
        stored = [each for part in loop.body for each in ast.walk(part) if isinstance(each, ast.Name)]
        summed = {name for each in ast.walk(loop) if _added(each) is not None for name in _stored_in(each)}
        made = dict.fromkeys(each.id for each in stored if isinstance(each.ctx, ast.Store))
        for name in [each for each in made if each not in summed][:MOST_WEIGHTS] if sums else ():
            weight = ast.Name(name, ast.Load())
            products = [(value, ast.BinOp(value, ast.Mult(), weight)) for value in sums]
            yield self._file.with_all([(one, weight), *products])

    def in_order(self, node: ast.AST) -> Iterator[str]:
        """State that is put in order like other state."""
        if isinstance(node, ast.Assign):
            yield from (self._file.with_after(node, one) for one in self._also_reordered(node))
            yield from (self._file.with_one(node, one) for one in self._with_more_state(node))
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            yield from (self._file.with_before(node, one) for one in self._in_its_order(node))

    def _also_reordered(self, node: ast.Assign) -> Iterator[ast.Assign]:
        """For `sums = sums[parents]` in a loop: other state put in that order in a statement of its own; for attributes
        of `self`, also where no loop is around."""
        if isinstance(node.targets[0], ast.Attribute):
            yield from self._attributes_reordered(node, node.targets[0])
        loop = self._loops.get(id(node))
        if loop is None or not isinstance(node.targets[0], ast.Name):
            return
        name = node.targets[0].id
        if isinstance(node.value, (ast.Call, ast.Subscript)) and name in _names(node.value):
            for other in sorted(self._state(loop)):
                if other not in _names(node.value):
                    yield ast.Assign([ast.Name(other, ast.Store())], renamed(node.value, name, other))

    def _in_its_order(self, node: ast.Assign | ast.AugAssign) -> Iterator[ast.Assign]:
        """State that a statement in a loop is the first to read, and all that the loop gives no other order: in the
        order of an index that the loop has made before."""
        loop = self._loops.get(id(node))
        if loop is None or not self._state(loop) & {*_names(node)}:
            return
        before = [
            one for part in loop.body for one in ast.walk(part) if getattr(one, "lineno", 0) < node.lineno
        ]
        made = {one.id for one in before if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        own = [order for one in ast.walk(loop) if (order := self._own_order(one, made))]
        indices = dict.fromkeys(index for _, _, index in own)
        indices |= dict.fromkeys(name for one in ast.walk(loop) for name in _indexing(one) if name in made)
        done = {name for one in ast.walk(loop) if _indexing(one) for name in _names(_indexed(one))}
        done |= {name for _, name, _ in own}
        left = sorted(self._state(loop) - done - made - {*indices})
        read = [name for name in left if name in _names(node)]
        for index in list(indices)[:MOST_FORMS] if read else ():
            for names in dict.fromkeys([tuple(left), tuple(read)]):
                for form in (*(f"{order}({{0}}, {{1}})" for order, _, _ in own[:1]), *INDEXED):
                    values = ", ".join(form.format(name, index) for name in names)
                    yield ast.Assign(
                        [ast.parse(", ".join(names), mode="eval").body], ast.parse(values, mode="eval").body
                    )

    def _own_order(self, node: ast.AST, made: set[str]) -> tuple[str, str, str] | None:
        """A function of the file, the state of a loop that it gets, and the index that the loop has made."""
        if not isinstance(node, ast.Call) or len(node.args) != 2 or called(node.func) not in self._functions:
            return None
        of, index = map(ast.unparse, node.args)
        fits = id(node) in self._loops and of in self._state(self._loops[id(node)]) and index in made
        return (called(node.func), of, index) if fits else None

    @cached_property
    def _functions(self) -> set[str]:
        return {one.name for one in self._tree.body if isinstance(one, ast.FunctionDef)}

    def _attributes_reordered(self, node: ast.Assign, target: ast.Attribute) -> Iterator[ast.Assign]:
        """For `self.sums = self.sums[parents]`: other attributes that the function leaves as they are."""
        text, own = ast.unparse(node.value), ast.unparse(target)
        function = self._scopes.function(node.lineno)
        if function is None or called(target.value) != "self" or own not in text:
            return
        classes = (
            one for one in nodes_of(self._tree) if isinstance(one, ast.ClassDef) and function in one.body
        )
        inside = [node for one in classes for node in ast.walk(one) if isinstance(node, ast.Attribute)]
        attributes = [one for one in inside if called(one.value) == "self"]
        set_here = {
            one.attr
            for one in ast.walk(function)
            if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
        }
        stored = {one.attr for one in attributes if isinstance(one.ctx, ast.Store)} - set_here
        for name in sorted(stored)[:MOST_ATTRIBUTES]:
            other = re.sub(rf"\b{re.escape(own)}\b", f"self.{name}", text)
            yield ast.Assign(
                [ast.Attribute(target.value, name, ast.Store())], ast.parse(other, mode="eval").body
            )

    def _with_more_state(self, node: ast.Assign) -> Iterator[ast.Assign]:
        """For `ids, sums = (x[parents] for x in (ids, sums))` in a loop: with other state too."""
        loop, target = self._loops.get(id(node)), node.targets[0]
        rounds = node.value.generators if isinstance(node.value, (ast.GeneratorExp, ast.ListComp)) else []
        of = rounds[0].iter if rounds else None
        if loop is None or not isinstance(target, ast.Tuple) or not isinstance(of, ast.Tuple):
            return
        for other in sorted(self._state(loop)) if ast.unparse(target) == ast.unparse(of) else ():
            if other not in _names(of):
                more = ast.Tuple([*target.elts, ast.Name(other, ast.Store())], ast.Store())
                text = ast.unparse(node.value).replace(ast.unparse(of), ast.unparse(more), 1)
                yield ast.Assign([more], ast.parse(text, mode="eval").body)

    def _reordered(self, node: ast.Name) -> Iterator[ast.AST]:
        """State that keeps its order, in the new order that the loop gives other state."""
        loop = self._loops.get(id(node))
        if loop is None or node.id not in self._state(loop):
            return
        for form, of in self._forms(loop):
            if of != node.id:
                yield renamed(form, of, node.id)
                indices = [
                    one for one in ast.walk(form) if isinstance(one, ast.Name) and one.id not in (of, "torch")
                ]
                # the file may have no name for torch
                for index in indices[:1] if called(getattr(form, "func", form)) == "gather" else ():
                    text = f"__import__('torch').take_along_dim({node.id}, {index.id}[..., None], 1)"
                    yield ast.parse(text, mode="eval").body

    def _field_reordered(self, node: ast.Attribute) -> Iterator[ast.AST]:
        """A field of the state, in the new order that other fields of it get in the same function."""
        function = self._scopes.function(node.lineno)
        forms: dict[str, ast.expr] = {}
        for one in ast.walk(function) if function is not None else ():
            of = None
            if isinstance(one, ast.Call):
                is_method = isinstance(one.func, ast.Attribute) and one.func.attr in REORDERING
                of = one.func.value if isinstance(one.func, ast.Attribute) and is_method else None
                of = of or (one.args[0] if len(one.args) == 2 else None)
            elif isinstance(one, ast.Subscript) and _names(one.slice):
                of = one.value
            if not isinstance(of, ast.Attribute) or of.attr == node.attr:
                continue
            if ast.dump(of.value) == ast.dump(node.value) and isinstance(one, (ast.Call, ast.Subscript)):
                form = ast.parse(
                    ast.unparse(one).replace(ast.unparse(of), ast.unparse(node)), mode="eval"
                ).body
                forms.setdefault(ast.dump(form), form)
        yield from list(forms.values())[:MOST_FORMS]

    def _forms(self, loop: Loop) -> list[tuple[ast.expr, str]]:
        """The expressions by which a loop puts state in another order, each with the name of that state."""
        state = self._state(loop)
        found: dict[str, tuple[ast.expr, str]] = {}
        for node in ast.walk(loop):
            if isinstance(node, ast.Call) and called(node.func) in REORDERING:
                of: ast.AST = node.func.value if isinstance(node.func, ast.Attribute) else node
                if getattr(of, "id", "torch") == "torch":
                    of = node.args[0] if node.args else node
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
                of = node.value
                if not _names(node.slice) or any(isinstance(one, ast.Slice) for one in ast.walk(node.slice)):
                    continue
            else:
                continue
            if isinstance(of, ast.Name) and of.id in state:
                found.setdefault(ast.unparse(renamed(node, of.id, "_")), (node, of.id))
        return list(found.values())[:MOST_FORMS]

    def _summed(self, node: ast.Call) -> Iterator[ast.Call]:
        """A field of a new object with that of the old one before it: `replace(old, total=old.total + more)`."""
        fields: list[tuple[str | None, int | None, ast.expr]] = [
            (word.arg, None, word.value) for word in node.keywords
        ]
        olds: list[ast.expr] = []
        if isinstance(node.func, ast.Attribute) and node.func.attr == "_replace":
            olds = [node.func.value]
        elif called(node.func) in REPLACING:
            olds = node.args[:1]
        elif called(node.func) in self._fields:
            known = [*self._scopes.fields, "self"]
            olds = [ast.Name(name, ast.Load()) for name in self._scopes.names(node.lineno) if name in known]
            given = zip(self._fields[called(node.func)], node.args, strict=False)
            fields += [(name, i, value) for i, (name, value) in enumerate(given)]
        for old in olds:
            for name, i, value in fields:
                if name and not isinstance(value, ast.Constant) and name not in _attributes(value):
                    total = ast.BinOp(ast.Attribute(old, name, ast.Load()), ast.Add(), value)
                    args = [total if n == i else one for n, one in enumerate(node.args)]
                    words = [
                        ast.keyword(word.arg, total if i is None and word.arg == name else word.value)
                        for word in node.keywords
                    ]
                    yield ast.Call(node.func, args, words)

    @cached_property
    def _loops(self) -> dict[int, Loop]:
        """By id of a node, the innermost loop whose rounds it is in."""
        found: dict[int, Loop] = {}
        for loop in nodes_of(self._tree):  # outer ones first
            if isinstance(loop, Loop):
                found.update((id(inner), loop) for part in loop.body for inner in ast.walk(part))
        return found

    @cached_property
    def _overwritten(self) -> set[int]:
        """Assignments in loops to what was made before the loop, and is not read for it."""
        found = set[int]()
        for node in nodes_of(self._tree):
            loop = self._loops.get(id(node))
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and loop is not None:
                before = self._made_before(loop)
                if target.id in before and target.id not in _names(node.value):
                    found.add(id(node))
        return found

    def _made_before(self, loop: Loop) -> set[str]:
        function = self._scopes.function(loop.lineno)
        made = [] if function is None else self._scopes.made_in(function)[0]
        return {name for line, name in made if line < loop.lineno}

    def _state(self, loop: Loop) -> set[str]:
        """Locals that are made before a loop and get other values in it."""
        stored = {
            one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        return stored & self._made_before(loop)

    @staticmethod
    def _filled(loop: Loop) -> list[str]:
        """Lists that a loop adds to."""
        calls = (node.func for node in ast.walk(loop) if isinstance(node, ast.Call))
        lists = (
            one.value
            for one in calls
            if isinstance(one, ast.Attribute) and one.attr in ("append", "extend", "add")
        )
        return list(dict.fromkeys(one.id for one in lists if isinstance(one, ast.Name)))

    @cached_property
    def _fields(self) -> dict[str, list[str]]:
        """The fields of classes, in their order."""
        classes = (node for node in nodes_of(self._tree) if isinstance(node, ast.ClassDef))
        return {node.name: [name for name, _ in declared(node)] for node in classes if declared(node)}


def _indexed(node: ast.AST) -> ast.AST:
    """What an index is put to, in `x[i]` and `x.gather(1, i)`; a node without names for all else."""
    if isinstance(node, ast.Subscript):
        return node.value
    return node.func if isinstance(node, ast.Call) and called(node.func) in REORDERING else ast.Pass()


def _indexing(node: ast.AST) -> list[str]:
    """The names in the index of `x[i]` and `x.gather(1, i)`."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return [] if any(isinstance(one, ast.Slice) for one in ast.walk(node.slice)) else _names(node.slice)
    if isinstance(node, ast.Call) and called(node.func) in REORDERING and node.args:
        return _names(node.args[-1])
    return []


def _names(node: ast.AST) -> list[str]:
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _attributes(node: ast.AST) -> set[str]:
    return {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def _added(node: ast.AST) -> ast.expr | None:
    """What a statement adds to a local: `n += x`, `n = n + x`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
        return node.value
    value = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    return value.right if ast.unparse(value.left) in _stored_in(node) else None


def _stored_in(node: ast.AST) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [one.id for one in targets if isinstance(one, ast.Name)]
