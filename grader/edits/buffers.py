"""Buffers: cut to size where they have more room than what is in them, what counts how much is in use; parameters that
are buffers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.code import Code
from grader.edits.parsed import nodes_of
from grader.edits.syntax import called, method

MOST_SIZES = 2
MOST_COUNTS = 3
JOINING = ("cat", "concat", "stack")
OF_SIZE = ("[:{0}, :{0}]", "[..., :{0}, :{0}]", "[:{0}]", "[:, :{0}]")


def cut_to_size(node: ast.AST, code: Code) -> Iterator[ast.Return]:
    """What is returned as it is kept, `return self.table`, as far as was asked for, by numbers that were given."""
    if isinstance(node, ast.Return) and isinstance(node.value, (ast.Name, ast.Attribute)):
        for size in code.scopes.numbers(node.lineno)[:MOST_SIZES]:
            for form in OF_SIZE:
                part = ast.parse(ast.unparse(node.value) + form.format(size), mode="eval").body
                yield ast.Return(part)


def as_parameters(node: ast.AST, code: Code) -> Iterator[str]:
    """Buffers that a function registers, as parameters: this one, and all of them."""
    function = code.function(node) if isinstance(node, ast.Call) and _is_registered(node) else None
    if isinstance(node, ast.Call) and function is not None:
        all_of_them = [one for one in ast.walk(function) if isinstance(one, ast.Call) and _is_registered(one)]
        for some in ([node], all_of_them):
            yield code.file.with_all([(one, _as_parameter(one)) for one in some])


def _is_registered(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "register_buffer" and len(node.args) > 1


def _as_parameter(node: ast.Call) -> ast.Call:
    assert isinstance(node.func, ast.Attribute)
    parameter = ast.parse(f"__import__('torch').nn.Parameter({ast.unparse(node.args[1])})", mode="eval").body
    return method(node.func.value, "register_parameter", node.args[0], parameter)


def _counts(tree: ast.Module) -> list[str]:
    """The attributes of a file that count something: `self.length += 1`."""
    grown = (one.target for one in nodes_of(tree) if isinstance(one, ast.AugAssign))
    return list(dict.fromkeys(one.attr for one in grown if isinstance(one, ast.Attribute)))


def in_use(node: ast.AST, code: Code) -> Iterator[ast.Attribute]:
    """The room of a buffer, `cache.keys.shape[2]` or `cache.keys.size(2)`, as what its owner counts: `cache.length`."""
    of: ast.expr | None = None
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "shape"
    ):
        of = node.value.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        of = node.func.value
    if isinstance(of, ast.Attribute):
        yield from (ast.Attribute(of.value, name, ast.Load()) for name in _counts(code.tree)[:MOST_COUNTS])


def of_one_part(node: ast.AST) -> Iterator[ast.Call]:
    """What is done with all that is joined, `cat([old, new]) * scale`, done with one part: the others had it before."""
    if (
        not isinstance(node, ast.BinOp)
        or not isinstance(node.left, ast.Call)
        or called(node.left.func) not in JOINING
    ):
        return
    joined = node.left
    parts = joined.args[0] if joined.args else None
    each = parts.elts if isinstance(parts, (ast.List, ast.Tuple)) else []
    for i, part in enumerate(each):
        changed = [ast.BinOp(part, node.op, node.right) if n == i else one for n, one in enumerate(each)]
        yield ast.Call(joined.func, [ast.List(changed, ast.Load()), *joined.args[1:]], joined.keywords)
