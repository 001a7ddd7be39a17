"""The root causes of published studies: each is one change that can be made, is on the page, and is killed."""

from __future__ import annotations

import pytest

from tests.grader.grades import without_names
from tests.mutation.measure import Row, graded, identity, unpassed
from tests.mutation.yardsticks import PAGE, YARDSTICKS, Yardstick, table, written

# no difference in any answer, as the page says
PASSES = {"a row of nothing but padding becomes NaN", "a view that needs contiguous memory"}


@pytest.mark.parametrize("one", YARDSTICKS, ids=lambda one: f"{one.exercise} {one.cause}")
def test_each_is_one_change_of_a_solution(one: Yardstick) -> None:
    text, mutant = one.mutant()
    compile(mutant.text, one.cause, "exec")
    lines = text.splitlines()
    assert lines[: mutant.line - 1] == mutant.text.splitlines()[: mutant.line - 1]
    assert lines[mutant.line - 1] != mutant.text.splitlines()[mutant.line - 1]


def test_no_two_are_the_same() -> None:
    assert len({identity(one.mutant()[1].text) for one in YARDSTICKS}) == len(YARDSTICKS)


def test_text_that_is_not_there_is_no_change() -> None:
    with pytest.raises(ValueError, match="0 times in masks"):
        Yardstick("", "", "", "masks", "no such text", "").mutant()


def test_the_page_has_all_of_them() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [one.cause for one in YARDSTICKS if one.cause not in page] == []


def test_tables_say_what_was_found() -> None:
    one = YARDSTICKS[0]
    row = Row(
        one.exercise,
        "solution",
        one.cause,
        3,
        3,
        "",
        True,
        named="mask-ignored",
        place="right",
        change="a | b",
    )
    text = table([(one, row)], one.study)
    assert "| `zero_mask` | attention: `a \\| b` | `mask-ignored` | yes |" in text
    assert text.endswith("1 mutants: 1 killed, 1 of them named or explained, 1 at the right line.")
    page = written(PAGE.read_text(encoding="utf-8"), [(one, row)])
    assert text in page
    assert written(page, [(one, row)]) == page


@pytest.mark.slow
@pytest.mark.parametrize(
    "one",
    [one for one in YARDSTICKS if one.cause not in PASSES],
    ids=lambda one: f"{one.exercise} {one.cause}",
)
def test_each_is_killed(one: Yardstick) -> None:
    nothing = {"naming_budget_s": 0.0, "locating_budget_s": 0.0}
    with without_names():
        assert unpassed(graded(one.exercise, one.mutant()[1].text, 0, nothing))
