"""The parts of the worker that need no process of their own."""

from __future__ import annotations

import ast
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from grader.worker import calls, failures, source, startup, values
from grader.worker.confinement.limits import MAX_DESCRIPTORS

FOLDER = Path(startup.__file__).parent


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
def test_it_imports_torch_and_the_standard_library_only(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            roots = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            roots = {(node.module or "").partition(".")[0]}
        else:
            continue
        assert roots <= {"torch", *sys.stdlib_module_names}


def raised(code: str) -> BaseException:
    try:
        source.load(code.encode(), "part.py")
    except BaseException as error:  # noqa: BLE001 - whatever the code raises
        return error
    raise AssertionError("nothing was raised")


def test_the_deepest_line_of_the_submission_is_told() -> None:
    code = "import json\n\ndef f(x):\n    return json.loads(x)  # here\n\nf('[')\n"
    found = failures.describe(raised(code), "part.py")
    assert (found.kind, found.type_name) == ("exception", "JSONDecodeError")
    assert (found.line, found.source_line) == (4, "return json.loads(x)  # here")


@pytest.mark.filterwarnings("ignore:.torch.jit")
def test_the_line_that_a_compiler_speaks_of_is_told() -> None:
    code = "import torch\n\n@torch.jit.script\ndef f(x):\n    y = x\n    return x.triu([y])  # here\n"
    found = failures.describe(raised(code), "part.py")
    assert (found.line, found.source_line) == (6, "return x.triu([y])  # here")


@pytest.mark.parametrize(
    "code",
    [
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
        "class E(Exception):\n    def __str__(self): return 3\nraise E",
        "raise Exception('x' * 10_000)",
    ],
)
def test_an_exception_without_usable_words_is_told_all_the_same(code: str) -> None:
    found = failures.describe(raised(code), "part.py")
    assert found.kind == "exception"
    assert 0 < len(found.message) <= failures.MAX_MESSAGE


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("raise NotImplementedError('to do')", "not_written"),
        ("from torch import nn\nnn.Module()(1)", "exception"),
        ("import torch\nraise torch.OutOfMemoryError('CUDA out of memory')", "limit"),
        ("raise OSError(27, 'File too large')", "limit"),
        ("raise OSError(2, 'No such file')", "exception"),
    ],
)
def test_kinds_are_told_apart(code: str, kind: str) -> None:
    assert failures.describe(raised(code), "part.py").kind == kind


def test_syntax_is_shown_with_a_caret_under_the_place() -> None:
    error = raised("def f():\n        return (1 +* 2)\n")
    assert isinstance(error, source.NotPythonError)
    found = failures.describe_syntax(error.__cause__ or error, "part.py")
    first, code, caret = found.message.splitlines()
    assert first.startswith("part.py, line 2: ")
    assert code[caret.index("^")] == "*"
    assert (found.line, found.source_line) == (2, "return (1 +* 2)")


@pytest.mark.parametrize("text", [b"\xff\xfe", b"x = 1\0", b"(" * 5_000])
def test_what_does_not_compile_is_no_python(text: bytes) -> None:
    with pytest.raises(source.NotPythonError) as caught:
        source.load(text, "part.py")
    assert failures.describe_syntax(caught.value.__cause__ or caught.value, "part.py").kind == "syntax"


def test_an_encoding_declared_in_the_file_is_honoured() -> None:
    assert source.load(b"# coding: latin-1\nx = '\xe9'", "part.py").x == "é"


def test_tensors_are_compared_bit_by_bit() -> None:
    x = torch.tensor([float("nan"), 1.0])
    assert calls.same_content(x, x.clone())
    assert not calls.same_content(x, torch.tensor([float("nan"), 2.0]))
    assert not calls.same_content(x, x.double())
    assert not calls.same_content(x, x[:1])
    assert calls.same_content(torch.tensor(True), torch.tensor(True))


def test_a_tensor_given_twice_has_its_whole_gradient_at_both_places() -> None:
    x = torch.ones(2)
    answer = calls.call(lambda a, b: 2 * a + 3 * b, [x, x], {}, [0, 1])
    assert answer.graph is not None
    inputs, parameters = calls.backward(answer.graph, [torch.ones(2)], None)
    assert parameters == {}
    for position in (0, 1):
        gradient = inputs[position]
        assert gradient is not None
        assert gradient.tolist() == [5.0, 5.0]


def test_the_first_backward_pass_does_not_import_sympy() -> None:
    code = (
        "import sys, torch; from grader.worker import calls\n"
        "a = calls.call(lambda x: x * 2, [torch.ones(2)], {}, [0]); calls.backward(a.graph, [torch.ones(2)], None)\n"
        "sys.exit('sympy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_parameters_and_buffers_are_listed_as_torch_lists_them() -> None:
    inner, shared = nn.Linear(2, 2), nn.Parameter(torch.ones(2))
    module = nn.Sequential(inner, nn.BatchNorm1d(2), nn.Sequential(inner, nn.Linear(2, 2, bias=False)))
    for part in (module, inner):
        part.register_parameter("shared", shared)
    module.register_module("none", None)
    named = dict(module.named_parameters())
    repeated = dict(module.named_parameters(remove_duplicate=False))
    assert len(repeated) > len(named)
    for ours, theirs in (
        (calls.state(module, "_parameters"), named),
        (calls.state(module, "_parameters", repeat=True), repeated),
        (calls.state(module, "_buffers"), dict(module.named_buffers())),
    ):
        assert list(ours) == list(theirs)
        assert all(ours[name] is theirs[name] for name in theirs)


def test_a_sparse_gradient_becomes_dense() -> None:
    module = nn.Embedding(3, 2, sparse=True)
    answer = calls.call(module, [torch.tensor([1])], {})
    assert answer.graph is not None
    _, parameters = calls.backward(answer.graph, [torch.ones(1, 2)], module)
    weight = parameters["weight"]
    assert weight is not None
    assert weight.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_a_parameter_that_is_no_plain_tensor_is_told() -> None:
    with pytest.raises(failures.FailureError, match="UninitializedParameter"):
        dict(calls.dense(nn.LazyLinear(2).named_parameters()))


def test_a_value_with_itself_inside_ends() -> None:
    inner: list[object] = []
    inner.append(inner)
    value, depth = values.plain(inner), 0
    while isinstance(value, list):
        value, depth = value[0], depth + 1
    assert (depth, type(value)) == (values.MAX_DEPTH, values.Opaque)


def test_the_environment_keeps_what_cuda_needs_on_cuda_only() -> None:
    assert not startup.environment_keeps("CUDA_VISIBLE_DEVICES", "cpu")
    assert startup.environment_keeps("CUDA_VISIBLE_DEVICES", "cuda")
    assert not startup.environment_keeps("HOME", "cuda")
    assert startup.environment_keeps("OMP_NUM_THREADS", "cpu")


@pytest.mark.parametrize(("allowed", "limit"), [(32, 32), (200, MAX_DESCRIPTORS)])
def test_limits_are_set_and_do_not_exceed_what_is_allowed(allowed: int, limit: int) -> None:
    code = (
        "import resource as r\nfrom grader.worker.startup import Settings, confine\n"
        f"r.setrlimit(r.RLIMIT_NOFILE, ({allowed}, {allowed}))\n"
        "confine(Settings(0, 1, 0, 'cpu', 50, 2**33, 2**20, [], 'process', '/'))\n"
        "print([r.getrlimit(x) for x in (r.RLIMIT_CPU, r.RLIMIT_FSIZE, r.RLIMIT_CORE, r.RLIMIT_NOFILE, r.RLIMIT_AS)])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=600)
    seen = ast.literal_eval(done.stdout.decode())
    assert seen[:4] == [(50, 51), (2**20, 2**20), (0, 0), (limit, limit)]
    if (
        sys.platform.startswith("linux")
        and resource.getrlimit(resource.RLIMIT_AS)[1] == resource.RLIM_INFINITY
    ):
        assert seen[4] == (2**33, 2**33)


def test_descriptors_are_closed_but_those_to_keep() -> None:
    code = (
        "import os\nfrom grader.worker.startup import _close_all_but\n"
        "kept, lost = os.pipe()\n_close_all_but({0, 1, 2, kept})\nos.fstat(kept)\n"
        "try: os.fstat(lost)\nexcept OSError: print('closed')"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=600)
    assert done.stdout == b"closed\n", os.fsdecode(done.stderr)
