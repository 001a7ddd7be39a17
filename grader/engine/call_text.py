"""Runs a call that is written as text: `MultiHeadAttention(32, 4)(float[2, 10, 32], float[2, 10, 32], ...)`."""

from __future__ import annotations

import ast
from typing import Any

import torch

from grader.core.submission import Submission
from zoo.core.errors import ZooError

DTYPES = {
    "float": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "int": torch.int64,
    "bool": torch.bool,
}
MOST_NUMBERS = 2**24  # in one tensor
FIRST_IDS = 10  # `int[2, 5]` draws ids from 0 to 9
HOW = (
    "A call names a function or class of the file, with numbers, strings, lists and random tensors: "
    "`float[2, 5, 8]`, `int[2, 5]` (ids 0 to 9), `bool[5, 5]`. Example: "
    "`--call 'FeedForward(8, 32)(float[2, 5, 8])'`."
)


def parsed(text: str) -> ast.Call:
    """Return the call. Raises ZooError if the text is none, or holds anything else than a call may."""
    try:
        found = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ZooError(f"'{text}' is not a valid call: {getattr(error, 'msg', error)}. {HOW}") from error
    if not isinstance(found, ast.Call):
        raise ZooError(f"'{text}' is not a call. {HOW}")
    _check(found, text)
    return found


def _check(node: ast.expr, text: str) -> None:
    if isinstance(node, ast.Call):
        called = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        if not isinstance(called, (ast.Name, ast.Call)):
            raise ZooError(f"'{ast.unparse(node.func)}' in '{text}' cannot be called. {HOW}")
        if isinstance(called, ast.Call):
            _check(called, text)
        if any(isinstance(one, ast.Starred) for one in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            raise ZooError(f"'{text}' has a * or **. {HOW}")
        for one in [*node.args, *(k.value for k in node.keywords)]:
            _check(one, text)
    elif isinstance(node, ast.Subscript):
        _size(node, text)
    elif isinstance(node, (ast.List, ast.Tuple)):
        for one in node.elts:
            _check(one, text)
    else:
        try:
            ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError) as error:
            raise ZooError(f"'{ast.unparse(node)}' in '{text}' is not a valid argument. {HOW}") from error


def _size(node: ast.Subscript, text: str) -> tuple[torch.dtype, list[int]]:
    """The dtype and shape of `float[2, 5, 8]`. Raises ZooError."""
    kind = node.value.id if isinstance(node.value, ast.Name) else ast.unparse(node.value)
    if kind not in DTYPES:
        raise ZooError(f"'{kind}' in '{text}' is not a dtype; expected one of {', '.join(DTYPES)}. {HOW}")
    try:
        found = ast.literal_eval(node.slice)
    except (ValueError, TypeError, SyntaxError):
        found = None
    shape = list(found) if isinstance(found, tuple) else [found]
    if not all(type(n) is int and n >= 0 for n in shape):
        raise ZooError(
            f"'{ast.unparse(node)}' in '{text}' has no valid shape: expected whole numbers from 0 on. {HOW}"
        )
    total = 1
    for n in shape:
        total *= n
    if total > MOST_NUMBERS:
        raise ZooError(f"'{ast.unparse(node)}' has {total:,} numbers; expected at most {MOST_NUMBERS:,}.")
    return DTYPES[kind], shape


class Caller:
    """Makes the calls of one text.

    Args:
        submission: whose code is called.
        source: its text, which says what is a class.
        text: the call, for messages.
        seed: of all random numbers.
    """

    def __init__(self, submission: Submission, source: str, text: str, seed: int) -> None:
        self.submission, self.text = submission, text
        self._classes = {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)}
        self._draws = torch.Generator().manual_seed(seed)
        submission.seed(seed)

    def run(self, node: ast.Call) -> None:
        """Run the call; where it constructs a module without calling it, construct that.

        Raises:
            ZooError: something in it is not there.
            SubmissionError: its code raised, or ended.
        """
        self._value(node)

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Subscript):
            return self._tensor(*_size(node, self.text))
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self._value(one) for one in node.elts]
            return tuple(items) if isinstance(node, ast.Tuple) else items
        return ast.literal_eval(node)

    def _tensor(self, dtype: torch.dtype, shape: list[int]) -> torch.Tensor:
        if dtype.is_floating_point:
            return torch.randn(shape, generator=self._draws).to(dtype)
        if dtype == torch.bool:
            return torch.rand(shape, generator=self._draws) < 0.5
        return torch.randint(FIRST_IDS, shape, generator=self._draws)

    def _call(self, node: ast.Call) -> Any:
        args = [self._value(one) for one in node.args]
        named = {str(k.arg): self._value(k.value) for k in node.keywords}
        method, called = ("", node.func)
        if isinstance(called, ast.Attribute):
            method, called = called.attr, called.value
        if isinstance(called, ast.Call):
            target = self._value(called)
            if not hasattr(target, "call"):
                raise ZooError(f"'{ast.unparse(called)}' does not give a module that can be called. {HOW}")
            return target.call(args, named, method=method).value
        name = ast.unparse(called)
        if not self.submission.has(name):
            raise ZooError(f"There is no function or class '{name}' in the file.")
        if name not in self._classes:
            return self.submission.function(name).call(args, named).value
        made = self.submission.construct(name, args, named)
        made.train(False)
        return made
