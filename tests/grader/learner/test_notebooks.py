"""Exercises as notebooks, and `%%zoo attention`: what is written, what is kept, what is shown."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from grader import notebook
from grader.catalog import Exercise, get_exercise, get_exercises
from grader.learner.folder import Folder
from grader.learner.notebooks import markdown, notebook_name, notebook_text
from grader.learner.start import start
from grader.notebook import Cells, frame
from tests import ROOT
from zoo.core.errors import ZooError
from zoo.notebook import Prepared

ALL = list(get_exercises().values())
SOLUTION = (ROOT / "grader" / "exercises" / "feedforward" / "solution.py").read_text()


def cells_of(exercise: Exercise) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook_text(exercise, exercise.template_text()))["cells"]
    return found


@pytest.mark.parametrize("exercise", ALL, ids=lambda one: one.name)
def test_a_notebook_has_the_explanation_and_the_code_of_its_template(exercise: Exercise) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat")
    text = notebook_text(exercise, exercise.template_text())
    nbformat.validate(nbformat.reads(text, as_version=4))
    explanation, load, code, *_ = ("".join(cell["source"]) for cell in cells_of(exercise))
    assert load == "%load_ext zoo"
    first, _, rest = code.partition("\n")
    assert first == f"%%zoo {exercise.name}"
    whole, part = ast.parse(exercise.template_text()), ast.parse(rest)
    assert ast.dump(part) == ast.dump(ast.Module(whole.body[1:], []))
    words = [word for word in (ast.get_docstring(whole) or "").split() if word.isalpha()]
    assert len(set(words) - set(explanation.replace("*", " ").split())) <= 2  # the command to grade a file
    assert "zoo grade" not in explanation
    assert explanation.count("\n## ") >= 3


def test_markdown_has_headings_and_keeps_blocks() -> None:
    text = "1. A title     the source\n------------\n\nWrite __init__, <pad> and $x$:\n\n    a __b__ <c> $d\n"
    assert markdown(text) == (
        "## 1. A title\n\n*the source*\n\nWrite `__init__`, &lt;pad> and \\$x\\$:\n\n    a __b__ <c> $d"
    )


def test_start_writes_notebooks_beside_the_files_and_changes_none(tmp_path: Path) -> None:
    name = notebook_name(ALL[1])
    (tmp_path / name).write_text("mine")
    done = start(tmp_path, notebooks=True)
    names = {notebook_name(one) for one in ALL}
    assert names - {name} <= set(done.copied)
    assert done.kept == [name]
    assert (tmp_path / name).read_text() == "mine"
    assert not {one for one in start(tmp_path / "other").copied if one.endswith(".ipynb")}


class Ran:
    """Stands for the commands that a cell runs."""

    def __init__(self, page: str = "") -> None:
        self.commands: list[Prepared] = []
        self.page = page

    def __call__(self, prepared: Prepared) -> list[str]:
        self.commands.append(prepared)
        if "-o" in prepared.args and self.page:
            Path(list(prepared.args)[-1]).write_text(self.page)
        return ["Graded.\n"]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ran:
    monkeypatch.chdir(tmp_path)
    found = Ran()
    monkeypatch.setattr(notebook, "output_of", found)
    monkeypatch.setattr("grader.reports.get_formats", dict)  # no HTML
    return found


class TestCells:
    def test_in_a_learners_folder_the_cell_becomes_the_file(
        self, ran: Ran, capsys: pytest.CaptureFixture[str]
    ) -> None:
        start(Path())
        Cells().grade("feedforward --quick", SOLUTION)
        text = Path("feedforward.py").read_text()
        assert text == f"# %%zoo feedforward --quick\n{SOLUTION}"  # lines are counted as in the cell
        assert ran.commands == [Prepared(["grade", "feedforward.py", "--quick"], None)]
        assert capsys.readouterr().out == "Graded.\n"
        assert not list(Path().glob("*.old*"))  # what was there was the template

    def test_a_file_that_was_changed_elsewhere_is_kept(
        self, ran: Ran, capsys: pytest.CaptureFixture[str]
    ) -> None:
        start(Path())
        cells, file = Cells(), Path("feedforward.py")
        cells.grade("feedforward", "one")
        Cells().grade("feedforward", "two")  # another kernel
        assert not list(Path().glob("*.old*"))
        file.write_text("edited")
        capsys.readouterr()
        cells.grade("feedforward", "three")
        assert Path("feedforward.old.py").read_text() == "edited"
        assert "It is kept as feedforward.old.py." in capsys.readouterr().out
        assert file.read_text().endswith("three")
        entry = Folder(Path()).record().entry("feedforward")
        assert len([part for part in entry.more if part.startswith("cell ")]) == 1

    def test_elsewhere_nothing_is_written_and_hints_go_on(self, ran: Ran, tmp_path: Path) -> None:
        cells = Cells()
        cells.grade("attention", "x = 1")
        (command,) = ran.commands
        assert command.folder is not None
        assert (command.folder / "attention.py").read_text() == "# %%zoo attention\nx = 1"
        assert (command.folder / "progress.txt").is_file()
        assert list(tmp_path.iterdir()) == []
        assert cells.prepare(["hint"]) == Prepared(["hint", "attention.py"], command.folder)
        assert cells.prepare(["trace", "--seed", "1"]) == Prepared(
            ["trace", "attention.py", "--seed", "1"], command.folder
        )
        assert cells.prepare(["solution"]) == Prepared(["solution", "attention"], command.folder)
        assert cells.prepare(["progress"]) == Prepared(["progress"], command.folder)

    def test_a_name_is_the_file_of_the_folder(self, ran: Ran) -> None:
        start(Path("exercises"))
        cells = Cells()
        assert cells.prepare(["trace", "attention"]) == Prepared(["trace", "exercises/attention.py"])
        assert cells.prepare(["hint"]) == Prepared(["hint"])  # nothing was graded here
        assert cells.prepare(["trace", "my.py"]) == Prepared(["trace", "my.py"])

    @pytest.mark.parametrize("line", ["", "--quick", "attenton", "thesis.py"])
    def test_what_names_no_exercise_is_an_error(self, line: str, ran: Ran) -> None:
        with pytest.raises(ZooError, match="exercise"):
            Cells().grade(line, "x = 1")
        assert ran.commands == []

    def test_a_page_is_shown_in_a_frame_and_its_text_where_there_is_none(
        self, ran: Ran, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        display = pytest.importorskip("IPython.display", reason="needs IPython")
        shown: list[dict[str, str]] = []
        monkeypatch.setattr(display, "display", lambda data, raw: shown.append(data))
        monkeypatch.setattr("grader.reports.get_formats", lambda: {"html": None})
        ran.page = "<p>a page</p>"
        Cells().grade("attention --quick", "x = 1")
        assert list(ran.commands[0].args)[:5] == ["grade", "attention.py", "--quick", "--format", "html"]
        assert shown == [{"text/html": frame("<p>a page</p>"), "text/plain": "Graded.\n"}]
        Cells().grade("attention --format json", "x = 1")
        assert list(ran.commands[1].args) == ["grade", "attention.py", "--format", "json"]
        assert len(shown) == 1


def test_a_page_cannot_leave_its_frame() -> None:
    page = '<!doctype html><p title="\'">&amp;</p></iframe><script>alert(1)</script>'
    found: list[tuple[str, dict[str, str | None]]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append((tag, dict(attrs)))

    Reader().feed(frame(page))
    ((tag, attributes),) = found
    assert tag == "iframe"
    assert attributes["srcdoc"] == page
    assert (
        attributes["sandbox"] == "allow-scripts"
    )  # an origin of its own: no cookies, no parent, no form, no window


# Real notebooks.


def executed(folder: Path, cells: list[str]) -> list[str]:
    """Run cells in a kernel of their own; what each shows as text."""
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat")
    pytest.importorskip("ipykernel", reason="needs ipykernel")
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell(text) for text in cells]
    client = nbclient.NotebookClient(
        made, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return [
        "".join(one.get("text") or one.get("data", {}).get("text/plain", "") for one in cell.outputs)
        for cell in made.cells
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel's own libraries
def test_a_real_notebook_from_a_wrong_cell_to_a_solved_exercise(tmp_path: Path) -> None:
    start(tmp_path, notebooks=True)
    wrong = SOLUTION.replace(".relu()", "")
    _, graded, hint, trace, right, progress = executed(
        tmp_path,
        [
            "%load_ext zoo\nimport torch; torch.set_default_dtype(torch.float64)",  # of no concern to a grade
            f"%%zoo feedforward --quick --seed 1\n{wrong}",
            "%zoo hint",
            "%zoo trace --seed 1",
            f"%%zoo feedforward --seed 1\n{SOLUTION}",
            "%zoo progress",
        ],
    )
    assert "activation-missing" in graded
    number = next(n for n, line in enumerate(wrong.splitlines(), start=2) if "hidden =" in line)
    assert f"line {number}" in graded  # as the cell counts
    assert "sandbox " in graded
    assert "FeedForward.forward" in hint
    assert f">{number}" in trace
    assert "passed:" in right
    assert "solved" in next(line for line in progress.splitlines() if "feedforward.py" in line)
    assert (tmp_path / "feedforward.py").read_text().endswith(SOLUTION)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_without_a_folder_and_without_a_strict_sandbox(tmp_path: Path) -> None:
    """As in a hosted notebook: no files of ours, and a kernel that cannot confine more."""
    _, graded, hint = executed(
        tmp_path,
        ["%load_ext zoo", f"%%zoo feedforward --quick --seed 1 --sandbox process\n{SOLUTION}", "%zoo hint"],
    )
    assert "sandbox process" in graded
    assert "hint" in hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_untouched_notebook_runs_to_its_end(tmp_path: Path) -> None:
    start(tmp_path, notebooks=True)
    exercise = get_exercise("masks")
    sources = ["".join(cell["source"]) for cell in cells_of(exercise) if cell["cell_type"] == "code"]
    texts = executed(tmp_path, [one for one in sources if not one.startswith("%run")])
    assert "not written yet" in texts[1] or "NotImplementedError" in texts[1] or "failed" in texts[1]
    assert "masks" in texts[-1]


INTERRUPT = """
import signal, sys, threading
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
from zoo import notebook

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "zoo")
popen = notebook.subprocess.Popen

def start(*args, **options):
    global process
    process = popen(*args, **options)
    threading.Timer(1, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
    return process

notebook.subprocess.Popen = start
result = shell.run_cell("%%zoo masks\\nwhile True: pass\\n")
assert isinstance(result.error_in_exec, KeyboardInterrupt)  # so that no later cell runs
assert process.returncode is not None
notebook.subprocess.Popen = popen
shell.run_cell("%%zoo masks\\n   \\n\\t\\n")
print(Path("masks.py").read_text())
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_an_interrupted_cell_and_an_empty_one_are_a_sentence_each(tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="needs IPython")
    start(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Interrupted." in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "The cell is empty, and masks.py is left as it is" in done.stderr
    assert done.stdout.endswith("# %%zoo masks\nwhile True: pass\n\n")  # the interrupted one


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_cells_that_cannot_be_read_or_never_end(tmp_path: Path) -> None:
    _, broken, hanging, unknown, after = executed(
        tmp_path,
        [
            "%load_ext zoo",
            "%%zoo masks --quick\ndef padding_mask(:\n    pass",
            "%%zoo masks --quick\nwhile True: pass",
            "%%zoo maskz\nx = 1",
            "'still here'",
        ],
    )
    assert "line 2" in broken
    assert "Python cannot read the file" in broken
    assert "Your code took too long and was stopped" in " ".join(hanging.split())
    assert "Did you mean masks?" in unknown
    assert "still here" in after
