"""What is called or read in place of something of its kind: another function of the file, an attribute for the argument
of its name, a local that nothing else reads; what is done before a call and should be done after it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from grader.edits.code import Code
from grader.edits.parsed import nodes_of
from grader.edits.syntax import PATHS, arguments_of, called, constant, function_named, method_free

MOST_FUNCTIONS = 4
MOST_UNREAD = 3  # locals of a function
MOST_FIELDS = 6
ROUNDS = (ast.For, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
TESTED = (ast.If, ast.IfExp, ast.While)


def called_instead(node: ast.AST, code: Code) -> Iterator[ast.Call]:
    """A call of another method of the class, or of another function of the file, that takes as many arguments."""
    func = node.func if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return
    own = isinstance(func, ast.Attribute) and called(func.value) == "self"
    if not own and not isinstance(func, ast.Name):
        return
    around = code.function(node)
    functions = _functions(code, node.lineno) if own else _of_module(code.tree)
    if func is None or called(func) not in [one.name for one in functions]:
        return
    others = [
        one
        for one in functions
        if one.name != called(func) and one is not around and _takes(one, len(node.args) + own, node.keywords)
    ]
    for one in others[:MOST_FUNCTIONS]:
        name: ast.expr = ast.Name(one.name, ast.Load())
        if isinstance(func, ast.Attribute):
            name = ast.Attribute(func.value, one.name, ast.Load())
        yield ast.Call(name, node.args, node.keywords)


def _functions(code: Code, line: int) -> list[ast.FunctionDef]:
    """The methods of the class around a line, without those that Python or torch calls."""
    classes = [one for one in nodes_of(code.tree) if isinstance(one, ast.ClassDef)]
    around = [one for one in classes if one.lineno <= line <= (one.end_lineno or 0)]
    body = around[-1].body if around else []
    own = [one for one in body if isinstance(one, ast.FunctionDef)]
    return [one for one in own if one.name != "forward" and not one.name.startswith("__")]


def _of_module(tree: ast.Module) -> list[ast.FunctionDef]:
    return [one for one in tree.body if isinstance(one, ast.FunctionDef)]


def _takes(function: ast.FunctionDef, count: int, keywords: list[ast.keyword]) -> bool:
    """Whether a function can be called with so many arguments, and these keywords."""
    names = arguments_of(function)
    least = len(names) - len(function.args.defaults) - len(function.args.kwonlyargs)
    return least <= count + len(keywords) <= len(names) and {one.arg for one in keywords} <= {*names}


def by_its_own_name(node: ast.AST, code: Code) -> Iterator[ast.Name]:
    """An argument of the function for the attribute of something else that has its name: `dtype` for `mask.dtype`."""
    if isinstance(node, ast.Attribute) and id(node) in code.values and node.attr in code.given(node):
        yield ast.Name(node.attr, ast.Load())


def chained(node: ast.AST) -> Iterator[ast.Call]:
    """A method of an argument called of the result, `f(x).abs()` for `f(x.abs())`, and the other way round."""
    if not isinstance(node, ast.Call):
        return
    for i, one in enumerate(node.args):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and _is_value(one.func.value):
            inner = ast.Call(node.func, [*node.args[:i], one.func.value, *node.args[i + 1 :]], node.keywords)
            yield ast.Call(ast.Attribute(inner, one.func.attr, ast.Load()), one.args, one.keywords)
    inside = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(node.func, ast.Attribute) and isinstance(inside, ast.Call):
        for i, one in enumerate(inside.args):
            done = ast.Call(ast.Attribute(one, node.func.attr, ast.Load()), node.args, node.keywords)
            yield ast.Call(inside.func, [*inside.args[:i], done, *inside.args[i + 1 :]], inside.keywords)


def _is_value(node: ast.expr) -> bool:
    """Whether it is no module and not `self`."""
    return not isinstance(node, ast.Constant) and called(node) not in (*PATHS, "self")


def rounds_exchanged(node: ast.AST) -> Iterator[ast.AST]:
    """A list of lists whose rounds are exchanged: rows for columns."""
    kinds = (ast.ListComp, ast.GeneratorExp)
    inner = node.elt if isinstance(node, kinds) else None
    if isinstance(node, kinds) and isinstance(inner, kinds):
        yield type(node)(type(inner)(inner.elt, node.generators), inner.generators)


def other_rounds(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """Rounds over another one of what the function has rounds over: `zip(scores, values)` for `zip(scores, keys)`."""
    function = code.function(node) if isinstance(node, ROUNDS) else None
    inside = [] if function is None else list(ast.walk(function))
    for one in _gone_through(node):
        others = dict.fromkeys(each.id for some in inside for each in _gone_through(some))
        for name in others:
            if name != one.id:
                yield one.lineno, code.file.with_one(one, ast.Name(name, ast.Load()))


def _gone_through(node: ast.AST) -> list[ast.Name]:
    """The names that a loop, or a list of something, goes through: `a` and `b` of `for x, y in zip(a, b)`."""
    if not isinstance(node, ROUNDS):
        return []
    iters = [node.iter] if isinstance(node, ast.For) else [one.iter for one in node.generators]
    items = [one for of in iters for one in (of.args if isinstance(of, ast.Call) else [of])]
    return [one for one in items if isinstance(one, ast.Name)]


def with_unread(node: ast.AST, code: Code) -> Iterator[tuple[int, str]]:
    """A condition about an argument, or a part of something, that nothing reads; or about that, too."""
    if not isinstance(node, TESTED):
        return
    scopes, test = code.scopes, node.test
    unread = dict.fromkeys([*scopes.unread(node.lineno), *scopes.unread_parts(node.lineno)])
    for name in (ast.Name(one, ast.Load()) for one in list(unread)[:MOST_UNREAD] if one != "self"):
        no = ast.UnaryOp(ast.Not(), name)
        others = [ast.BoolOp(op, [test, one]) for one in (name, no) for op in (ast.And(), ast.Or())]
        none_of_them = ast.Compare(name, [ast.Eq()], [constant(0)])
        for new in (name, no, *others, ast.BoolOp(ast.And(), [test, none_of_them])):
            yield test.lineno, code.file.with_one(test, new)


def filled_with_unread(node: ast.AST, code: Code) -> Iterator[ast.Call]:
    """A new tensor of zeros or ones, filled with what nothing reads, or with a field of what is given:
    `torch.full(shape, ids.sos)`."""
    if isinstance(node, ast.Call) and called(node.func) in ("zeros", "ones") and len(node.args) == 1:
        unread = dict.fromkeys([*code.scopes.unread(node.lineno), *code.scopes.unread_parts(node.lineno)])
        names = [ast.Name(one, ast.Load()) for one in unread if one != "self"][:MOST_UNREAD]
        for value in (*names, *list(code.scopes.of_objects(node.lineno))[:MOST_FIELDS]):
            yield ast.Call(function_named(node.func, "full"), [node.args[0], value], node.keywords)


def unread_for_numbers(node: ast.AST, code: Code) -> Iterator[str]:
    """A product with a number, `4 * width`, wherever a function has it, as what nothing reads: `hidden`."""
    function = code.function(node) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else None
    if not isinstance(node, ast.BinOp) or function is None:
        return
    if not any(isinstance(one, ast.Constant) for one in (node.left, node.right)):
        return
    text = ast.unparse(node)
    same = [one for one in ast.walk(function) if isinstance(one, ast.BinOp) and ast.unparse(one) == text]
    unread = dict.fromkeys([*code.scopes.unread(node.lineno), *code.scopes.unread_parts(node.lineno)])
    names = [one for one in unread if one != "self"][:MOST_UNREAD]
    for new in [ast.parse(name, mode="eval").body for name in names] + code.scopes.unread_attributes(
        node.lineno
    ):
        if same[0] is node:
            yield code.file.with_all([(one, new) for one in same])


def argument_for_text(node: ast.AST, code: Code) -> Iterator[ast.expr]:
    """An argument in place of a text: of a key, `makers[name]` for `makers["post"]`, or one that nothing reads."""
    key = node.slice if isinstance(node, ast.Subscript) else node
    if isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(node, ast.expr):
        names = code.given(node) if key is not node else code.scopes.unread(node.lineno)
        for name in [one for one in names if one not in ("self", "cls")][:MOST_UNREAD]:
            new: ast.expr = ast.Name(name, ast.Load())
            yield ast.Subscript(node.value, new, node.ctx) if isinstance(node, ast.Subscript) else new


def made_of_it(node: ast.AST, code: Code) -> Iterator[ast.Name]:
    """A local that was made of something in place of that: `log_probs` for `logits[:, -1]`."""
    function = code.function(node) if isinstance(node, ast.Subscript) and id(node) in code.values else None
    if isinstance(node, ast.Subscript) and function is not None:
        text = ast.unparse(node)
        made = [
            one.targets[0]
            for one in code.assigned.get(function, [])
            if (one.end_lineno or one.lineno) < node.lineno and not isinstance(one.value, ast.Subscript)
            if any(isinstance(n, ast.Subscript) and ast.unparse(n) == text for n in ast.walk(one.value))
        ]
        yield from (ast.Name(one.id, ast.Load()) for one in made[-2:] if isinstance(one, ast.Name))


def all_that_are(node: ast.AST) -> Iterator[ast.Call]:
    """All that fulfil a condition, `filter(f, rows)`, for those before one that does not, `takewhile(f, rows)`."""
    if isinstance(node, ast.Call) and called(node.func) == "takewhile":
        yield method_free("filter", *node.args)


def local_of(node: ast.AST, code: Code) -> Iterator[ast.Name]:
    """A local that was made of an attribute in place of that: `past` for `self.data` after `past = self.data[:n]`."""
    function = code.function(node) if isinstance(node, ast.Attribute) else None
    if isinstance(node, ast.Attribute) and function is not None and id(node) in code.values:
        text = ast.unparse(node)
        before = (one for one in code.assigned.get(function, []) if (one.end_lineno or 0) < node.lineno)
        made = [
            one.targets[0]
            for one in before
            if any(isinstance(n, ast.Attribute) and ast.unparse(n) == text for n in ast.walk(one.value))
        ]
        yield from (ast.Name(one.id, ast.Load()) for one in made[::-1] if isinstance(one, ast.Name))


def worked_on(node: ast.AST, code: Code) -> Iterator[ast.Name]:
    """A local that a statement before works on, `found.sort()`, and nothing reads then, for another one."""
    if isinstance(node, ast.Name) and id(node) in code.values and (function := code.function(node)):
        others = [name for name, line in _worked_on(function) if line < node.lineno and name != node.id]
        yield from (ast.Name(name, ast.Load()) for name in others)


@lru_cache(64)
def _worked_on(function: ast.FunctionDef) -> list[tuple[str, int]]:
    """Locals of which a method is called for what it does, and that nothing reads after it; with its line."""
    inside = list(ast.walk(function))
    names = [one for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    loops = [one for one in inside if isinstance(one, (ast.For, ast.While))]
    again = [range(one.lineno, (one.end_lineno or one.lineno) + 1) for one in loops]
    calls = [
        one.value.func for one in inside if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)
    ]
    owners = [one.value for one in calls if isinstance(one, ast.Attribute)]
    last = {
        one.id: max(n.lineno for n in names if n.id == one.id) for one in owners if isinstance(one, ast.Name)
    }
    once = [(name, line) for name, line in last.items() if not any(line in lines for lines in again)]
    return [(name, line) for name, line in once if any(one.lineno == line for one in owners)]
