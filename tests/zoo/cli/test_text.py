"""Text for people: wrapping and columns."""

from __future__ import annotations

import pytest

from zoo.cli.text import columns, counted, reflowed, width, wrapped


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")


@pytest.mark.parametrize(("given", "taken"), [("80", 80), ("10", 40), ("300", 120)])
def test_the_width_is_that_of_the_terminal_within_reason(
    given: str, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", given)
    assert width() == taken


def test_lines_are_wrapped_but_not_within_backticks_nor_where_they_are_indented() -> None:
    assert wrapped("one two three four five six seven eight nine") == (
        "one two three four five six seven eight\nnine"
    )
    assert wrapped("one two three four five six `zoo list attention` ten") == (
        "one two three four five six\n`zoo list attention` ten"
    )
    code = "  x = 1" + " + 1" * 20
    assert wrapped(f"error:\n{code}\n     ^") == f"error:\n{code}\n     ^"


def test_documentation_keeps_its_indent() -> None:
    assert reflowed("Args:\n    x: " + "word " * 9 + "\n\nend", "  ") == (
        "  Args:\n      x: word word word word word word\n        word word word\n\n  end"
    )


def test_lines_that_were_broken_for_their_length_are_joined() -> None:
    full = "word " * 19 + "word"
    assert reflowed(f"{full}\nlast").replace("\n", " ") == f"{full} last"
    args = reflowed(f"Args:\n    x: {'long ' * 18}\n        last\n    y: one").split("\n")
    assert [line.strip()[:2] for line in args if line[4:5] != " "] == ["Ar", "x:", "y:"]
    assert args[-2].split()[-2:] == ["long", "last"]
    assert reflowed("one\ntwo") == "one\ntwo"
    assert reflowed(f"    {full}\nlast").split("\n")[-1] == "last"
    assert reflowed(f"{full}\n\nlast").split("\n")[-2:] == ["", "last"]


def test_columns_line_up_and_the_flexible_one_is_wrapped() -> None:
    text = columns([("a", "one two three four five six seven", "x"), ("bbb", "short", "yy")], 1, (5, 0, 0))
    assert text == (
        "  a      one two three four five six  x\n"
        "         seven\n"
        "  bbb    short                        yy"
    )  # fmt: skip
    assert columns([]) == ""


def test_one_is_no_plural() -> None:
    assert [counted(number, "step") for number in (0, 1, 2, 1000)] == [
        "0 steps",
        "1 step",
        "2 steps",
        "1,000 steps",
    ]
