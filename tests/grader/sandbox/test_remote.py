"""Submissions in a worker, honest and hostile: always an answer that was checked, or a SubmissionError."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.core.submission import Opaque, SubmissionError
from grader.engine.local import LocalSubmission
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.link import _uses
from grader.sandbox.process import Limits, Worker
from grader.sandbox.remote import MOST_NUMBERS, RemoteSubmission
from grader.worker.library_names import FORBIDDEN
from grader.worker.operations import MAX_GRAPHS
from tests import solution_file

SOLUTION = solution_file("attention")


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """What the workers are forked from that a submission ends."""
    own = ForkServer()
    yield own
    own.close()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One worker for all submissions that leave it alive."""
    with Worker(limits=Limits(request_s=60)) as shared:
        yield shared
        assert shared.alive


def load(worker: Worker, source: str) -> RemoteSubmission:
    return RemoteSubmission(worker, source.encode(), "part.py")


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_uses_that_a_worker_makes_up_are_left_out(said: object) -> None:
    assert _uses(said) == set()
    honest = (3, next(iter(FORBIDDEN)))
    assert honest in _uses([said, [1, said], [said, honest[1]], list(honest)])


def test_the_solution_answers_as_it_does_in_this_process(worker: Worker) -> None:
    source = SOLUTION.read_text()
    remote, local = load(worker, source), LocalSubmission.from_source(source)
    x, y = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    mask = torch.rand(2, 1, 3, 5) > 0.3
    values = {n: p.value for n, p in local.construct("MultiHeadAttention", (8, 2)).parameters().items()}
    seen = []
    for submission in (local, remote):
        instance = submission.construct("MultiHeadAttention", (8,), {"num_heads": 2})
        instance.load(values)
        assert {n: p.requires_grad for n, p in instance.parameters().items()} == dict.fromkeys(values, True)
        outcome = instance.call([x, y, y], {"mask": mask}, grad=[0, 1, 2])
        assert (outcome.changed, outcome.devices) == ((), ("cpu",))
        seen.append((outcome.value, instance.backward(outcome, [torch.ones(2, 3, 8)])))
        instance.close()
    (output, ours), (other, theirs) = seen
    torch.testing.assert_close(output, other)
    torch.testing.assert_close(ours.inputs, theirs.inputs)
    torch.testing.assert_close(ours.parameters, theirs.parameters)
    assert torch.equal(theirs.inputs[1], theirs.inputs[2])


HABITS = """
import builtins, json, os, torch, warnings
from collections import namedtuple
warnings.simplefilter("error")
json.loads = json.dumps = os.readv = os.writev = torch.equal = torch.frombuffer = None
torch.Tensor.__repr__ = lambda self: "tensor"
print("hello")
Pair = namedtuple("Pair", "output weights")

def pair(x): return Pair(x * 2, [x, None, {"n": 1.5, 2: True}])
def same(a, b, c): return a is b, b is c
def change(x, *, mask): mask.logical_not_(); x.data.add_(1); return x
def odd(x):
    class Lying(torch.Tensor): pass
    return [x.to_sparse(), x.to("meta"), x.as_subclass(Lying), object(), 2**70, 1j, {3.5: 1}, b"x",
            torch.nn.Parameter(x), x.expand(2, 2), x.t() if x.dim() == 2 else x]
def deep(x): return [x.new_zeros([1] * 16), x.new_zeros([1] * 17), x.new_zeros([1] * 60)]
def huge(x): return torch.zeros(1).expand(2**40)
def long(x): return "x" * 100_000
def many(x): return [0] * 100_000
def cyclic(x):
    a = []; a.append(a); return a
def detached(x): return x.detach()
def draw(): return torch.rand(3)
"""


def test_a_submission_with_habits_does_not_break_its_worker(server: ForkServer) -> None:
    """It turns warnings into errors, and replaces functions that the worker uses too."""
    with Worker(server=server) as own:
        submission = load(own, HABITS)
        x = torch.tensor([1.0, 2.0])
        value = submission.function("pair").call([x], grad=[0]).value
        assert (type(value), value[0].tolist(), value[1][2]) == (tuple, [2.0, 4.0], {"n": 1.5, 2: True})
        assert value[0].dtype == torch.float32
        assert submission.function("same").call([x, x, x.clone()], grad=[0]).value == (True, False)
        changed = submission.function("change").call([x], {"mask": torch.tensor([True])}, grad=[0])
        assert set(changed.changed) == {0, "mask"}
        assert x.tolist() == [1.0, 2.0]
        odd = submission.function("odd").call([x]).value
        assert [value.type_name for value in odd[:3]] == [
            "sparse tensor", "meta tensor, which has no values", "Lying, a subclass of Tensor",
        ]  # fmt: skip
        assert odd[3:8] == [
            Opaque("object"),
            Opaque("int beyond 64 bits"),
            Opaque("complex"),
            {"<float>": 1},
            Opaque("bytes"),
        ]
        assert [value.tolist() for value in odd[8:]] == [[1.0, 2.0], [[1.0, 2.0]] * 2, [1.0, 2.0]]
        deep = submission.function("deep").call([x]).value
        assert deep[0].dim() == 16
        assert deep[1:] == [Opaque(f"tensor of {n} dimensions, where 16 are the most") for n in (17, 60)]
        for name, words in (("huge", "MB of tensors"), ("long", "header"), ("many", "parts")):
            with pytest.raises(SubmissionError, match=words) as caught:
                submission.function(name).call([x])
            assert (caught.value.kind, caught.value.fatal) == ("protocol", False)
        assert "nested too deeply" in repr(submission.function("cyclic").call([x]).value)
        assert submission.function("detached").call([x], grad=[0]).handle is None
        draws = []
        for _ in range(2):
            submission.seed(3)
            draws.append(submission.function("draw").call([]).value)
        assert torch.equal(*draws)
        assert submission.output() == b"hello\n"


@pytest.mark.parametrize(
    ("body", "kind", "type_name", "message"),
    [
        ("raise NotImplementedError('part: to do')", "not_written", "NotImplementedError", "part: to do"),
        ("import sys; sys.exit('bye')", "exception", "SystemExit", "bye"),
        ("raise KeyboardInterrupt", "exception", "KeyboardInterrupt", "^$"),
        ("f(x)", "exception", "RecursionError", "recursion"),
        ("x @ x.t() @ x.t()", "exception", "RuntimeError", "mat1 and mat2"),
        ("bytearray(100 * 2**30)", "limit", "", "more memory"),
        ("torch.empty(100 * 2**30)", "limit", "", "more memory"),
    ],
)
def test_what_it_raises_is_told_with_its_line(
    worker: Worker, body: str, kind: str, type_name: str, message: str
) -> None:
    function = load(worker, f"import torch\ndef f(x):\n    {body}\n").function("f")
    with pytest.raises(SubmissionError, match=message) as caught:
        function.call([torch.ones(2, 3)])
    error = caught.value
    assert (error.kind, error.type_name, error.line, error.fatal) == (kind, type_name, 3, False)
    assert error.source_line == body
    assert len(error.message) <= 2_000


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("x = = 1", "syntax", r"part\.py, line 1: "),
        ("import sys; sys.exit(0)", "exception", "0"),
        ("import nothing_of_that_name", "exception", "No module named"),
        ("import os; os._exit(0)", "died", "ended itself with exit code 0"),
        ("import os; os.kill(os.getpid(), 11)", "died", "signal 11"),
        ("import os; os.closerange(0, 99)\nwhile True: pass", "died", "ended by signal 9"),
    ],
)
def test_what_cannot_be_imported_ends_its_worker(
    server: ForkServer, source: str, kind: str, message: str
) -> None:
    own = Worker(server=server)
    with pytest.raises(SubmissionError, match=message) as caught:
        load(own, source)
    assert caught.value.kind == kind
    assert not own.alive


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\\xff" * 64, "claims"),
        (b"\\x02\\0\\0\\0\\0\\0\\0\\0{}", "another request"),
        (b'\\x07\\0\\0\\0\\0\\0\\0\\0{"n":1}', "another request"),  # the answer to an earlier one
    ],
)
def test_a_forged_answer_ends_its_worker(server: ForkServer, raw: bytes, message: str) -> None:
    source = (
        "import os, sys\ndef f():\n"
        "    for n in range(3, 99):\n"
        "        try: os.write(n, b'" + raw.decode() + "')\n"
        "        except OSError: pass\n"
    )
    submission = load(Worker(server=server), source)
    with pytest.raises(SubmissionError, match=message) as caught:
        submission.function("f").call([])
    assert (caught.value.kind, caught.value.fatal) == ("protocol", True)


def one_for_all(answer: dict[str, Any]) -> None:
    answer["instance"] = True


def transposed(answer: dict[str, Any]) -> None:
    for entry in answer["tensors"]:
        entry[1] = entry[1][::-1]


@pytest.mark.parametrize(
    ("to", "change", "message"),
    [
        ("construct", one_for_all, "not a whole number"),
        ("call", lambda answer: answer.update(changed=[0.0]), "what was not given is changed"),
        ("backward", transposed, r"a gradient of shape \[3, 2\], expected \[2, 3\]"),
    ],
)
def test_an_answer_that_does_not_fit_its_request_ends_its_worker(
    monkeypatch: pytest.MonkeyPatch,
    server: ForkServer,
    to: str,
    change: Callable[[dict[str, Any]], None],
    message: str,
) -> None:
    own = Worker(server=server)
    submission, request = load(own, MODULE.replace("torch.ones(2)", "torch.ones(3)")), own.request

    def changed(header: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        answer, body = request(header, *args, **kwargs)
        if header["op"] == to:
            change(answer)
        return answer, body

    monkeypatch.setattr(own, "request", changed)

    def converse() -> None:
        part, x = submission.construct("Part", []), torch.ones(2, 3)
        part.backward(part.call([x], grad=[0]), [x])

    with pytest.raises(SubmissionError, match=message) as caught:
        converse()
    assert (caught.value.kind, own.alive) == ("protocol", False)


def test_a_result_of_millions_of_numbers_is_a_limit(worker: Worker) -> None:
    function = load(worker, "import torch\ndef f(n):\n    return torch.zeros(n, dtype=torch.int8)").function(
        "f"
    )
    assert function.call([MOST_NUMBERS]).value.numel() == MOST_NUMBERS
    with pytest.raises(SubmissionError, match="returned 2,000,001 numbers") as caught:
        function.call([MOST_NUMBERS + 1])
    assert caught.value.kind == "limit"


def test_100_mb_of_output_is_a_limit(server: ForkServer) -> None:
    with Worker(server=server) as own:
        function = load(own, "def f():\n    for _ in range(100):\n        print('x' * 2**20)").function("f")
        with pytest.raises(SubmissionError, match="printed more than 16 MB") as caught:
            function.call([])
        assert (caught.value.kind, caught.value.line) == ("limit", 3)
        assert own.output() == b"x" * 2**16


def test_what_is_missing_or_no_module(worker: Worker) -> None:
    submission = load(
        worker, "number = 3\nclass Plain:\n    pass\nclass Picky:\n    def __init__(self, a): pass"
    )
    assert not submission.has("number")
    assert submission.has("Plain")
    for name, message in (
        ("number", "neither"),
        ("other", "There is no"),
        ("Plain", "nn.Module"),
        ("Picky", "missing 1"),
    ):
        with pytest.raises(SubmissionError, match=message):
            submission.construct(name, [])
    with pytest.raises(SubmissionError, match="There is no 'other'"):
        submission.function("other")


MODULE = """
from torch import nn
import torch
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2)); self.wide = nn.Parameter(torch.ones(1, dtype=torch.float64))
        self.frozen = nn.Parameter(torch.ones(()), requires_grad=False); self.unused = nn.Parameter(torch.ones(3))
        self.register_buffer("seen", torch.zeros(1))
    def forward(self, x):
        self.seen += 1
        return x * self.w * self.wide.float() * (2 if self.training else 1)
"""


def test_an_instance_has_parameters_buffers_and_a_mode(worker: Worker) -> None:
    part = load(worker, MODULE).construct("Part", [])
    infos = part.parameters()
    assert {n: (tuple(i.value.shape), i.value.dtype, i.requires_grad) for n, i in infos.items()} == {
        "w": ((2,), torch.float32, True),
        "wide": ((1,), torch.float64, True),
        "frozen": ((), torch.float32, False),
        "unused": ((3,), torch.float32, True),
    }
    part.load({"w": torch.tensor([1.0, 3.0]), "wide": torch.tensor([2.0], dtype=torch.float64)})
    with pytest.raises(SubmissionError, match=r"expected \[2\], got \[3\]"):
        part.load({"w": torch.ones(3)})
    part.train(False)
    x = torch.ones(2)
    outcome = part.call([x])
    assert outcome.value.tolist() == [2.0, 6.0]
    gradients = part.backward(outcome, [x])
    assert gradients.inputs == {}
    assert gradients.parameters["w"].tolist() == [2.0, 2.0]
    assert gradients.parameters["unused"] is gradients.parameters["frozen"] is None
    with pytest.raises(ValueError, match="used or released"):
        part.backward(outcome, [x])
    part.train(True)
    assert part.call([x]).value.tolist() == [4.0, 12.0]
    assert part.buffers()["seen"].value.item() == 2
    part.to(torch.float64)
    assert part.call([x.double()]).value.dtype == torch.float64


ALIAS = """
import torch

class Alias(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        result = x * self.w
        self.w.data = result.detach()
        return result
"""


def test_a_parameter_that_gets_another_shape_is_a_failure_of_that_call(worker: Worker) -> None:
    part, x = load(worker, ALIAS).construct("Alias", []), torch.ones(3, 2)
    part.parameters()
    with pytest.raises(SubmissionError, match=r"the parameter 'w' from \[2\] to \[3, 2\]") as caught:
        part.backward(part.call([x], grad=[0]), [x])
    assert (caught.value.kind, caught.value.fatal) == ("protocol", False)
    assert part.call([x]).value.tolist() == x.tolist()


def test_graphs_that_nobody_asks_for_are_dropped(worker: Worker) -> None:
    submission = load(
        worker,
        "import gc, torch\nlive = []\nclass Node(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x): ctx.kept = Kept(); return x.clone()\n"
        "    @staticmethod\n    def backward(ctx, g): return g\n"
        "class Kept:\n    count = 0\n"
        "    def __init__(self): Kept.count += 1\n"
        "    def __del__(self): Kept.count -= 1\n"
        "def f(x): return Node.apply(x)\ndef count(): gc.collect(); return Kept.count\n",
    )
    function, count = submission.function("f"), submission.function("count")
    x = torch.ones(1)
    kept = function.call([x], grad=[0])
    released = function.call([x], grad=[0])
    for _ in range(3):
        function.call([x], grad=[0])
    function.release(released)
    function.release(released)
    assert count.call([]).value == 1
    assert function.backward(kept, [x]).inputs[0].tolist() == [1.0]
    assert count.call([]).value == 0


def test_no_more_graphs_are_kept_than_a_training_needs(worker: Worker) -> None:
    function, x = load(worker, "def f(x): return x * 2").function("f"), torch.ones(1)
    outcomes = [function.call([x], grad=[0]) for _ in range(MAX_GRAPHS + 1)]
    with pytest.raises(SubmissionError, match="too many calls wait for their backward pass"):
        function.backward(outcomes[0], [x])
    assert function.backward(outcomes[1], [x]).inputs[0].tolist() == [2.0]


def test_code_that_takes_long_is_stopped_in_its_call(server: ForkServer) -> None:
    own = Worker(limits=Limits(request_s=1.0), server=server)
    function = load(own, "import time\ndef f(x):\n    time.sleep(99)").function("f")
    began = time.monotonic()
    with pytest.raises(SubmissionError, match="no answer within 1 s \\(calling f\\)") as caught:
        function.call([1])
    assert caught.value.kind == "timeout"
    assert (caught.value.line, caught.value.source_line) == (3, "time.sleep(99)")
    assert time.monotonic() - began < 60


@pytest.mark.gpu
def test_on_cuda_the_device_of_each_result_is_told() -> None:
    with Worker("cuda", Limits(request_s=120)) as own:
        submission = load(own, "def f(x): return x * 2, x.cpu(), x.device.type")
        outcome = submission.function("f").call([torch.ones(2)], grad=[0])
        assert outcome.devices == ("cuda", "cpu")
        assert [str(x.device) for x in outcome.value[:2]] == ["cpu", "cpu"]
        assert outcome.value[2] == "cuda"
        gradients = submission.function("f").backward(outcome, [torch.ones(2), None])
        assert gradients.inputs[0].tolist() == [2.0, 2.0]


def test_a_copy_with_another_text_is_asked_elsewhere(worker: Worker) -> None:
    text = "def f(x):\n    return x + 1\n"
    submission = RemoteSubmission(worker, text.encode(), "part.py", again=lambda: load(worker, text))
    for old, new, result in (("+", "-", 0.0), ("1", "3", 4.0)):
        copy = submission.edited(text.replace(old, new))
        assert copy is not None
        assert copy.function("f").call([torch.ones(1)]).value == result
        with pytest.raises(SubmissionError):
            submission.edited("def f(:")
    copy = submission.edited(f"import torch\n@torch.jit.script\n{text.replace('return', 'global a; return')}")
    assert copy is not None  # it is not given to TorchScript, which knows no `global`
    assert copy.function("f").call([torch.ones(1)]).value == 2.0
    assert load(worker, text).edited(text) is None  # there is no other process for it


def test_the_seconds_that_copies_take_are_known(worker: Worker) -> None:
    spin = "end = time.process_time() + 0.0\n    while time.process_time() < end: pass"
    text = f"import time\n\ndef f(x):\n    {spin}\n    return x\n"
    submission = RemoteSubmission(worker, text.encode(), "part.py", again=lambda: load(worker, text))
    before = submission.copies_cpu_s
    copy = submission.edited(text.replace("0.0", "0.2"))
    assert copy is not None
    begun = submission.copies_cpu_s
    copy.function("f").call([torch.ones(1)])
    assert before == 0.0
    assert submission.copies_cpu_s - begun >= 0.2


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("self.register_parameter('judge_q', nn.Parameter(torch.zeros(2)))", "'judge_q' begins with judge_"),
        ("self.many = nn.Parameter(torch.zeros(3_000_000))", "its parameters hold 3,000,000 numbers"),
    ],
)
def test_parameters_that_are_the_judges_or_too_many_are_refused(worker: Worker, made: str, said: str) -> None:
    net = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        "
    text = f"import torch\nfrom torch import nn\n{net}{made}\n"
    with pytest.raises(SubmissionError, match=said):
        load(worker, text).construct("Net", ()).parameters()
