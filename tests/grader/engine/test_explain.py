"""Sentences about what a submission's code did."""

from __future__ import annotations

from typing import get_args

import pytest
import torch

from grader.core.explain import Stub, explain, find_names, find_stubs, find_uses, same_failure
from grader.core.submission import ErrorKind, SubmissionError
from tests import ROOT

TEMPLATE = ROOT / "exercises" / "attention.py"


def test_every_stub_of_the_template_is_found() -> None:
    stubs = find_stubs(TEMPLATE.read_text(encoding="utf-8"))
    assert [stub.name for stub in stubs] == [
        "scaled_dot_product_attention",
        "MultiHeadAttention.__init__",
        "MultiHeadAttention.forward",
    ]
    assert all(stub.text.startswith("attention: ") for stub in stubs)


def test_stubs_of_unusual_files() -> None:
    assert find_stubs("raise NotImplementedError('top')") == [Stub("the file", 1, "top")]
    assert find_stubs(
        "def f():\n  pass\nclass A:\n  def g(self):\n    raise NotImplementedError ( 'x' )"
    ) == [Stub("A.g", 5, "x")]


def test_the_line_of_a_stub_after_a_form_feed() -> None:
    text = "# a\fb\x85c\u2028class B:\ndef f():\n    raise NotImplementedError('x')\n"
    assert find_stubs(text) == [Stub("f", 3, "x")]
    assert find_names(text) == ["f"]
    assert find_uses(text) == {"f": {"f"}}


@pytest.mark.parametrize("kind", get_args(ErrorKind))
def test_each_kind_has_a_sentence_with_its_place(kind: ErrorKind) -> None:
    error = SubmissionError(kind, "the message", type_name="ValueError", line=3, source_line="    x = 1/0")
    text = explain(error, [])
    assert "the message" in text
    assert "3" in text
    assert kind == "not_written" or "x = 1/0" in text


def test_one_cause_is_told_from_another() -> None:
    def one(line: int | None, message: str = "m") -> tuple[object, ...]:
        return same_failure(SubmissionError("exception", message, type_name="E", line=line))

    assert one(3, "a") == one(3, "b")
    assert one(3) != one(4)
    assert one(None, "a") != one(None, "b")


def test_a_call_that_does_not_fit_is_one_cause_whatever_was_given() -> None:
    few = SubmissionError(
        "exception", "C.__init__() takes 2 positional arguments but 3 were given", type_name="TypeError"
    )
    other = SubmissionError(
        "exception", "C.__init__() got an unexpected keyword argument 'dropout'", type_name="TypeError"
    )
    inside = SubmissionError("exception", "f() takes 1 argument", type_name="TypeError", line=3)
    assert "does not fit your signature" in explain(few, [])
    assert same_failure(few) == same_failure(other)
    assert same_failure(inside) != same_failure(few)
    assert "does not fit" not in explain(inside, [])


def test_a_name_that_is_missing_is_answered_with_the_nearest() -> None:
    names = find_names(
        "import f\nclass A:\n  def padding_mask(): ...\ndef padding_masks(x):\n  pass\nasync def g(): ..."
    )
    assert names == ["A", "padding_masks", "g"]
    missing = SubmissionError("missing", "There is no 'padding_mask' in the file.")
    said = "There is no 'padding_mask' in the file."
    assert (
        explain(missing, [], names) == f"{said} The file defines 'padding_masks': should it have that name?"
    )
    assert explain(missing, [], ["A", "g"]) == said
    other = SubmissionError("missing", "'padding_mask' is neither a function nor a class, but int")
    assert explain(other, [], ["padding_mask"]) == other.message


@pytest.mark.parametrize(
    "code",
    [
        "self.a = torch.nn.Linear(1, 1)",
        "self.a = torch.nn.Parameter(torch.ones(1))",
        "self.register_buffer('a', torch.ones(1))",
        "self.register_parameter('a', None)",
    ],
)
def test_a_module_that_forgets_its_super_is_told_what_to_add(code: str) -> None:
    class Forgetful(torch.nn.Module):
        def __init__(self) -> None:
            exec(code)

    with pytest.raises(AttributeError) as raised:
        Forgetful()
    error = SubmissionError("exception", str(raised.value), type_name="AttributeError", line=3)
    assert explain(error, []).endswith("is that line missing, or too late?")
    assert "super()" not in explain(
        SubmissionError("exception", "'A' object has no attribute 'b'", type_name="AttributeError"), []
    )


def test_what_a_definition_uses_is_followed_through_others() -> None:
    text = "class A:\n    b = 1\n\ndef b():\n    return c()\n\ndef c():\n    return a\n\ndef d():\n    return A\n"
    assert find_uses(text) == {"A": {"A", "b", "c"}, "b": {"b", "c"}, "c": {"c"}, "d": {"d", "A", "b", "c"}}
    assert find_uses("x = 1\n") == {}
    assert find_uses("".join(f"def f{i}(): return f{i + 1}\n" for i in range(100_000))) == {}
