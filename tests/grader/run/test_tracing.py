"""`zoo trace`: whole listings of small files, in a real worker."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.trace import trace
from tests import solution_file, template_file
from zoo.core.errors import ZooError

pytestmark = pytest.mark.usefixtures("commands_share_a_sandbox")


def listing(*arguments: object, columns: int = 80) -> str:
    done = CliRunner().invoke(
        trace, [*map(str, arguments), "--seed=1"], catch_exceptions=False, env={"COLUMNS": str(columns)}
    )
    assert done.exit_code == 0
    assert all(len(line) <= columns for line in done.output.splitlines() if "#" in line and "returns" in line)
    return done.output


@pytest.fixture
def feedforward(tmp_path: Path) -> Path:
    file = tmp_path / "feedforward.py"
    file.write_bytes(solution_file("feedforward").read_bytes())
    return file


def test_a_right_file_has_shapes_and_names_and_no_mark(feedforward: Path) -> None:
    text, head = feedforward.read_text(encoding="utf-8"), "    def forward(self, x: Tensor) -> Tensor:"
    assert head in text
    feedforward.write_text(text.replace(head, f"    @(lambda method: method)\n{head}"), encoding="utf-8")
    shown = listing(feedforward)
    assert "# x [" in shown.partition(head)[2][:40], "beside the function's head, not its decorator"
    assert "No wrong value found" in shown
    assert "# returns [" in shown
    assert "\n>" not in shown


def test_the_first_wrong_value_is_marked(feedforward: Path) -> None:
    text = feedforward.read_text(encoding="utf-8")
    assert "relu" in text
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "relu(" in one)
    feedforward.write_text(text.replace("relu(", "abs("), encoding="utf-8")
    shown = listing(feedforward)
    assert [one.split()[0] for one in shown.splitlines() if one.startswith(">")] == [f">{line}"]
    assert f"First wrong value: line {line}." in shown


def test_a_form_feed_ends_no_line(feedforward: Path) -> None:
    text = feedforward.read_text(encoding="utf-8").replace("relu(", "abs(")
    feedforward.write_text(f"# a\fb\x85c\u2028d\n{text}", encoding="utf-8")
    marked = [one for one in listing(feedforward).split("\n") if one.startswith(">")]
    assert len(marked) == 1
    assert "abs(" in marked[0]


def test_a_line_that_raises_is_said_so(feedforward: Path) -> None:
    text = feedforward.read_text(encoding="utf-8")
    feedforward.write_text(text.replace("self.up(x)", "self.up(x[0, 0, 0, 0])"), encoding="utf-8")
    shown = listing(feedforward)
    assert "First error: line " in shown
    assert " raises" in shown.partition("First error")[2]


def test_a_wrong_result_is_reported_even_without_a_line(tmp_path: Path) -> None:
    file, text = tmp_path / "masks.py", solution_file("masks").read_text(encoding="utf-8")
    assert ".tril()" in text
    file.write_text(text.replace(".tril()", ".triu()"), encoding="utf-8")
    shown = listing(file)
    assert "First wrong value" in shown or "result of this call is wrong" in " ".join(shown.split())


def test_a_call_of_ones_own(feedforward: Path) -> None:
    shown = listing(feedforward, "--call=FeedForward(6, 24)(float[3, 2, 6])")
    assert "x [3, 2, 6]" in shown
    assert "[3, 2, 24]" in shown
    assert "not checked" in shown
    assert "The call failed. " in listing(feedforward, "--call=FeedForward(6, 24)(float[3, 2, 7])")


@pytest.mark.parametrize(
    ("text", "call", "said"),
    [
        ("def f(:", "", "Python cannot read the file"),
        ("#" * 2**21, "", r"more than 1 MB, which is the most that is read\."),
        ("raise RuntimeError('no')", "", "RuntimeError: no"),
        (template_file("feedforward").read_text(encoding="utf-8"), "", "is not written"),
        ("x = 1", "", "no 'FeedForward'"),
        ("x = 1", "Other", "no component 'Other'"),
        ("x = 1", "x(1", "is not a valid call"),
    ],
)
def test_what_cannot_be_traced_is_a_sentence(feedforward: Path, text: str, call: str, said: str) -> None:
    feedforward.write_text(text, encoding="utf-8")
    with pytest.raises(ZooError, match="(?i)" + said.replace("(", r"\(")):
        listing(feedforward, f"--call={call}")


def test_hostile_source_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "masks.py"
    hostile = "# \x1b[31m \u202e turned\n" + solution_file("masks").read_text(encoding="utf-8")
    file.write_text(hostile, encoding="utf-8")
    shown = listing(file)
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_file_that_is_not_there_is_what_the_sentence_is_about() -> None:
    with pytest.raises(ZooError, match=r"^No such file: 'nosuch.py'\.$"):
        listing("nosuch.py")


def test_a_mark_in_front_and_deep_expressions_are_read(feedforward: Path) -> None:
    text = feedforward.read_text(encoding="utf-8")
    feedforward.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert "No wrong value found" in listing(feedforward)
    deep = " + ".join(["x"] * 900)
    wrong = text.replace("class FeedForward", f"DEEP = lambda x: {deep}\n\n\nclass FeedForward").replace(
        "relu", "tanh"
    )
    feedforward.write_text(wrong, encoding="utf-8")
    assert "The result of this call is wrong" in listing(feedforward)
