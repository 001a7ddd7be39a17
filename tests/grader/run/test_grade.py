"""`zoo grade`: the command line, and whole grades of small files in a real worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from grader.cli.grade import grade
from grader.sandbox.process import Limits
from grader.sandbox.sandbox import Sandbox
from tests import ROOT, solution_file

pytestmark = pytest.mark.usefixtures("commands_share_a_sandbox")
TEMPLATE = ROOT / "exercises" / "attention.py"
SOLUTION = solution_file("attention")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(grade, [str(one) for one in arguments], catch_exceptions=False)


def as_json(*arguments: object) -> tuple[int, Any]:
    result = run(*arguments, "--format=json")
    return result.exit_code, json.loads(result.stdout)


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Write a submission; gives its path."""

    def write(text: str | bytes) -> Path:
        file = tmp_path / "attention.py"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    return write


# Wrong usage: exit code 2, and a sentence.


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere/attention.py",), "No such file: 'nowhere/attention.py'"),
        ((ROOT / "exercises",), "is a directory; expected a Python file"),
        ((ROOT / "pyproject.toml",), "Cannot infer the exercise from the name of"),
        ((TEMPLATE, "--exercise", "atention"), "Did you mean attention"),
        ((TEMPLATE, "--only", "maskng"), "Did you mean masking"),
        ((TEMPLATE, "--only", ","), "expected one or more of shape, masking"),
        ((TEMPLATE, "--skip", "shape,sahpe"), "Did you mean shape"),
        ((TEMPLATE, "--only", "training", "--quick"), "exclude all tests"),
        ((TEMPLATE, "--format", "jsno"), "Did you mean json"),
        ((TEMPLATE, "--seed", "-1"), "not in the range"),
        ((TEMPLATE, "--device", "tpu"), "'auto', 'cpu', 'cuda'"),
    ],
)
def test_wrong_usage(arguments: tuple[object, ...], sentence: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in " ".join(result.stderr.split())


def test_something_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "attention.py")
    result = run(tmp_path / "attention.py")
    assert result.exit_code == 2
    assert "not a regular file" in result.stderr


def test_a_directory_with_the_name_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "loss.py").mkdir()
    result = run(tmp_path / "loss.py")
    assert result.exit_code == 2
    assert " ".join(result.stderr.split()).endswith("expected a Python file.")


@pytest.mark.parametrize("name", ["homework1.py", "a/b/attention.py", "."])
def test_wrong_usage_fits_80_columns(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "homework1.py").touch()
    result = run(name)
    assert result.exit_code == 2
    assert max(map(len, result.stderr.splitlines())) <= 80


def test_nothing_is_graded_if_one_of_several_files_is_missing() -> None:
    result = run(TEMPLATE, "nowhere/attention.py")
    assert (result.exit_code, result.stdout) == (2, "")


def test_cuda_asked_for_and_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    result = run(TEMPLATE, "--device", "cuda")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "CUDA" in result.stderr


# Whole grades.


def test_the_template_scores_nothing_and_each_stub_is_named() -> None:
    result = run(TEMPLATE)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"Graded {TEMPLATE}")
    for stub in ("scaled_dot_product_attention", "MultiHeadAttention.__init__", "MultiHeadAttention.forward"):
        assert f", {stub}:" in result.stdout
    code, found = as_json(TEMPLATE, "--seed", 3)
    assert (code, found["points"], found["passed"], found["seed"]) == (1, 0, False, 3)
    assert [test["status"] for test in found["tests"]].count("failed") == 2
    assert {test["status"] for test in found["tests"]} == {"failed", "skipped"}


def test_the_solution_gets_all_points_without_training() -> None:
    code, found = as_json(SOLUTION, "--quick")
    assert (code, found["passed"], found["points"]) == (0, True, found["max_points"])
    assert "training" not in {test["category"] for test in found["tests"]}
    assert found["mistakes"] == []
    assert found["component"] == "scaled_dot_product_attention, MultiHeadAttention"


@pytest.mark.slow
def test_the_solution_gets_all_points() -> None:
    code, found = as_json(SOLUTION)
    assert (code, found["passed"], found["points"]) == (0, True, found["max_points"])
    assert found["tests"][-1]["category"] == "training"


def test_only_and_skip() -> None:
    code, found = as_json(SOLUTION, "--only", "shape, masking", "--skip", "masking")
    assert code == 0
    assert {test["category"] for test in found["tests"]} == {"shape"}


@pytest.mark.parametrize("option", ["--no-library-attention", "--strict"])
def test_library_attention_is_rejected_on_request_also_by_the_old_option(written: Any, option: str) -> None:
    file = written("import torch.nn.functional as F\nf = F.scaled_dot_product_attention\n")
    code, found = as_json(file, option, "--quick")
    assert (code, found["points"]) == (1, 0)
    assert "--no-library-attention" in found["tests"][0]["message"]
    assert "line 2: F.scaled_dot_product_attention" in found["tests"][0]["message"]


def test_another_file_name_and_several_files(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_bytes(SOLUTION.read_bytes())
    code, found = as_json(mine, TEMPLATE, "--exercise", "attention", "--only", "shape")
    assert code == 1
    assert [(one["file"], one["passed"]) for one in found] == [(str(mine), True), (str(TEMPLATE), False)]


LOADING = {
    "not Python": (b"\x7fELF\x00\x01\xff", "Python cannot read the file"),
    "syntax error": ("import torch\ndef f(:\n", "line 2"),
    "failing import": ("import no_such_module_at_all\n", "no_such_module_at_all"),
    "raises": ("x = 1\ny = 1 / 0\n", "ZeroDivisionError"),
    "sys.exit": ("import sys\nsys.exit(0)\n", "SystemExit"),
    "os._exit": ("import os\nos._exit(0)\n", "ended"),
    "a test of its own": (
        SOLUTION.read_text(encoding="utf-8").replace("return weights @", "return 0 * weights @")
        + "\none = torch.ones(1, 1)\nassert scaled_dot_product_attention(one, one, one)[0] == one, 'it is 0'\n",
        "it is 0",
    ),
    "imports the solution": ("from grader.exercises.attention.solution import *\n", "grader"),
}


def graded_together(folder: Path, texts: dict[str, str | bytes], exercise: str) -> dict[str, Any]:
    """The grades of several files in one run, which must exit with 1."""
    files = []
    for number, text in enumerate(texts.values()):
        files.append(folder / str(number) / f"{exercise}.py")
        files[-1].parent.mkdir()
        files[-1].write_bytes(text.encode() if isinstance(text, str) else text)
    code, found = as_json(*files, "--quick")
    assert code == 1
    return dict(zip(texts, found, strict=True))


def test_a_file_that_cannot_be_loaded_is_a_failed_grade(tmp_path: Path) -> None:
    found = graded_together(tmp_path, {name: text for name, (text, _) in LOADING.items()}, "attention")
    where = found["a test of its own"]["tests"][0]["where"]
    assert "return 0 * weights @ value" in where["source"]
    for name, (_, said) in LOADING.items():
        first, *rest = found[name]["tests"]
        assert (found[name]["passed"], found[name]["points"]) == (False, 0), name
        assert (first["name"], first["status"]) == ("load", "failed"), name
        assert said in first["message"], name
        assert {test["status"] for test in rest} == {"skipped"}, name


def test_a_file_of_another_size_than_honest(written: Any) -> None:
    code, found = as_json(written(b"#" * (1 << 21)), "--quick")
    assert code == 1
    assert "expected at most 1 MB" in found["tests"][0]["message"]


RUNNING = {
    "nothing in it": ("", "padding_mask"),
    "os._exit in the function": ("import os\n{function}    os._exit(3)\n", "ended"),
    "sys.exit in the function": ("import sys\n{function}    sys.exit()\n", "SystemExit"),
    "None": ("{function}    return None\n", "None"),
    "a string": ("{function}    return 'a mask'\n", "str"),
}
FUNCTION = "def padding_mask(tokens, pad=0):\n"


def test_code_that_misbehaves_is_a_failed_grade(tmp_path: Path) -> None:
    texts = {name: text.format(function=FUNCTION) for name, (text, _) in RUNNING.items()}
    for name, found in graded_together(tmp_path, texts, "masks").items():
        said = RUNNING[name][1]
        assert any(said in test["message"] for test in found["tests"] if test["status"] == "failed"), name
        assert all(test["status"] != "error" for test in found["tests"]), name


STOPPED = {
    "endless loop at import": ("while True: pass\n", "too long"),
    "endless loop in the function": ("{function}    while True: pass\n", "too long"),
    "100 MB of output": ("for _ in range(100): print('x' * 2**20)\n", "limit"),
    "100 GB of memory": ("import torch\n{function}    return torch.zeros(25 * 2**30), 1\n", "limit"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "said"), STOPPED.values(), ids=list(STOPPED))
def test_code_that_has_to_be_stopped_is_a_failed_grade(
    written: Any, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    worker = Sandbox.worker
    monkeypatch.setattr(
        Sandbox, "worker", lambda box, device, _=None: worker(box, device, Limits(request_s=2))
    )
    function = "def scaled_dot_product_attention(query, key, value, mask=None):\n"
    code, found = as_json(written(text.format(function=function)), "--quick")
    assert code == 1
    assert said in next(test["message"] for test in found["tests"] if test["status"] == "failed")
    assert all(test["status"] != "error" for test in found["tests"])


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_behind(written: Any, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    file = written("import os\nopen('started', 'w').write(str(os.getpid()))\nwhile True: pass\n")
    # Where tests run in the background, SIGINT may come ignored, and Python then leaves it so.
    hear = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{hear}; from grader.cli.grade import grade; grade()"
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", code, file]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as judge:
        while not (started := [text for one in temporary.glob("zoo-*/started") if (text := one.read_text())]):
            assert judge.poll() is None
            time.sleep(0.1)
        judge.send_signal(signal.SIGINT)
        _, said = judge.communicate()
    assert (judge.returncode, "Interrupted" in said) == (130, True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started[0]), 0)
    assert list(temporary.iterdir()) == []
