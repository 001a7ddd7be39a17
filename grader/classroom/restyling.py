"""Programs written in another way: for synthetic classes."""

from __future__ import annotations

import ast
import builtins
import random

_ENDINGS = ("_", "1", "_t", "_new")
_VERBS, _NOUNS = (
    ("check", "show", "try", "print", "look_at"),
    ("shapes", "rows", "sizes", "values", "steps", "parts"),
)
_REMARKS = (
    "# here",
    "# see the exercise",
    "# should be fine",
    "# as in the lecture",
    "# TODO: clean up",
    "# ok",
)


def restyled(source: str, draw: random.Random) -> str:
    """The same program written in another way: other names of local variables, no comments, other line breaks."""
    tree = ast.parse(source)
    if draw.random() < 0.5:
        tree = _Bare().visit(tree)
    if draw.random() < 0.7:
        tree = _Renamed(draw.choice(_ENDINGS)).visit(tree)
    if draw.random() < 0.3:
        tree.body.append(ast.parse("if __name__ == '__main__':\n    print('ok')").body[0])
    text = ast.unparse(ast.fix_missing_locations(tree)) if draw.random() < 0.8 else source
    return f"# attempt {draw.randrange(10**6)}\n{text}\n"


def disguised(source: str, draw: random.Random) -> str:
    """A copy that hides where it comes from: other local names, comments, blank lines and helpers' names; no more."""
    tree = _Renamed(draw.choice(_ENDINGS) + draw.choice("abc")).visit(_Bare().visit(ast.parse(source)))
    text = ast.unparse(ast.fix_missing_locations(tree))
    starts = {node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)}
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if number in starts and draw.random() < 0.2:
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(indent + draw.choice(_REMARKS))
        if number in starts and draw.random() < 0.1:
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def helpers(draw: random.Random) -> str:
    """Functions that nothing calls, as students leave them in their files: code of one's own, all of it drawn."""
    names = draw.sample([f"{verb}_{noun}" for verb in _VERBS for noun in _NOUNS], 3)
    text = "\n".join(_Helper(draw).function(name) for name in names)
    return f"\n{ast.unparse(ast.parse(text))}\n"  # without needless brackets, as `disguised` writes it


class _Helper:
    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._names = draw.sample(("a", "b", "n", "row", "rest", "size", "total", "last"), 4)

    def function(self, name: str) -> str:
        first, *others = self._names
        lines = [f"def {name}({first}):"]
        lines += [f"    {one} = {self._draw.randrange(100)}" for one in others]
        for _ in range(self._draw.randint(3, 5)):
            lines += [f"    {line}" for line in self._statement(2)]
        return "\n".join([*lines, f"    return {self._expression(1)}", ""])

    def _statement(self, depth: int) -> list[str]:
        kind = self._draw.choice(("=", "=", "+=", "if", "for", "while")) if depth else "="
        name = self._draw.choice(self._names[1:])
        if kind in ("=", "+="):
            return [f"{name} {kind} {self._expression(2)}"]
        begin = {
            "if": f"if {self._expression(1)} {self._draw.choice(('<', '==', '!='))} {self._expression(1)}:",
            "for": f"for {name} in range({self._expression(1)}):",
            "while": f"while {name} > {self._expression(1)}:",
        }[kind]
        inside = [line for _ in range(self._draw.randint(1, 2)) for line in self._statement(depth - 1)]
        return [begin, *(f"    {line}" for line in inside)]

    def _expression(self, depth: int) -> str:
        kind = self._draw.randrange(6) if depth else self._draw.randrange(2)
        if kind == 0:
            return str(self._draw.randrange(1_000))
        if kind == 1:
            return self._draw.choice(self._names)
        if kind == 2:
            return (
                f"{self._draw.choice(('max', 'min'))}({self._expression(depth - 1)}, {self._expression(0)})"
            )
        if kind == 3:
            return f"abs({self._expression(depth - 1)})"
        operation = self._draw.choice(("+", "-", "*", "//", "%"))
        return f"({self._expression(depth - 1)} {operation} {self._expression(depth - 1)})"


class _Bare(ast.NodeTransformer):
    """Without docstrings."""

    def _strip(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        body = getattr(node, "body", [])
        if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            node.body = body[1:]  # type: ignore[attr-defined]
        return node

    visit_FunctionDef = visit_ClassDef = visit_Module = _strip


class _Renamed(ast.NodeTransformer):
    """With another ending on the names that functions give to their local variables."""

    def __init__(self, ending: str) -> None:
        self._ending = ending
        self._local: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        given = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        stored = {
            one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        before, self._local = self._local, stored - given - set(dir(builtins))
        self.generic_visit(node)
        self._local = before
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._local:
            node.id += self._ending
        return node
