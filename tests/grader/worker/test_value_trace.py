"""What a submission does is recorded, in this process and in a worker; who forges the record harms themself."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator

import pytest
import torch

from grader.core.submission import SubmissionError
from grader.core.value_trace import Event, Recordable, Ref, ValueTrace, read_trace
from grader.engine.local import LocalSubmission
from grader.sandbox.process import Limits, Worker
from grader.sandbox.remote import RemoteSubmission
from grader.worker.confinement import landlock
from tests import solution_file
from tests.grader.mutator import ODD_VALUES

STRICT = pytest.mark.skipif(
    not (sys.platform.startswith("linux") and landlock.version()), reason="needs Linux with Landlock"
)
SOURCE = """
import torch
from torch import nn

def halve(x):
    return x / 2

def work(x, count=3):
    y = halve(x) + 1
    z = y.transpose(0, 1).softmax(
        dim=-1)
    z[0] = 0
    words = ["a"] * count
    return z, y.sum().item()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    def forward(self, x):
        for _ in range(2):
            x = self.layers(x)
        return x.detach()
"""


@pytest.fixture(scope="module", params=["process", pytest.param("strict", marks=STRICT)])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    with Worker(limits=Limits(request_s=60), level=request.param) as shared:
        yield shared


def recorded(submission: Recordable, x: torch.Tensor) -> ValueTrace:
    submission.record()
    submission.function("work").call([x])
    return submission.recorded()


@pytest.fixture
def trace() -> ValueTrace:
    return recorded(LocalSubmission.from_source(SOURCE, filename="part.py"), torch.randn(2, 3))


def named(trace: ValueTrace, name: str) -> Event:
    return next(event for event in trace.events if event.name == name and event.kind in ("call", "line"))


def test_a_call_is_recorded_with_place_inputs_and_result(trace: ValueTrace) -> None:
    division, sum_, softmax = (named(trace, name) for name in ("div", "add", "softmax"))
    assert (division.place.line, division.callers, division.arguments) == (6, (9,), "_, 2")
    assert sum_.inputs == division.outputs
    assert softmax.arguments == "_, dim=-1"
    given, got = (trace.values[event.outputs[0]].numbers for event in (named(trace, "transpose"), softmax))
    assert given is not None
    assert got is not None
    if sys.version_info >= (3, 11):
        assert (softmax.place.line, softmax.place.end_line) == (10, 11)
        assert (division.place.column, division.place.end_column) == (11, 16)


def test_a_change_in_place_is_a_new_value(trace: ValueTrace) -> None:
    change = named(trace, "__setitem__")
    before, after = (trace.values[value].numbers for value in (change.inputs[0], change.outputs[0]))
    assert change.changed
    assert before is not None
    assert after is not None
    assert bool(before[0].all())
    assert not after[0].any()
    assert torch.equal(before[1:], after[1:])


def test_lines_tell_what_they_changed_and_what_came_back(trace: ValueTrace) -> None:
    lines = {event.place.line: event for event in trace.events if event.kind in ("line", "return")}
    assert lines[13].names == {"words": ["a", "a", "a"]}
    assert lines[9].names["y"] == Ref(named(trace, "add").outputs[0])
    item = named(trace, "item")
    assert [type(one) for one in item.result] == [float]
    assert lines[14].result[0][1] == item.result[0]


def test_what_a_layer_computes_is_one_event() -> None:
    submission = LocalSubmission.from_source(SOURCE, filename="part.py")
    network = submission.construct("Net", [])
    submission.record()
    network.call([torch.randn(3, 4)])
    trace = submission.recorded()
    calls = [event for event in trace.events if event.kind == "call"]
    assert [event.place.line for event in calls] == [22, 22, 23]
    assert calls[1].inputs[0] in calls[0].outputs
    cut = calls[2]
    assert trace.values[cut.inputs[0]].requires_grad
    assert not trace.values[cut.outputs[0]].requires_grad


def test_a_parameter_that_is_made_later_can_be_recorded() -> None:
    code = (
        SOURCE
        + """
class Late(nn.Module):
    def __init__(self):
        super().__init__()
        late = nn.UninitializedParameter()
        self.register_parameter("late", late)
"""
    )
    submission = LocalSubmission.from_source(code, filename="part.py")
    submission.record()
    submission.construct("Late", [])
    assert named(submission.recorded(), "__init__").kind == "line"


def test_a_result_can_be_replaced() -> None:
    submission = LocalSubmission.from_source(SOURCE, filename="part.py")
    number = named(recorded(submission, torch.ones(2, 3)), "add").number
    submission.record({number: torch.zeros(2, 3)})
    value = submission.function("work").call([torch.ones(2, 3)]).value
    submission.recorded()
    assert value[1] == 0.0


@pytest.mark.sampled(2)
def test_a_worker_records_the_same(worker: Worker) -> None:
    x = torch.randn(2, 3)
    there = recorded(RemoteSubmission(worker, SOURCE.encode(), "part.py"), x)
    here = recorded(LocalSubmission.from_source(SOURCE, filename="part.py"), x)
    assert there.events == here.events
    assert [value.shape for value in there.values] == [value.shape for value in here.values]
    for one, other in zip(there.values, here.values, strict=True):
        assert one.numbers is not None
        assert other.numbers is not None
        assert torch.equal(one.numbers, other.numbers)


def test_nothing_is_recorded_unless_it_is_asked_for(worker: Worker) -> None:
    submission = RemoteSubmission(worker, SOURCE.encode(), "part.py")
    submission.function("work").call([torch.ones(2, 3)])
    assert not submission.recorded().events


WORK = "import sys, torch\ndef work(x):\n"
MUCH = {
    "many calls": "    for _ in range(20_000): x = x + 0\n    return x\n",
    "many lines": "    for i in range(50_000): j = [i] * 9\n    return x\n",
    "large values": "    y = [x[0, 0] + torch.zeros(900, 900) for _ in range(9)]\n    return x\n",
    "long lists": "    y = [[['x' * 10**6] * 500] * 500] * 500\n    z = list(range(10**6))\n    return x\n",
    "deep recursion": "    def f(n): return x + 0 if n == 0 else f(n - 1) + 0\n    return f(900)\n",
    "many names": "    for i in range(3_000): exec(f'y{i} = {i}')\n    locals().update(a=1)\n    return x\n",
    "not a number": "    return x * float('nan') + 10**300 * float('inf')\n",
    "odd tensors": (
        "    y = torch.zeros(2, device='meta') + 0, x.to_sparse(), x.to(torch.complex64) + 1, x.half()\n"
        "    z = torch.zeros(1).expand(2**40)\n    return x\n"
    ),
    "a list in itself": "    y = []; y.append(y); y = y\n    return x\n",
    "no trace": "    sys.settrace(None)\n    return x + 1\n",
}


@pytest.mark.parametrize("worker", ["process"], indirect=True)  # no level bounds it
@pytest.mark.parametrize("case", MUCH)
@pytest.mark.sampled(4)
def test_a_record_is_bounded(worker: Worker, case: str) -> None:
    submission = RemoteSubmission(worker, (WORK + MUCH[case]).encode(), "part.py")
    trace = recorded(submission, torch.ones(2, 3))
    assert len(trace.events) <= 4_100
    assert sum(value.numbers.numel() for value in trace.values if value.numbers is not None) <= 2**20
    assert submission.has("work")


CHANGES = 500
FORGED = {
    "no text": b"",
    "another object": b"[]",
    "nested": b"[" * 60_000,
    "an event that is none": b'{"events": [1], "values": []}',
    "a value beyond the end": b'{"events": [], "values": [[[9, 9], "float32", 0, true, -1]]}',
    "an event of no value": (
        b'{"events": [["call", 1, [1, 1, 0, 0], 0, [], ["f", ""], [0], [], [], false]], "values": []}'
    ),
    "too many": b'{"events": [' + b"0," * 9_000 + b'0], "values": []}',
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_record_is_refused(case: str) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        read_trace(FORGED[case], torch.zeros(3, dtype=torch.float64))


def test_numbers_of_another_dtype_are_refused() -> None:
    with pytest.raises(ValueError, match="float64"):
        read_trace(b'{"events": [], "values": []}', torch.zeros(3))


@pytest.mark.parametrize("log", ["(b'{}', torch.zeros(9, dtype=torch.int8))", "None"])
@pytest.mark.sampled(2)
def test_who_replaces_the_recorder_fails(log: str) -> None:
    forging = (
        WORK + "    return x\n"
        "frame = sys._getframe()\n"
        "while 'Recorder' not in frame.f_globals: frame = frame.f_back\n"
        f"frame.f_globals['Recorder'].log = lambda self: {log}\n"
    )
    with Worker(limits=Limits(request_s=60)) as worker:
        submission = RemoteSubmission(worker, forging.encode(), "part.py")  # it loads
        with pytest.raises(SubmissionError):
            recorded(submission, torch.ones(2, 3))


def test_a_record_with_anything_odd_in_it_is_refused_or_read() -> None:
    """Values of an honest record, replaced with odd ones."""
    submission = LocalSubmission.from_source(SOURCE, filename="part.py")
    submission.record()
    submission.function("work").call([torch.ones(2, 3)])
    recorder = submission._tracing.recorder
    assert recorder is not None
    text, numbers = recorder.log()
    refused = 0
    for changed in _changed(json.loads(text)):
        try:
            assert isinstance(read_trace(json.dumps(changed).encode(), numbers), ValueTrace)
        except (ValueError, TypeError, KeyError, AttributeError):
            refused += 1
    assert refused > CHANGES / 2


def _changed(record: dict[str, object]) -> Iterator[object]:
    places: list[tuple[object, object]] = []

    def walk(node: object) -> None:
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            places.append((node, key))
            walk(node[key])  # type: ignore[index]

    walk(record)
    draw = random.Random(0)
    for _ in range(CHANGES):
        node, key = draw.choice(places)
        kept = node[key]  # type: ignore[index]
        node[key] = draw.choice(ODD_VALUES)  # type: ignore[index]
        yield record
        node[key] = kept  # type: ignore[index]


def test_a_solution_is_the_same_with_a_record() -> None:
    submission = LocalSubmission.from_source(solution_file("loss").read_text(), filename="loss.py")
    logits, target = torch.randn(2, 3, 5), torch.tensor([[3, 4, 0], [1, 2, 3]])
    before = submission.function("sequence_loss").call([logits, target]).value
    submission.record()
    after = submission.function("sequence_loss").call([logits, target]).value
    submission.recorded()
    assert torch.equal(before, after)


def test_what_comes_after_a_lifted_function_is_recorded_too() -> None:
    source = """import torch

def one(x):
    y = x * 2
    return y

def f(x):
    y = torch.vmap(one)(x)
    return y + 1
"""
    submission = LocalSubmission.from_source(source, filename="lifted.py")
    submission.record()
    submission.function("f").call([torch.ones(3)])
    trace = submission.recorded()
    assert {3, 4, 5, 7, 8, 9} >= set(trace.ran) >= {4, 8, 9}
    assert [event.name for event in trace.events if event.place.line == 9 and event.kind == "call"] == ["add"]


@pytest.mark.parametrize("axis", [0, 1])
def test_inside_a_lifted_function_values_have_all_rows(axis: int) -> None:
    source = """import torch

def one(x):
    return x.sin()

def f(x, axis):
    return torch.vmap(torch.vmap(one, axis, axis), axis, axis)(x)
"""
    x = torch.rand(2, 3, 4)
    for patch in (None, torch.zeros(3, 4, 2) if axis else torch.zeros(2, 3, 4)):
        submission = LocalSubmission.from_source(source, filename="lifted.py")
        submission.record(None if patch is None else {1: patch})
        result = submission.function("f").call([x, axis]).value
        trace = submission.recorded()
        (event,) = [one for one in trace.events if one.kind == "call" and one.place.line == 4]
        numbers = trace.values[event.outputs[0]].numbers
        wanted = (
            x.movedim(0, 2) if axis else x
        )  # the rows that the outer and the inner one go through come first
        assert numbers is not None
        if patch is None:
            assert torch.allclose(numbers.float(), wanted.sin())
        else:
            assert isinstance(result, torch.Tensor)
            assert not result.any()


def test_scripted_functions_run_as_they_are_written_while_they_are_recorded(worker: Worker) -> None:
    source = """import torch

@torch.jit.script
def double(x: torch.Tensor):
    return x * 2

def work(x, count=3):
    return double(x) + 1
"""
    submission = RemoteSubmission(worker, source.encode(), "scripted.py")
    trace = recorded(submission, torch.ones(3))
    assert [event.place.line for event in trace.events if event.kind == "call"] == [5, 8]
    assert 5 in trace.ran
    plain = LocalSubmission.from_source(source + "scripted = double", filename="scripted.py")
    recorded(plain, torch.ones(3))
    assert isinstance(vars(plain)["_namespace"]["double"], torch.jit.ScriptFunction)  # it is scripted again


@pytest.mark.parametrize("fills", ["nn.init.ones_(weight)", "weight.data.fill_(1.0)"])
def test_memory_that_nothing_was_written_into_has_no_numbers(fills: str) -> None:
    text = f"""
import torch
from torch import nn

def work(x):
    weight = nn.Parameter(torch.empty(3))
    before = weight + 0
    {fills}
    return before, weight + 0
"""
    trace = recorded(LocalSubmission.from_source(text, filename="part.py"), torch.randn(2, 3))
    weights = [trace.values[event.inputs[0]].numbers for event in trace.events if event.name == "add"]
    before, after = (numbers for numbers in weights if numbers is not None)
    assert before.isnan().all()
    assert after.tolist() == [1.0, 1.0, 1.0]
