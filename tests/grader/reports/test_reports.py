"""Reports: the page for people, and the JSON object."""

from __future__ import annotations

import json
from dataclasses import replace

import click
import pytest
from click.testing import CliRunner

from grader.catalog import get_exercises, get_mistakes
from grader.core.failures import Named
from grader.core.results import Grade, Result, clean
from grader.reports import ReportFormat, get_format, get_formats
from zoo.core.errors import PluginError, UnknownNameError

SCALE = Named(
    "missing-scale",
    "The scores are not divided by sqrt(d_k). With wide heads the softmax becomes so steep that nothing is learnt.",
    formula="softmax(Q K^T / sqrt(d_k))",
    hint="What happens to a dot product when the vectors become longer?",
    source="section 3.2.1",
)
PASSED = Result("function.test_shape", "shapes are right", "shape", "passed", 2, 2)
FAILED = Result(
    "function.test_numbers",
    "equals the reference",
    "numerics",
    "failed",
    0,
    3,
    "expected 1\ngot 2",
    (SCALE,),
    "# .\n# #",
)
SKIPPED = Result(
    "class.test_numbers", "heads too", "numerics", "skipped", 0, 3, "same cause as 'equals the reference'"
)
BROKEN = Result("class.test_x", "grader's own", "behaviour", "error", 0, 1, "Internal error of the grader")


def make(*results: Result, **changes: object) -> Grade:
    grade = Grade("attention", "Attention", "my file.py", ("f", "MHA"), "cpu", 7, results, 1.25)
    return replace(grade, **changes)  # type: ignore[arg-type]


def printed(name: str, *grades: Grade, color: bool = False, **options: bool) -> str:
    @click.command()
    def show() -> None:
        report = get_format(name).load(**options)
        for grade in grades:
            report.add(grade)
        report.close(grades)

    result = CliRunner().invoke(show, color=color, catch_exceptions=False)
    return result.stdout


def test_the_first_line_says_which_file_and_what_of_it_was_graded() -> None:
    assert printed("terminal", make(PASSED)).splitlines()[0] == "Graded my file.py: f, MHA"
    unloaded = make(replace(FAILED, name="load"))
    assert printed("terminal", unloaded).splitlines()[0] == "Graded my file.py: it cannot be loaded"
    assert "nothing: the file cannot be loaded" in printed("html", unloaded)
    missing = [replace(FAILED, message=f"There is no '{name}' in the file.") for name in ("f", "MHA")]
    first = printed("terminal", make(*missing)).splitlines()[0]
    assert first == "Graded my file.py: it does not define f or MHA"
    assert "nothing: the file does not define f or MHA" in printed("html", make(*missing))
    assert printed("terminal", make(missing[0], PASSED)).splitlines()[0] == "Graded my file.py: f, MHA"


def test_the_page_names_the_mistake_with_formula_hint_proof_and_picture() -> None:
    text = printed("terminal", make(PASSED, FAILED, SKIPPED, BROKEN))
    for part in (
        "missing-scale",
        SCALE.formula,
        SCALE.hint,
        "expected 1\n",
        "got 2",
        "\n  # .\n",
    ):
        assert part in text
    assert "1 test skipped: same cause as 'equals the reference'" in text
    assert "grader error: grader's own" in text
    assert SCALE.source not in text
    assert SCALE.source in printed("terminal", make(FAILED), show_all=True)
    assert text.endswith("\nfailed: 2/9 points (1 failed, 1 grader error, 1 skipped, 1 passed) in 1.2 s\n\n")
    assert "zoo grade 'my file.py' --only numerics" in text
    assert "--seed 7" in text


def test_passed_tests_are_one_line_unless_all_are_asked_for() -> None:
    text = printed("terminal", make(PASSED, FAILED, SKIPPED))
    assert "\n1 passed\n" in text
    assert PASSED.title not in text
    rows = [line.split()[:2] for line in text.splitlines() if line.startswith(("failed  ", "skipped  "))]
    assert rows == [["failed", "numerics"], ["skipped", "numerics"]]
    everything = printed("terminal", make(PASSED, FAILED, SKIPPED), show_all=True)
    assert "\n1 passed\n" not in everything
    assert PASSED.title in everything
    assert "\n1 passed\n" in printed("terminal", make(PASSED))


@pytest.mark.parametrize("color", [False, True])
def test_a_diagnosis_is_at_most_five_lines_above_its_numbers(color: bool) -> None:
    for words in (1, 30, 60, 300):
        text = "A short sentence first. " + "many words " * words + "end. " + "Another sentence. " * 5
        long = replace(SCALE, text=text, formula="softmax " * 20)
        page = click.unstyle(printed("terminal", make(replace(FAILED, mistakes=(long,))), color=color))
        above = page.partition("missing-scale\n")[2].partition("    expected 1")[0].splitlines()
        assert 2 <= len(above) <= 4
        assert above[0].startswith("  A short sentence first.")
        assert above[-1].startswith("  Formula  softmax")
        assert max(map(len, page.splitlines())) <= 80
    endless = replace(SCALE, text="word " * 200, formula="")
    page = printed("terminal", make(replace(FAILED, mistakes=(endless,))))
    assert len(page.partition("missing-scale\n")[2].partition("    expected 1")[0].splitlines()) == 4
    assert " ...\n" in page


def test_every_known_mistake_of_ours_is_shown_from_its_first_sentence() -> None:
    for exercise in get_exercises():
        for mistake in get_mistakes(exercise):
            page = printed("terminal", make(replace(FAILED, mistakes=(mistake.named,))))
            above = page.partition(f"\n{mistake.named.id}\n")[2].partition("    expected 1")[0]
            shown = " ".join(above.partition("  Formula  ")[0].split())
            assert shown in " ".join(mistake.named.text.split()), mistake.named.id
            assert shown
            assert len(above.splitlines()) <= 4


def test_the_page_says_why_the_sandbox_is_not_strict() -> None:
    reason = "CUDA cannot be used in a confined process: CUDA error: OS call failed"
    text = " ".join(printed("terminal", make(PASSED, sandbox="process", sandbox_reason=reason)).split())
    assert f"The sandbox level strict is not available here: {reason}" in text
    assert "not available" not in printed("terminal", make(PASSED, sandbox="strict"))


def test_the_page_is_80_columns_wide_and_plain_in_a_pipe() -> None:
    wordy = replace(FAILED, title="a very long title " * 6, message="a long message " * 30)
    text = printed("terminal", make(PASSED, wordy, file="a/very/long/path/" * 5 + "attention.py"))
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines() if "zoo grade" not in line and ".py" not in line) <= 80


def test_names_of_mistakes_are_not_broken_at_their_hyphens() -> None:
    for filling in range(40, 70):
        skipped = replace(SKIPPED, message=f"same cause as '{'x' * filling}': divided-by-all-places")
        assert "divided-by-all-places" in printed("terminal", make(FAILED, skipped))


def test_a_mistake_is_explained_once() -> None:
    other = Named("mask-inverted", "The mask is the wrong way round.", hint="Look at ~mask.")
    text = printed("terminal", make(FAILED, replace(FAILED, mistakes=(SCALE, other))))
    assert text.count(SCALE.formula) == text.count(SCALE.hint) == text.count(other.text) == 1
    assert "\nmissing-scale (see above)\n" in text
    assert "\nmask-inverted\n" in text


def test_colour_changes_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    grade = make(PASSED, FAILED, SKIPPED)
    coloured = printed("terminal", grade, color=True)
    assert "\x1b[31m" in coloured
    assert click.unstyle(coloured) == printed("terminal", grade)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_wants_no_colour_gets_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert "\x1b" not in printed("terminal", make(PASSED, FAILED), color=True)


@pytest.mark.parametrize(
    ("grade", "expected"),
    [
        (make(PASSED), "\npassed: 2/2 points (1 passed) in 1.2 s\n"),
        (make(PASSED, next_exercise="masks.py"), "Next: exercises/masks.py"),
        (make(PASSED, selection=" --only shape"), "Run all tests:\n  zoo grade 'my file.py'\n"),
        (
            make(PASSED, file="my/attention.py", next_exercise="masks.py"),
            "Next: masks.py (zoo start copies it)\n",
        ),
        (make(PASSED, file="my/attention.py"), "zoo solution my/attention.py\n"),
        (make(PASSED), "zoo solution attention\n"),
        (make(FAILED), "Get a hint (each call reveals more):\n  zoo hint attention\n"),
        (make(SKIPPED), "\nfailed: 0/3 points (1 skipped) in 1.2 s\n"),
    ],
)
def test_the_page_ends_with_the_next_step(grade: Grade, expected: str) -> None:
    assert expected in printed("terminal", grade)


def test_tests_that_one_failure_keeps_from_running_are_a_line() -> None:
    idle = replace(SKIPPED, message="not run: the file cannot be loaded")
    text = printed("terminal", make(FAILED, idle, idle))
    assert "\n2 tests skipped: the file cannot be loaded\n" in text
    assert idle.title not in text
    assert idle.title in printed("terminal", make(FAILED, idle, idle), show_all=True)
    assert idle.title in printed("terminal", make(PASSED, FAILED, idle))


def test_several_files_end_in_a_table() -> None:
    text = printed("terminal", make(PASSED), make(FAILED, file="other.py"))
    assert "1 of 2 files passed." in text
    assert text.splitlines()[-3].split() == ["failed", "other.py", "0/3", "missing-scale"]


def test_the_json_object_has_the_documented_keys_and_no_others() -> None:
    found = json.loads(printed("json", make(PASSED, FAILED, SKIPPED)))
    keys = "exercise file component device sandbox seed passed points max_points duration_s mistakes tests"
    assert list(found) == keys.split()
    assert (found["component"], found["passed"], found["points"], found["max_points"]) == (
        "f, MHA",
        False,
        2,
        8,
    )
    assert found["mistakes"] == [{"id": "missing-scale", "text": SCALE.text, "where": None}]
    assert found["tests"][1] == {
        "name": "function.test_numbers",
        "category": "numerics",
        "status": "failed",
        "points": 0,
        "max_points": 3,
        "message": "expected 1\ngot 2",
        "mistakes": [{"id": "missing-scale", "text": SCALE.text, "where": None}],
        "where": None,
    }


def test_json_of_several_files_is_an_array() -> None:
    assert [one["file"] for one in json.loads(printed("json", make(PASSED), make(FAILED, file="b.py")))] == [
        "my file.py",
        "b.py",
    ]


def test_every_mistake_is_listed_once() -> None:
    other = Named("other", "Another one.")
    grade = make(FAILED, replace(FAILED, mistakes=(other, SCALE)))
    assert [mistake.id for mistake in grade.mistakes] == ["missing-scale", "other"]


def test_a_grade_without_tests_is_not_passed() -> None:
    assert not make().passed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[2Jgone", "[2Jgone"),
        ("a\tb\r\nc\x00\x9b", "a    b\nc"),
        ("\u202egnp\u200b.exe", "gnp.exe"),
        ("\ud800", ""),
        ("ü→", "ü→"),
        ("x" * 3000, "x" * 2000 + " ..."),
    ],
)
def test_untrusted_text_is_cleaned(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_a_terminal_without_unicode_still_gets_its_page() -> None:
    @click.command()
    def show() -> None:
        get_format("terminal").load().add(make(replace(FAILED, message="expected → ü")))

    result = CliRunner(charset="ascii").invoke(show, catch_exceptions=False)
    assert "expected ? ?" in result.stdout


def test_an_unknown_format_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean json"):
        get_format("jsn")
    assert list(get_formats())[:2] == ["terminal", "json"]


@pytest.mark.parametrize("path", ["grader.reports.nowhere:Report", "grader.reports.json:Nothing"])
def test_a_format_that_leads_nowhere_says_so(path: str) -> None:
    with pytest.raises(PluginError, match=r"Report format 'x' cannot be loaded"):
        ReportFormat("x", "", path).load()


def test_a_file_that_cannot_be_loaded_is_sent_back_with_the_same_options() -> None:
    unread = replace(FAILED, name="load", mistakes=())
    text = printed("terminal", replace(make(unread), selection=" --quick"))
    assert "grade again:\n  zoo grade 'my file.py' --quick\n" in text
    assert "rerun its category" not in text
