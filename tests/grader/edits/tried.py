"""The changes that are tried in a line of a text."""

from __future__ import annotations

import ast

from grader.edits.edits import Edits

RIGHT = """
class Right(nn.Module):
    def __init__(self, size: Tensor | None) -> None:
        self.norm = nn.LayerNorm(size)

    def forward(self, x, scores):
        a: Tensor = x.tril() / math.sqrt(x.size(-1))
        return self.norm(a)[:, None] + scores.exp()
"""
"""The text of right code: steps that a file may lack."""


def changed(text: str, line: int, right: str = "") -> set[str]:
    """The texts with a change in this line."""
    return {new for at, new in Edits(text, right=right).among([line], []) if at == line}


def lines(text: str, line: int, right: str = "") -> set[str]:
    """What this line becomes."""
    return {new.splitlines()[line - 1].strip() for new in changed(text, line, right)}


def texts_of(text: str, *lines: int) -> set[str]:
    """All changes of these lines, without brackets and spaces."""
    return {plain(new) for _, new in Edits(text).among(lines, []) if is_python(new)}


def plain(text: str) -> str:
    """Code without brackets and spaces that say nothing."""
    return ast.unparse(ast.parse(text))


def is_python(text: str) -> bool:
    """Whether it can be parsed."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
