"""`%load_ext zoo`: what it registers, what `%zoo` prints, and that it is cheap."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

import zoo
from zoo.core.errors import ZooError
from zoo.notebook import Magics, Prepared, output_of


class Shell:
    """As much of IPython's shell as is needed."""

    def __init__(self) -> None:
        self.magics_manager = SimpleNamespace(magics={"line": {}, "cell": {}})

    def register_magic_function(self, function: Callable[..., None], kind: str, name: str) -> None:
        self.magics_manager.magics[kind][name] = function


def test_loading_adds_two_magics_and_unloading_removes_them() -> None:
    shell = Shell()
    zoo.load_ipython_extension(shell)
    found = shell.magics_manager.magics
    assert [list(found[kind]) for kind in ("line", "cell")] == [["zoo"], ["zoo"]]
    assert found["cell"]["zoo"].__self__.cell is not None  # the grader takes cells
    zoo.unload_ipython_extension(shell)
    assert found == {"line": {}, "cell": {}}


def test_a_line_is_a_command_of_its_own_process(capfd: pytest.CaptureFixture[str]) -> None:
    Magics().run_line("list head --like 'log*'")
    out = capfd.readouterr().out
    assert out.startswith("head: ")
    assert "log-softmax" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("watch attention.py", "Error: `zoo watch`: It needs a terminal. In a notebook, run the cell again."),
        ("list 'head", "Error: %zoo list 'head: No closing quotation. Close the quotes."),
    ],
)
def test_what_does_not_work_here_is_a_sentence(
    line: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Magics().run_line(line)
    assert capsys.readouterr() == ("", f"{reason}\n")


def test_a_cell_without_a_grader_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    Magics().run_cell("attention", "x = 1")
    assert "no plugin grades cells" in capsys.readouterr().err


def test_a_plugin_completes_the_arguments_of_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[Prepared] = []
    monkeypatch.setattr("zoo.notebook.output_of", lambda prepared: iter([run.append(prepared) or ""]))
    magics = Magics(prepare={"hint": lambda args: Prepared([*args, "attention"])})
    magics.run_line("hint")
    magics.run_line("list")
    assert [list(one.args) for one in run] == [["hint", "attention"], ["list"]]


def test_ctrl_c_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "zoo.notebook.START",
        "import time\nprint('begun', flush=True)\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('ended')",
    )
    started: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def start(*args: object, **options: object) -> subprocess.Popen[str]:
        started.append(popen(*args, **options))  # type: ignore[call-overload]
        return started[-1]

    monkeypatch.setattr("zoo.notebook.subprocess.Popen", start)
    lines = output_of(Prepared([]))
    assert next(lines) == "begun\n"
    with pytest.raises(KeyboardInterrupt):
        lines.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert started[0].returncode is not None


def test_a_file_of_the_current_folder_is_not_taken_for_a_library(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("click.py", "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write("raise SystemExit('mine')")
    assert "".join(output_of(Prepared(["--version"]))).startswith("zoo ")


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, zoo; zoo.load_ipython_extension; assert 'zoo.notebook' not in sys.modules\n"
        "import zoo.notebook, grader.notebook\n"
        "assert not {'torch', 'IPython', 'jinja2', 'matplotlib', 'click'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_error_of_the_grader_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(_line: str, _cell: str) -> None:
        raise ZooError("no such exercise")

    Magics(cell=broken).run_cell("x", "y")
    assert capsys.readouterr().err == "Error: no such exercise\n"
