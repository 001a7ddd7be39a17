"""What is left of small functions and docstrings."""

from __future__ import annotations

import libcst as cst
import pytest

from zoo.export.calls import refilled, without_mention
from zoo.export.simplify import simplified
from zoo.export.trees import code


def left_of(text: str) -> str:
    return code(simplified(cst.parse_statement(text))).strip()


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("'llama3' in ('yarn', 'llama3')", True),
        ("'none' in ('yarn', 'llama3')", False),
        ("'none' not in ('yarn',)", True),
        ("1.0 == 1", True),
        ("2 != 2", False),
        ("(bias := None) is not None", False),
    ],
)
def test_a_comparison_of_literals_is_decided(condition: str, answer: bool) -> None:
    assert left_of(f"def f(x):\n    if {condition}:\n        return x\n    return 2\n") == (
        "def f(x):\n    return x" if answer else "def f(x):\n    return 2"
    )


@pytest.mark.parametrize("condition", ["x in ('a',)", "'a' in names", "(bias := f()) is not None", "x == 1"])
def test_a_question_is_kept(condition: str) -> None:
    text = f"def f(x):\n    if {condition}:\n        return x\n    return 2"
    assert left_of(text + "\n") == text


def test_a_factor_of_one_goes_and_others_stay() -> None:
    assert (
        left_of("def f(x):\n    return 1.0 * x + x * 1.0 + 2.0 * x\n")
        == "def f(x):\n    return x + x + 2.0 * x"
    )


def test_what_is_given_as_it_is() -> None:
    text = "def f(x):\n    if x is None:\n        return None\n    return x\n"
    assert left_of(text) == "def f(x):\n    return x"
    other = text.replace("return None", "return 0")
    assert left_of(other) == other.strip()


def test_sentences_about_what_is_gone_go_and_tables_stay() -> None:
    document = (
        "It is one. With `scale`, it is two.\n\n    It is\n    three.\n\n        a  1\n        b  2\n    "
    )
    assert without_mention(document, {"scale"}) == (
        "It is one.\n\n    It is three.\n\n        a  1\n        b  2"
    )
    assert without_mention(document, {"other"}) == document
    assert refilled("One.\n\n    Two\n    lines.") == "One.\n\n    Two lines."
