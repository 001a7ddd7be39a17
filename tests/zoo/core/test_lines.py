"""Lines of source text have the numbers of Python's parser."""

from __future__ import annotations

import ast

import pytest

from zoo.core.lines import split_lines

SEPARATORS = "\f\v\x1c\x1d\x1e\x85\u2028\u2029"


def test_lines_end_where_python_ends_them() -> None:
    text = f"# {SEPARATORS}\r\na = '{SEPARATORS}'\rb = 1\n\f\nc = 2\n"
    lines = split_lines(text)
    found = {node.targets[0].id: lines[node.lineno - 1] for node in ast.parse(text).body}  # type: ignore[attr-defined]
    assert found == {"a": f"a = '{SEPARATORS}'", "b": "b = 1", "c": "c = 2"}
    assert "".join(split_lines(text, keepends=True)) == text


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\n\n", "\n", "a\r\nb", "é\ud800\rb\r"])
def test_otherwise_they_are_those_of_splitlines(text: str) -> None:
    for keepends in (False, True):
        assert split_lines(text, keepends=keepends) == text.splitlines(keepends)
