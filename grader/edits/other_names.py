"""Changes of a statement or a call that give its names to other things: two exchanged, another one for one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from grader.edits.code import Code
from grader.edits.parsed import nodes_of
from grader.edits.syntax import PATHS, renamed

MOST_EXCHANGED = 5  # names of one statement
MOST_ATTRIBUTES = 8
MOST_BESIDE = 4  # calls side by side
MOST_COMPARED = 6  # arguments of a function


def other_arguments(node: ast.Assign | ast.Return | ast.Call, known: Sequence[str]) -> Iterator[ast.AST]:
    """A statement or a call with two names exchanged everywhere, or with another name for one that it has twice.

    Args:
        known: names that have a value there.
    """
    if not isinstance(node, ast.Call):
        yield from names_exchanged(node, known)
        return
    values = [*node.args, *(word.value for word in node.keywords)]
    given = [one.id for one in values if isinstance(one, ast.Name)]
    for old, new in combinations(dict.fromkeys([*given, *known]), 2):
        if given.count(old) > 1 or given.count(new) > 1:
            yield with_names(node, {old: new, new: old})
    yield from same_twice(node)
    for old in dict.fromkeys(name for name in given if given.count(name) > 1):
        for new in known:
            if new not in (old, "self"):
                several = range(given.count(old) - 1)
                yield from (with_names(node, {old: new}, skip=skip) for skip in several)


def given_twice(node: ast.AST, code: Code) -> Iterator[ast.Call]:
    """A call that has one name twice, with an argument of its function in place of one: one that it lacks."""
    if not isinstance(node, ast.Call):
        return
    values = [*node.args, *(word.value for word in node.keywords)]
    given = [one.id for one in values if isinstance(one, ast.Name)]
    for old in dict.fromkeys(name for name in given if given.count(name) > 1):
        for new in (one for one in code.given(node) if one not in (*given, "self")):
            for skip in reversed(range(given.count(old))):
                yield with_names(node, {old: new}, skip=skip)


def as_another_argument(node: ast.AST) -> Iterator[ast.Call]:
    """A call that has one name twice, with another one of its arguments in place of all: `f(n, n, n)` for
    `f(n, x, x)`."""
    if not isinstance(node, ast.Call):
        return
    values = [*node.args, *(word.value for word in node.keywords)]
    given = [one.id for one in values if isinstance(one, ast.Name)]
    names = list(dict.fromkeys(given))
    for old in (name for name in names if given.count(name) > 1):
        yield from (with_names(node, {old: new}) for new in names if new != old)


def made_of_them(node: ast.AST, code: Code) -> Iterator[ast.AST]:
    """Several names side by side, `return out, (k, v)`, each as what was made of it, `keys = cat([old, k])`; or as what
    it was made of."""
    items = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple) else []
    names = [one.id if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) else "" for one in items]
    function = code.function(node) if isinstance(node, (ast.Tuple, ast.Call)) else None
    if sum(map(bool, names)) < 2 or function is None:
        return
    made = list(_made_of_another(function))
    for pairs in (made, [(new, old) for old, new in made]):
        others = {old: new for old, new in pairs if old in names and new not in names}
        if len(others) > 1:
            new = [
                ast.Name(others[name], ast.Load()) if name in others else one
                for name, one in zip(names, items, strict=True)
            ]
            yield (
                ast.Call(node.func, new, node.keywords)
                if isinstance(node, ast.Call)
                else ast.Tuple(new, ast.Load())
            )


def _made_of_another(function: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that a function's assignments read, each with the name of what is made of it."""
    for one in ast.walk(function):
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        if not isinstance(one, ast.Assign):
            continue
        pairs = [(target, one.value)]
        if isinstance(target, ast.Tuple) and isinstance(one.value, ast.Tuple):
            pairs = list(zip(target.elts, one.value.elts, strict=False))
        for new, value in pairs:
            if isinstance(new, ast.Name):
                read = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
                yield from ((old, new.id) for old in sorted(read - {new.id}))


def numbered(node: ast.AST) -> Iterator[ast.AST]:
    """Names that are made of the rounds of a comprehension, each with the number of its round: others may be equal."""
    name = node.key if isinstance(node, ast.DictComp) else getattr(node, "elt", None)
    if not isinstance(name, ast.JoinedStr) or not isinstance(
        node, (ast.ListComp, ast.DictComp, ast.GeneratorExp)
    ):
        return
    first, *rest = node.generators
    number = ast.Name("number_of_round", ast.Load())
    counted = ast.Call(ast.Name("enumerate", ast.Load()), [first.iter], [])
    target = ast.Tuple([ast.Name(number.id, ast.Store()), first.target], ast.Store())
    rounds = [ast.comprehension(target, counted, first.ifs, first.is_async), *rest]
    own = ast.JoinedStr([*name.values, ast.Constant("_"), ast.FormattedValue(number, -1)])
    if isinstance(node, ast.DictComp):
        yield ast.DictComp(own, node.value, rounds)
    else:
        yield type(node)(own, rounds)


def other_keys(node: ast.AST, code: Code) -> Iterator[ast.Subscript]:
    """What is looked up by a text, `state["key"]`, by another one that a dictionary of the file has beside it."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    looked_up = key.value if isinstance(key, ast.Constant) else None
    if not isinstance(node, ast.Subscript) or not isinstance(looked_up, str):
        return
    for one in (each for each in nodes_of(code.tree) if isinstance(each, ast.Dict)):
        keys = [key.value for key in one.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        if looked_up in keys:
            others = [key for key in keys if key != looked_up]
            yield from (
                ast.Subscript(node.value, ast.Constant(key), node.ctx) for key in others[:MOST_ATTRIBUTES]
            )


def keywords_exchanged(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A call with two keyword arguments in the other order, as what they do is done in that order; at the later one."""
    if isinstance(node, ast.Call):
        words = node.keywords
        acting = [
            i for i, one in enumerate(words) if any(isinstance(n, ast.Call) for n in ast.walk(one.value))
        ]
        for i, j in combinations(acting[:MOST_EXCHANGED], 2):
            others = [words[j] if at == i else words[i] if at == j else one for at, one in enumerate(words)]
            new = ast.Call(node.func, node.args, others)
            yield words[j].value.lineno, code.file.with_one(node, new)


def parts_of_two(node: ast.AST, code: Code) -> Iterator[ast.Assign]:
    """The parts of one result, `k, v = both(key).chunk(2)`, one of them made of another argument of the function."""
    targets = node.targets[0] if isinstance(node, ast.Assign) else None
    if not isinstance(node, ast.Assign) or not isinstance(targets, ast.Tuple):
        return
    read = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
    arguments = code.given(node)
    places = range(len(targets.elts) if isinstance(node.value, ast.Call) else 0)
    for old in [one for one in arguments if one in read and one != "self"]:
        for new in [one for one in arguments if one not in read and one != "self"]:
            other = renamed(node.value, old, new)
            for at in places:
                values: list[ast.expr] = [
                    ast.Subscript(other if n == at else node.value, ast.Constant(n), ast.Load())
                    for n in places
                ]
                yield ast.Assign(node.targets, ast.Tuple(values, ast.Load()))


def with_names(node: ast.Call, others: Mapping[str, str], skip: int = 0) -> ast.Call:
    """A call with other names in place of its arguments. Args: skip: how many of the first that fit stay."""
    left = skip

    def other(value: ast.expr) -> ast.expr:
        nonlocal left
        if not isinstance(value, ast.Name) or value.id not in others:
            return value
        left -= 1
        return value if left >= 0 else ast.Name(others[value.id], ast.Load())

    args = [other(one) for one in node.args]
    return ast.Call(node.func, args, [ast.keyword(word.arg, other(word.value)) for word in node.keywords])


def same_twice(node: ast.Call) -> Iterator[ast.Call]:
    """A call with one of its arguments in place of another one: `torch.ones(2 * n, 2 * n)`."""
    for i, old in enumerate(node.args):
        for other in node.args:
            plain = not isinstance(old, ast.Starred) and not isinstance(other, (ast.Starred, ast.Name))
            if plain and ast.dump(old) != ast.dump(other):
                yield ast.Call(node.func, [*node.args[:i], other, *node.args[i + 1 :]], node.keywords)


def names_exchanged(node: ast.stmt, names: Sequence[str]) -> Iterator[ast.AST]:
    """A statement in which two of these names that it reads are exchanged everywhere."""
    read = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    known = [name for name in dict.fromkeys(n.id for n in read) if name in names and name not in PATHS]
    for a, b in combinations(known[:MOST_EXCHANGED], 2):
        found = copy.deepcopy(node)
        for one in ast.walk(found):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in (a, b):
                one.id = b if one.id == a else a
        yield found


def crosswise(node: ast.AST) -> Iterator[ast.AST]:
    """Calls of one function side by side, `f(key, 0), f(query, 1)`, two of which have each other's argument."""
    if not isinstance(node, (ast.Call, ast.Tuple, ast.List)):
        return
    items = node.args if isinstance(node, ast.Call) else node.elts
    calls = [(i, one) for i, one in enumerate(items) if isinstance(one, ast.Call) and one.args]
    for (i, one), (j, other) in combinations(calls[:MOST_BESIDE], 2):
        alike = ast.dump(one.func) == ast.dump(other.func) and len(one.args) == len(other.args)
        for k in range(len(one.args)) if alike and len(one.args) > 1 else ():
            if ast.dump(one.args[k]) != ast.dump(other.args[k]):
                new = list(items)
                new[i] = ast.Call(one.func, [*one.args[:k], other.args[k], *one.args[k + 1 :]], one.keywords)
                new[j] = ast.Call(
                    other.func, [*other.args[:k], one.args[k], *other.args[k + 1 :]], other.keywords
                )
                if isinstance(node, ast.Call):
                    yield ast.Call(node.func, new, node.keywords)
                else:
                    yield type(node)(new, node.ctx)
                break  # the other argument exchanged is the same but for the order


def with_another_name(node: ast.AST, code: Code) -> Iterator[ast.Tuple]:
    """A list of names of attributes of the file's objects, `("keys", "values")`, with one more."""
    attributes = code.scopes.stored_attributes
    items = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
    names = [one.value for one in items if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if names and len(names) == len(items) and {*names} <= {*attributes}:
        others = [one for one in attributes if one not in names]
        for one in others[:MOST_ATTRIBUTES]:
            yield ast.Tuple([*items, ast.Constant(one)], ast.Load())


def of_arguments(node: ast.AST, code: Code) -> Iterator[ast.Compare]:
    """A condition as one of two arguments: whether they are the same."""
    given = code.given(node) if isinstance(node, ast.Compare) else []
    for a, b in combinations((ast.Name(one, ast.Load()) for one in given[:MOST_COMPARED]), 2):
        yield from (ast.Compare(a, [op], [b]) for op in (ast.NotEq(), ast.Eq()))


def also_the_same(node: ast.AST, code: Code) -> Iterator[ast.Compare]:
    """Of two arguments that are compared, whether a third one is the same too: `query is key is value`."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.Eq)):
        given = code.given(node)
        sides = [one.id for one in (node.left, node.comparators[0]) if isinstance(one, ast.Name)]
        for name in given[:MOST_COMPARED] if len(sides) == 2 and {*sides} <= {*given} else ():
            if name not in sides:
                yield ast.Compare(node.left, node.ops * 2, [*node.comparators, ast.Name(name, ast.Load())])
