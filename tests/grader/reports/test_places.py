"""The place of a mistake in reports: the learner's own line, whatever is in it."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.core.failures import Named
from grader.core.results import Grade, Result
from grader.core.spots import Lines, Spot, printable
from grader.reports import get_format
from grader.reports.places import columns, heading, place_lines
from grader.reports.terminal import page

SOURCE = """import torch


class Attention:
    def weights(self, q, k):
        scores = q @ k.transpose(-2, -1)
        p = scores.softmax(dim=-2)
        return p

    def forward(self, x):
        return self.weights(x, x) @ x
"""
LINES = Lines(SOURCE)
RAW = Spot(
    7, 7, 12, 34, other=6, called_from=(11,), last_right=6, last_value="scores", value="softmax over dim -2",
    expected="weights: softmax over dim -1", proved=True,
)  # fmt: skip
NAMED = Named("softmax-over-queries", "The softmax runs over the queries.", "softmax(QK)", "Look.")


def placed(raw: Spot = RAW, lines: Lines = LINES) -> Spot:
    found = lines.placed(raw)
    assert found is not None
    return found


def graded(*results: Result) -> Grade:
    return Grade("attention", "Attention", "attention.py", ("Attention",), "cpu", 1, results, 1.0)


FAILED = Result("c.t", "a test", "numerics", "failed", 0, 2, "expected 1\ngot 2", where=placed())
KNOWN = replace(FAILED, mistakes=(replace(NAMED, where=placed()),))


def test_a_place_has_the_text_of_its_line_and_characters_from_one() -> None:
    spot = placed()
    assert (spot.column, spot.end_column, spot.region) == (13, 35, "Attention.weights")
    assert spot.source[slice(*spot.mark)] == "scores.softmax(dim=-2)"
    assert spot.other_source.strip() == "scores = q @ k.transpose(-2, -1)"


@pytest.mark.parametrize(
    "raw", [Spot(0, 0), Spot(12, 12), Spot(7, 12), Spot(7, 6), Spot(-1, 7), Spot(10**6, 10**6)], ids=str
)
def test_a_line_that_the_file_does_not_have_is_no_place(raw: Spot) -> None:
    assert LINES.placed(raw) is None


@pytest.mark.parametrize("spans", [(34, 12), (12, 12), (12, 999), (999, 1000), (-5, 3), (None, 4)])
def test_columns_that_the_line_does_not_have_are_left_out(spans: tuple[int | None, int]) -> None:
    spot = placed(replace(RAW, column=spans[0], end_column=spans[1]))
    assert (spot.column, spot.end_column) == (None, None)
    assert not [line for line in place_lines(spot) if "^" in line]


def test_further_lines_that_the_file_does_not_have_are_left_out() -> None:
    spot = placed(replace(RAW, other=99, called_from=(0, 11, 99), last_right=99))
    assert (spot.other, spot.called_from, spot.last_right) == (None, (11,), None)


def test_the_page_shows_the_line_the_spot_and_what_is_right() -> None:
    text = click.unstyle("\n".join(page(graded(FAILED))))
    assert (
        "failed: a test\n"
        "  line 7   p = scores.softmax(dim=-2)\n"
        "               ^^^^^^^^^^^^^^^^^^^^^^\n"
        "           Right up to line 6: scores.\n"
        "           Yours: softmax over dim -2\n"
        "           Right: weights = softmax over dim -1\n"
        "    expected 1\n"
    ) in text


def test_a_mistake_with_a_name_has_its_place_above_its_text() -> None:
    text = click.unstyle("\n".join(page(graded(KNOWN))))
    assert (
        "softmax-over-queries\n"
        "  line 7   p = scores.softmax(dim=-2)\n"
        "               ^^^^^^^^^^^^^^^^^^^^^^  right up to line 6\n"
        "  The softmax runs over the queries.\n"
        "  Formula  softmax(QK)\n"
    ) in text
    called = replace(KNOWN.mistakes[0], where=placed(replace(RAW, other=11)))
    assert "^  called in line 11\n" in click.unstyle(
        "\n".join(page(graded(replace(KNOWN, mistakes=(called,)))))
    )


def test_another_line_comes_after_what_is_said_of_the_first() -> None:
    for other in (6, 8):
        lines = place_lines(placed(replace(RAW, other=other, last_right=None)))
        assert [line.split()[:2] for line in (lines[0], lines[-1])] == [["line", "7"], ["line", f"{other}"]]
        assert len(lines) <= 5


USED = """class Model:
    def __init__(self, width):
        self.scale = width

    def helper(self, x):
        half = x / 2
        return half

    def forward(self, x):
        half = self.helper(x)
        y = half * self.scale
        return y
"""


@pytest.mark.parametrize(
    ("line", "other", "why"),
    [
        (6, 7, "read here"), (7, 6, "assigned here"), (11, 3, "assigned here"), (3, 11, "read here"),
        (6, 10, "called here"), (10, 7, "in `helper`"), (6, 11, ""), (10, 12, ""), (12, 10, ""),
    ],
)  # fmt: skip
def test_another_line_says_why_it_is_there(line: int, other: int, why: str) -> None:
    spot = placed(Spot(line, line, other=other), Lines(USED))
    (shown,) = [one for one in place_lines(spot) if one.startswith(f"  line {other} ")]
    assert shown.endswith(f"  ({why})" if why else spot.other_source.strip())


def test_the_beginning_of_a_function_is_no_call_of_it() -> None:
    shown = place_lines(placed(Spot(12, 12, other=9, why="omitted"), Lines(USED)))
    assert shown[0].strip() == "line 9    def forward(self, x):"


def test_what_it_is_and_should_be_comes_before_what_is_right_so_far() -> None:
    wordy = placed(replace(RAW, other=8, value="a " * 90, expected="b " * 90))
    lines = [line.strip()[:6] for line in place_lines(wordy)]
    assert lines == ["line 7", "^" * 6, "Yours:", "Right:", "line 8"]


def test_something_missing_lies_between_two_lines() -> None:
    spot = placed(Spot(8, 8, why="omitted", other=6))
    assert heading(spot) == "between line 6 and line 8"
    assert place_lines(spot) == [
        "  line 6   scores = q @ k.transpose(-2, -1)",
        "  line 8   return p",
        "           A step is missing between these lines.",
    ]


@pytest.mark.parametrize("words", [3, 60, 300])
def test_at_most_five_lines_stand_above_the_numbers(words: int) -> None:
    text = "A first sentence of " + "so many words " * (words // 6) + "is here. " + "More. " * words
    for other in (None, 6, 8):
        spot = placed(replace(RAW, other=other, last_right=None))
        long = replace(NAMED, text=text, formula="softmax " * 20, where=spot)
        lines = click.unstyle("\n".join(page(graded(replace(FAILED, mistakes=(long,)))))).splitlines()
        above = lines[lines.index(NAMED.id) + 1 : lines.index("    expected 1")]
        assert len(above) <= 5
        assert above[0].startswith("  line ")
        assert any("A first sentence" in line for line in above)
        assert any("Formula  softmax" in line for line in lines)
        assert max(map(columns, lines)) <= 80


def test_the_line_of_an_error_is_not_shown_twice() -> None:
    message = "Your code raised ValueError: no\n  line 7: p = scores.softmax(dim=-2)"
    text = "\n".join(page(graded(replace(FAILED, message=message, where=placed(Spot(7, 7, why="error"))))))
    assert text.count("p = scores.softmax(dim=-2)") == 1
    syntax = "Python cannot read the file. invalid syntax, line 7"
    text = "\n".join(page(graded(replace(FAILED, message=syntax, where=placed(Spot(7, 7, why="error"))))))
    assert "p = scores" not in text


LETTERS = st.text(
    st.sampled_from("ab (日ｱ語\t\x1b\u202e\u2066\u200d\u0301é\ud800#^\x7f\u2028'"), max_size=120
)


@settings(max_examples=50)
@given(LETTERS, LETTERS, LETTERS, LETTERS)
def test_whatever_the_line_holds_the_page_is_safe_and_the_marks_fit(
    before: str, inside: str, after: str, other: str
) -> None:
    text = f"x{before}{inside}y{after}\n{other}z\n"
    start = len(f"x{before}".encode("utf-8", "surrogatepass"))
    stop = len(f"x{before}{inside}y".encode("utf-8", "surrogatepass"))
    spot = placed(
        replace(RAW, line=1, end_line=1, column=start, end_column=stop, other=2, last_right=None), Lines(text)
    )
    for explained in (False, True):
        lines = place_lines(spot, explained=explained)
        assert max(map(columns, lines)) <= 80
        assert len(lines) <= 5
        assert all(line == printable(line)[0] for line in lines)
        (marks,) = [line for line in lines if re.fullmatch(r" +\^+( .*)?", line)]
        under = lines[lines.index(marks) - 1]
        assert columns(under.rstrip()) >= marks.rindex("^")


@given(st.text(max_size=60))
def test_a_line_made_printable_has_no_controls_and_a_place_for_each_character(text: str) -> None:
    shown, offsets = printable(text)
    assert printable(shown)[0] == shown
    assert len(offsets) == len(text) + 1
    assert offsets == sorted(offsets)
    assert offsets[-1] == len(shown)


def test_many_marks_on_one_letter_do_not_pile_up() -> None:
    assert "\u0301" * 4 not in printable("a" + "\u0301" * 50)[0]


def output(name: str, grade: Grade, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    report = get_format(name).load()
    report.add(grade)
    report.close([grade])
    found = capsys.readouterr()
    return found.out, found.err


def test_json_has_the_place_of_each_failure_and_each_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    passed = Result("c.p", "p", "shape", "passed", 2, 2)
    found = json.loads(output("json", graded(passed, KNOWN), capsys)[0])
    where = {
        "line": 7,
        "end_line": 7,
        "column": 13,
        "end_column": 35,
        "source": "        p = scores.softmax(dim=-2)",
        "why": "value",
        "called_from": [11],
        "other": 6,
        "last_right": {"line": 6, "value": "scores"},
        "value": "softmax over dim -2",
        "expected": "weights: softmax over dim -1",
        "proved": True,
        "iteration": None,
    }
    assert [test["where"] for test in found["tests"]] == [None, where]
    assert found["mistakes"][0]["where"] == found["tests"][1]["mistakes"][0]["where"] == where
    bare = json.loads(output("json", graded(replace(FAILED, where=placed(Spot(8, 8)))), capsys)[0])
    unknown = [key for key, value in bare["tests"][0]["where"].items() if value is None]
    assert unknown == ["column", "end_column", "other", "last_right", "value", "expected", "iteration"]


@pytest.mark.parametrize(
    ("iteration", "said"), [(2, "Right the first time."), (5, "Right the first 4 times.")]
)
def test_a_line_that_is_wrong_later_says_since_when(iteration: int, said: str) -> None:
    assert said in place_lines(placed(replace(RAW, iteration=iteration)))[2]


@pytest.mark.parametrize("name", ["markdown", "gradescope", "github-classroom", "exercism", "junit"])
@pytest.mark.parametrize("result", [FAILED, KNOWN], ids=["unnamed", "named"])
def test_every_format_has_the_line(name: str, result: Result, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(name, graded(result), capsys)[0]
    text = base64.b64decode(text).decode() if name == "github-classroom" else text
    assert "Line 7" in text
    assert "p = scores.softmax(dim=-2)" in text
    if name == "github-classroom":
        (test,) = json.loads(text)["tests"]
        assert (test["filename"], test["line_no"]) == ("attention.py", 7)
    if name == "junit":
        case = ET.fromstring(text).find("testsuite/testcase")
        assert case is not None
        assert (case.get("file"), case.get("line")) == ("attention.py", "7")


@pytest.mark.parametrize("name", ["markdown", "gradescope", "exercism"])
@pytest.mark.parametrize(
    "words", ["`noam` returns 4.94e-07", "the list is [7, 9]", "it is 8e3", "it is 71234"]
)
def test_no_numbers_of_a_hidden_test_are_told(
    name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spot = replace(placed(), value=words, expected="weights: softmax over dim -1")
    text = output(name, graded(replace(FAILED, where=spot)), capsys)[0]
    assert words not in text
    assert "Right: weights = softmax over dim -1" in text


def test_github_gets_annotations_on_standard_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    hostile = Named("odd,id:x", "50% wrong\n::error::gone\r##[group]", hint="Look\nthere.")
    grade = replace(
        graded(KNOWN, replace(FAILED, mistakes=(replace(hostile, where=placed(Spot(8, 8))),))),
        file=str(tmp_path / "a,b:c" / "attention.py"),
    )
    first, second = output("github-classroom", grade, capsys)[1].splitlines()
    assert first == (
        "::error file=a%2Cb%3Ac/attention.py,line=7,endLine=7,col=13,endColumn=34,title=softmax-over-queries"
        "::The softmax runs over the queries.%0AHint: Look.%0APlace: line 7 (right up to line 6)."
    )
    assert second.startswith(
        "::error file=a%2Cb%3Ac/attention.py,line=8,endLine=8,title=odd%2Cid%3Ax::50%25 wrong%0A: :error"
    )
    assert "##[" not in second
    assert output("github-classroom", graded(Result("c", "t", "shape", "passed", 1, 1)), capsys)[1] == ""


def test_one_annotation_for_one_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(output("github-classroom", graded(KNOWN, KNOWN), capsys)[1].splitlines()) == 1
    assert len(output("github-classroom", graded(FAILED), capsys)[1].splitlines()) == 1


LOOPS = """def f(x):
    while x:
        if x > 1:

            y = (
        1)
    return x


for a in b:
    def g(x):
        return x
    async def h(x):
        async for y in x:
            print(y)
"""


def test_the_loop_around_a_line_is_found() -> None:
    loops = {line: Lines(LOOPS).loop(line) for line in range(1, LOOPS.count("\n") + 1)}
    found = {line: loop for line, loop in loops.items() if loop is not None}
    assert found == {3: 2, 5: 2, 6: 2, 11: 10, 13: 10, 15: 14}
