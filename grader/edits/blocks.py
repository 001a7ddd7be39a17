"""Changes of whole statements and blocks: several left out at once, a `with` opened, a step in the other branch too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from grader.edits.code import Code
from grader.edits.edit_kinds import exchanged
from grader.edits.parsed import nodes_of
from grader.edits.syntax import called, is_text

MOST_TOGETHER = 3  # statements that are left out at once
MOST_STEPS = 6  # of one branch that the other one may lack
STAYING = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.Return, ast.Pass)
KINDS = (
    "property",
    "classmethod",
    "staticmethod",
    "abstractmethod",
    "setter",
    "overload",
)  # what a function is
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)


class Blocks:
    """Of one file."""

    def __init__(self, code: Code) -> None:
        self._file, self._tree = code.file, code.tree
        # by id of a statement: it and those after it in its block
        self._after: dict[int, list[ast.stmt]] = {}
        for parent in nodes_of(self._tree):
            for name, body in ast.iter_fields(parent):
                if isinstance(body, list) and name in ("body", "orelse", "finalbody"):
                    self._after.update((id(one), body[i:]) for i, one in enumerate(body))

    def bases_exchanged(self, node: ast.AST) -> Iterator[str]:
        """The bases of a class in another order: whose method comes first."""
        if isinstance(node, ast.ClassDef):
            for bases in exchanged(node.bases):
                yield self._file.with_all(list(zip(node.bases, bases, strict=True)))

    def together_left_out(self, node: ast.AST) -> Iterator[str]:
        """A statement and the next one left out, or the next two: what was added for a wrong reason."""
        after = self._after.get(id(node), []) if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
        for number in range(2, min(MOST_TOGETHER, len(after)) + 1):
            left_out = after[:number]
            if not any(map(_has_to_stay, left_out)):
                yield self._without(left_out)

    def undone(self, node: ast.AST) -> Iterator[str | tuple[int, str]]:
        """What a block should not do, or does in one case only."""
        if isinstance(node, ast.With) and all(one.optional_vars is None for one in node.items):
            yield self._file.with_text(node.items[0].context_expr, "__import__('contextlib').nullcontext()")
        elif isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:  # `@torch.no_grad()`, `@cache`
                if called(getattr(decorator, "func", decorator)) not in KINDS:
                    yield decorator.lineno, self._file.without_decorator(decorator)
        elif isinstance(node, ast.If):
            for_effects = not node.orelse and all(isinstance(one, ast.Expr) for one in node.body)
            tests = chain([ast.Constant(True)] if for_effects else [], _of_all(node.test))
            yield from (self._file.with_one(node.test, new) for new in tests)
            yield from self._in_other_branch(node)
            yield from self._noted(node)
        elif isinstance(node, ast.Match):
            values = [one for case in node.cases if (one := _only_value(case.body)) is not None]
            for i, one in enumerate(values):
                for other in values[i + 1 :]:
                    text = self._file.with_all([(one, other), (other, one)])
                    yield from ((one.lineno, text),) if text else ()
        elif isinstance(node, ast.IfExp):
            for some, other in ((node.body, node.orelse), (node.orelse, node.body)):
                if isinstance(other, ast.Name):
                    for step in _steps_on(some, other.id):
                        branches = (some, step) if other is node.orelse else (step, some)
                        yield self._file.with_one(node, ast.IfExp(node.test, *branches))

    def _without(self, statements: list[ast.stmt]) -> str:
        first, last = statements[0], statements[-1]
        start = min(one.lineno for one in (first, *getattr(first, "decorator_list", ()))) - 1
        end = last.end_lineno or last.lineno
        lines = self._file.lines
        # other lines keep their numbers
        instead = b" " * first.col_offset + b"pass\n" + b"\n" * (end - start - 1)
        return b"".join([*lines[:start], instead, *lines[end:]]).decode("utf-8", "replace")

    def _in_other_branch(self, node: ast.If) -> Iterator[tuple[int, str]]:
        """A step that one branch has, done in the other one as well; it may be part of a longer one there."""
        branches = [node.body, node.orelse]
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            return
        for some, others in (branches, branches[::-1]):
            have = {ast.dump(one) for one in others}
            steps = [one for one in some if isinstance(one, SIMPLE) and ast.dump(one) not in have]
            parts = [new for one in steps for new in _parts(one)]
            if not others and len(some) == 1:  # as if there was no condition, which is another change
                parts = parts[1:]
            for step in parts[:MOST_STEPS]:
                if others:
                    last = others[-1]
                    if not isinstance(last, ast.Return):
                        yield last.end_lineno or last.lineno, self._file.with_after(last, step)
                    yield others[0].lineno, self._file.with_before(others[0], step)
                elif some is node.body:
                    at = node.end_lineno or node.lineno
                    otherwise = f"else: {ast.unparse(ast.fix_missing_locations(step))}"
                    yield at, self._file.with_line(at, node.col_offset, otherwise)

    def _noted(self, node: ast.If) -> Iterator[tuple[int, str]]:
        """`if not self.built: self.build()`, where nothing ever notes that it is built: noted after it, or in it."""
        test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
        if not (isinstance(test, ast.Attribute) and called(test.value) == "self"):
            return
        given = [
            one.value
            for one in nodes_of(self._tree)
            if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == ast.unparse(test)
        ]
        values = {one.value for one in given if isinstance(one, ast.Constant)}
        if len(values) != 1 or len(given) != sum(isinstance(one, ast.Constant) for one in given):
            return
        value = next(iter(values))
        noted = ast.Assign([ast.Attribute(test.value, test.attr, ast.Store())], ast.Constant(not value))
        calls = {
            called(one.func) for part in node.body for one in ast.walk(part) if isinstance(one, ast.Call)
        }
        for function in nodes_of(self._tree):
            if isinstance(function, ast.FunctionDef) and function.name in calls:
                last = function.body[-1]
                if isinstance(last, ast.Return):
                    yield last.lineno, self._file.with_before(last, noted)
                else:
                    yield last.end_lineno or last.lineno, self._file.with_after(last, noted)
        last = node.body[-1]
        yield last.end_lineno or last.lineno, self._file.with_after(last, noted)


def _has_to_stay(node: ast.stmt) -> bool:
    """Return whether a statement says what a function gives, goes round, or says nothing at all."""
    return is_text(node) or isinstance(node, STAYING)


def _of_all(test: ast.expr) -> Iterator[ast.expr]:
    """What is asked of the first one, asked of all: `all(one.ended for one in rows)` for `rows[0].ended`; of any."""
    for node in ast.walk(test):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            each = [ast.comprehension(ast.Name("one", ast.Store()), node.value, [], 0)]
            asked = ast.parse(ast.unparse(test).replace(ast.unparse(node), "one"), mode="eval").body
            for name in ("all", "any"):
                yield ast.Call(ast.Name(name, ast.Load()), [ast.GeneratorExp(asked, each)], [])


def _only_value(body: list[ast.stmt]) -> ast.expr | None:
    """The value that a block of one statement gives, or computes."""
    return body[0].value if len(body) == 1 and isinstance(body[0], (ast.Return, ast.Assign)) else None


def _parts(step: ast.stmt) -> Iterator[ast.stmt]:
    """A statement, and for `y = relu(y + bias)` also `y = y + bias`."""
    yield step
    if isinstance(step, ast.Assign) and isinstance(step.targets[0], ast.Name):
        yield from (ast.Assign(step.targets, one) for one in _steps_on(step.value, step.targets[0].id))


def _steps_on(value: ast.expr, name: str) -> Iterator[ast.expr]:
    """What an expression computes of a name on the way to its value: `y + bias` of `relu(y + bias)`."""
    for one in ast.walk(value):
        if one is not value and isinstance(one, (ast.BinOp, ast.Call)):
            operands = [one.left, one.right] if isinstance(one, ast.BinOp) else [*one.args, one.func]
            if any(isinstance(part, ast.Name) and part.id == name for part in operands):
                yield one
