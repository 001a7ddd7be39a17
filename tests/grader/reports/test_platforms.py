"""Reports for platforms: the fields that they read, and nothing of a hidden test's inputs."""

import base64
import errno
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from grader.cli.grade import grade
from grader.core.failures import Named
from grader.core.results import Grade, Result, uncommanded
from grader.reports import get_format
from grader.reports.markdown import escaped

SECRET = "expected [0.25, 0.5]\n  got      [0.75, 0.5]\nWrong in 2 of 3 cases of this test."
NAMED = Named("missing-scale", "The scores are not divided.", "QK/sqrt(d)", "Look under QK.", "section 3")
HOSTILE = (
    "]]></failure></testcase> <script>alert(1)</script> ``` | [x](http://e.vil) "
    "::set-output name=a::b @you \x1b[31m\x00"
)


def result(status: Any, **more: Any) -> Result:
    points = 2.0 if status == "passed" else 0.0
    given = {"message": "" if status == "passed" else SECRET, **more}
    return Result(
        f"class.{status}", f"a test that {status}", "numerics", status, points, 2.0, **given
    ).cleaned()


def graded(*results: Result) -> Grade:
    return Grade("attention", "Attention", "a.py", ("F",), "cpu", 12345, results, 1.5)


MIXED = graded(
    result("passed"),
    result("failed", mistakes=(NAMED,), picture="x . x"),
    result("failed"),
    result("skipped", message="same cause as 'a test that failed': missing-scale"),
    result("error", message="Internal error of the grader in this test"),
)
FINE = graded(result("passed"))
FORMATS = ("json", "junit", "markdown", "gradescope", "github-classroom", "exercism")
FOR_LEARNERS = ("markdown", "gradescope", "github-classroom", "exercism")


def report(name: str, *grades: Grade, capsys: pytest.CaptureFixture[str], **options: str) -> str:
    made = get_format(name).load(**options)
    for one in grades:
        made.add(one)
    made.close(grades)
    text = capsys.readouterr().out
    return base64.b64decode(text).decode() if name == "github-classroom" else text


@pytest.mark.parametrize("name", FOR_LEARNERS)
def test_nothing_of_the_inputs_and_the_seed_is_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = report(name, MIXED, capsys=capsys)
    assert "The scores are not divided." in text
    assert "Look under QK." in text
    for secret in ("0.25", "0.75", "12345", "x . x"):
        assert secret not in text


def test_gradescope(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(report("gradescope", MIXED, capsys=capsys, visibility="after_due_date"))
    assert found["score"] == sum(test["score"] for test in found["tests"]) == 2
    assert found["execution_time"] == 1.5
    assert found["stdout_visibility"] == "hidden"
    assert found["output_format"] == "text"
    assert [test["number"] for test in found["tests"]] == ["1", "2", "3", "4", "5"]
    assert {test["visibility"] for test in found["tests"]} == {"after_due_date"}
    assert {test["status"] for test in found["tests"]} == {"passed", "failed"}
    assert all(test["max_score"] == 2 and isinstance(test["output"], str) for test in found["tests"])


def test_github_classroom(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(report("github-classroom", MIXED, capsys=capsys))
    assert (found["version"], found["status"], found["max_score"]) == (1, "error", 10)
    assert sum(test["score"] for test in found["tests"]) == MIXED.points
    assert [test["status"] for test in found["tests"]] == ["pass", "fail", "fail", "fail", "error"]
    assert {"name", "status", "score", "message", "test_code", "filename", "line_no", "duration"} == set(
        found["tests"][0]
    )
    assert json.loads(report("github-classroom", FINE, capsys=capsys))["status"] == "pass"


def test_exercism(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(report("exercism", MIXED, capsys=capsys))
    assert (found["version"], found["status"], found["message"]) == (3, "fail", None)
    for test in found["tests"]:
        assert test["status"] in ("pass", "fail", "error")
        assert (test["message"] is None) == (test["status"] == "pass")
        assert isinstance(test["task_id"], int)
    for name in ("load", "rules"):
        broken = graded(Result(name, "the file", "behaviour", "failed", 0, 0, "It cannot be graded."))
        found = json.loads(report("exercism", broken, capsys=capsys))
        assert (found["status"], found["message"]) == ("error", "It cannot be graded.")
        assert "tests" not in found


def test_junit_counts_what_was_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    skipped = graded(result("skipped"), result("skipped"), result("error"))
    (suite,) = ET.fromstring(report("junit", skipped, capsys=capsys))
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "0", "1", "2"]


def test_junit(capsys: pytest.CaptureFixture[str]) -> None:
    root = ET.fromstring(report("junit", MIXED, FINE, capsys=capsys))
    first, second = root.findall("testsuite")
    assert (first.get("tests"), first.get("failures"), first.get("errors"), first.get("skipped")) == (
        "5",
        "2",
        "1",
        "1",
    )
    assert first.find("properties/property[@name='seed']").get("value") == "12345"  # type: ignore[union-attr]
    assert len(first.findall("testcase/failure")) == 2
    assert first.findall("testcase/failure")[0].get("type") == "missing-scale"
    assert len(second.findall("testcase")) == 1


def test_junit_has_each_test_s_time(capsys: pytest.CaptureFixture[str]) -> None:
    slow = graded(result("passed", duration_s=1.25), result("skipped"))
    root = ET.fromstring(report("junit", slow, capsys=capsys))
    assert [case.get("time") for case in root.findall("testsuite/testcase")] == ["1.250", "0.000"]


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    text = report("markdown", MIXED, capsys=capsys)
    assert text.count("\n| ") == 6
    assert "### `missing-scale`" in text


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_words_of_a_submission_break_no_format(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = result("failed", message=f"Your code raised ValueError: {HOSTILE}")
    text = report(name, graded(hostile), capsys=capsys)
    assert "\x1b" not in text
    assert "\x00" not in text
    if name == "junit":
        root = ET.fromstring(text)
        assert len(root.findall("testsuite/testcase")) == 1
    elif name == "markdown":
        block = text.partition("````text\n")[2].partition("\n````")
        assert block[1]
        assert "<script>" in block[0]
    else:
        json.loads(text)


@given(st.text())
def test_escaped_text_is_one_line_without_markup(text: str) -> None:
    shown = escaped(text)
    assert "\n" not in shown
    assert not any(f" {sign}" in f" {shown}" for sign in ("#", "- ", "`", "<", "|", "*"))


def test_a_report_goes_to_a_file_and_the_page_to_people(tmp_path: Path) -> None:
    file, out = tmp_path / "feedforward.py", tmp_path / "results.json"
    file.write_text("def (")
    out.write_text("old")
    ran = CliRunner().invoke(grade, [str(file), "--format", "gradescope", "-o", str(out), "--quick"])
    assert ran.exit_code == 1
    assert "Graded" in ran.output
    assert json.loads(out.read_text())["score"] == 0
    assert [p.name for p in tmp_path.iterdir() if "results" in p.name] == ["results.json"]


def test_what_does_not_fit_is_said_before_anything_is_graded(tmp_path: Path) -> None:
    file = tmp_path / "feedforward.py"
    file.write_text("")
    for arguments, words in (
        (["--format", "exercism", str(file)], "takes a single file"),
        (["--format", "json", "--visibility", "hidden"], "has no effect with --format json"),
        (["--format", "json", "-o", str(tmp_path / "none" / "r.json")], "there is no directory"),
    ):
        ran = CliRunner().invoke(grade, [str(file), *arguments])
        assert ran.exit_code == 2
        assert words in " ".join(ran.output.split())


@given(st.text(alphabet=" \n:#[ax", max_size=40))
def test_the_log_of_github_classroom_obeys_no_submission(text: str) -> None:
    shown = uncommanded(text)
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in shown.splitlines())
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)


def test_a_command_in_a_message_reaches_classroom_broken(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = result("failed", message="Your code raised ValueError: x\n::add-mask::a\n  ##[error]b")
    (test,) = json.loads(report("github-classroom", graded(hostile), capsys=capsys))["tests"]
    assert test["message"].endswith("x\n: :add-mask::a\n  ## [error]b")


@pytest.mark.parametrize("name", ["terminal", "markdown", "junit", "html"])
def test_a_page_that_is_printed_into_a_log_commands_nothing(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = graded(result("failed", message="Your code raised ValueError: x\n::add-mask::a\n  ##[error]b"))
    assert re.search(r"^\s*::add-mask", report(name, hostile, capsys=capsys), re.MULTILINE)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    shown = report(name, hostile, capsys=capsys)
    assert "add-mask" in shown
    assert not re.search(r"^\s*::|##\[", shown, re.MULTILINE)
    if name == "junit":
        ET.fromstring(shown)


def test_a_full_disk_is_a_sentence_and_leaves_the_old_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "feedforward.py", tmp_path / "results.json"
    file.write_text("def (")
    out.write_text("old")
    move = Path.replace

    def full(self: Path, target: Path) -> Path:
        if Path(target).name == out.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return move(self, target)

    monkeypatch.setattr(Path, "replace", full)
    ran = CliRunner().invoke(grade, [str(file), "--format", "json", "-o", str(out), "--quick"])
    assert ran.exit_code == 74
    assert "The report was not written." in ran.output
    assert out.read_text() == "old"
    assert not [one.name for one in tmp_path.iterdir() if one.name.startswith(".results")]


@pytest.mark.parametrize("visibility", ["hidden", "after_due_date", "after_published"])
def test_where_tests_are_hidden_the_line_for_all_tells_no_points(
    visibility: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(report("gradescope", MIXED, capsys=capsys, visibility=visibility))
    assert found["output"] == "Attention was graded."
    assert json.loads(report("gradescope", MIXED, capsys=capsys))["output"] == "Attention: 2 of 10 points."


@pytest.mark.parametrize("name", FOR_LEARNERS)
def test_what_broke_in_the_grader_is_not_told_to_learners(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = result("error", message="Internal error of the grader: AssertionError: tensor(0.625)")
    assert "0.625" not in report(name, graded(broken), capsys=capsys)
