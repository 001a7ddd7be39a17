"""Sentences for unknown names: near ones are suggested, others are not."""

import pytest

from zoo.core.errors import describe_exception, message_of, unknown_name
from zoo.core.plugins import get_registry


@pytest.mark.parametrize("typed", ["nope", "nosuch", "zzz", "hello"])
def test_a_name_that_is_near_to_none_gets_no_suggestion(typed: str) -> None:
    names = [variant.name for variant in get_registry().variants("attention")]
    assert "Did you mean" not in str(unknown_name("attention", typed, names))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("egaer", "eager"), ("fuse", "fused"), ("gaq", "gqa"), ("mq", "mqa"), ("slidng", "sliding"),
        ("soft-cap", "softcap"), ("Flex", "flex"), ("chunk", "chunked"), ("torhc", "torch"), ("sink", "sinks"),
    ],
)  # fmt: skip
def test_a_typing_error_gets_the_name_that_was_meant(typed: str, meant: str) -> None:
    names = [variant.name for variant in get_registry().variants("attention")]
    assert f"Did you mean {meant}" in str(unknown_name("attention", typed, names))


def test_upper_case_makes_no_difference() -> None:
    assert "Did you mean MyAttention?" in str(unknown_name("class", "myatention", ["MyAttention", "Other"]))


class Rude(Exception):
    """An exception without a text."""

    def __init__(self, said: object) -> None:
        self.said = said

    def __str__(self) -> str:
        if isinstance(self.said, BaseException):
            raise self.said
        return self.said  # type: ignore[return-value]


@pytest.mark.parametrize("said", [ValueError("no"), SystemExit(3), RecursionError(), 3])
def test_an_exception_whose_text_raises_is_described(said: object) -> None:
    assert describe_exception(Rude(said)) == "Rude: (its message cannot be shown)"


def test_the_text_of_an_exception_can_be_printed() -> None:
    assert message_of(ValueError("\ud800 \x1b[31m\n\té")) == "\\ud800 \\x1b[31m\n\té"
