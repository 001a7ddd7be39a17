"""Statements that do nothing: a value that nothing gets, a `pass` among other steps, a condition that is a constant."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from types import BuiltinFunctionType

import torch
from torch import Tensor

from grader.edits.parsed import nodes_of
from grader.edits.syntax import arguments_of

GIVING = {  # methods of tensors that change nothing
    name
    for name in dir(Tensor)
    if not name.endswith("_") and name not in {*dir(list), *dir(set), *dir(dict), "backward", "retain_grad"}
} - {"register_hook", "register_post_accumulate_grad_hook", "set", "to_sparse", "tolist"}
OWNERS = {"torch", "F", "functional", "nn.functional", "torch.nn.functional"}
FUNCTIONS = {  # of torch, which change nothing
    name
    for module in (torch, torch.nn.functional)
    for name in dir(module)
    if not name.endswith("_") and not name.startswith(("_", "is_", "get_", "set_", "autocast_", "clear_"))
    if module is torch.nn.functional or isinstance(getattr(module, name), BuiltinFunctionType)
} | set(torch.functional.__all__)
NEW = re.compile(r"\b(new_)?(zeros|ones|empty|full)(_like)?$|\bclone$")  # calls that make a tensor
VALUES = (
    *(ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.IfExp),
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.ListComp),
)  # that do nothing as a statement


def unused(tree: ast.Module) -> list[int]:
    """Lines of statements that compute a value which nothing gets: without the `return`, or name, that they need.

    Also of those that give a name its own value; in a class that would make an attribute.
    """
    functions = [node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef)]
    constants = [one for node in functions for one in node.body[1:]]  # the first one documents a function
    in_classes = [one for node in nodes_of(tree) if isinstance(node, ast.ClassDef) for one in node.body]
    its_own = [
        node.lineno
        for node in nodes_of(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and [ast.unparse(one) for one in node.targets] == [node.value.id]
        and node not in in_classes
    ]
    return its_own + [
        node.lineno
        for node in nodes_of(tree)
        if isinstance(node, ast.Expr)
        and (
            isinstance(node.value, VALUES)
            or (isinstance(node.value, ast.Constant) and node.value.value is not ... and node in constants)
            or (isinstance(node.value, ast.Call) and _only_gives(node.value))
        )
    ]


def _only_gives(call: ast.Call) -> bool:
    """Return whether a call is one of torch's whose result is all that it does."""
    if not isinstance(call.func, ast.Attribute) or {"out", "inplace"} & {one.arg for one in call.keywords}:
        return False
    owner = ast.unparse(call.func.value)
    return call.func.attr in (FUNCTIONS if owner in OWNERS else GIVING)


def unread(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> list[tuple[str, ast.Assign | ast.For | ast.expr]]:
    """Locals that a function gives a value, and never reads; also those of loops, but for a count of rounds.

    A new tensor that is only written to counts as never read.
    """
    nodes = list(ast.walk(function))
    read = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    read -= _only_written_to(nodes)
    read |= {name for n in nodes if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    made = [(one.targets[0], one) for one in nodes if isinstance(one, ast.Assign)]
    found: list[tuple[str, ast.Assign | ast.For | ast.expr]] = [
        (to.id, one) for to, one in made if isinstance(to, ast.Name) and to.id not in {*read, "_"}
    ]
    for node in nodes:
        loops = [node] if isinstance(node, (ast.For, ast.comprehension)) else []
        for loop in loops:
            targets = [one for one in ast.walk(loop.target) if isinstance(one, ast.Name)]
            counted = isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "range"
            at = loop if isinstance(loop, ast.For) else loop.target
            found += [
                (one.id, at) for one in targets if not counted and one.id not in read and one.id[0] != "_"
            ]
    return found


def _only_written_to(nodes: Sequence[ast.AST]) -> set[str]:
    """Names of new tensors of which nothing is done but to write parts of them."""
    new = {
        node.targets[0].id
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and NEW.search(ast.unparse(node.value.func))
    }
    written = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    }
    return new - {
        n.id
        for n in nodes
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in written
    }


def overwritten(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[tuple[str, int]]:
    """Arguments that get another value before anything has read them, and the line of that."""
    left = {*arguments_of(function)}
    found = []
    for statement in function.body[ast.get_docstring(function) is not None :]:
        nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        read = {node.id for node in nodes if not isinstance(node.ctx, ast.Store)}
        stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        if isinstance(statement, ast.Assign):
            found += [(name, statement.lineno) for name in sorted(left & (stored - read))]
        left -= read | stored
    return found


def idle(tree: ast.Module, ran: Collection[int] = ()) -> list[tuple[int, str]]:
    """Lines where nothing is done, or nothing is decided, with the code: `pass` among other steps, `True` of `if True`.

    Args:
        tree: of the file.
        ran: lines of functions that count; all, if there are none.
    """
    found = []
    for function in (node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef)):
        if not ran or any(function.lineno <= line <= (function.end_lineno or 0) for line in ran):
            body = function.body[ast.get_docstring(function) is not None :]
            nodes = list(ast.walk(function))
            handled = [one for node in nodes if isinstance(node, ast.ExceptHandler) for one in node.body]
            found += [
                (node.lineno, "pass")
                for node in nodes
                if isinstance(node, ast.Pass) and node not in handled
                if body != [node] or function.name == "__init__"
            ]
            tests = [test for node in nodes for test in conditions(node)]
            found += [(test.lineno, ast.unparse(test)) for test in tests if isinstance(test, ast.Constant)]
    return found


def conditions(node: ast.AST) -> list[ast.expr]:
    """The conditions of a statement, an expression or a comprehension."""
    if isinstance(node, (ast.If, ast.IfExp)):
        return [node.test]
    return node.ifs if isinstance(node, ast.comprehension) else []
