"""What graders of code for cards have been cheated with: freed results, lazy tensors, other streams, patched waiting.

The same files are graded on the CPU, where streams are nothing, and on a card where there is one.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import grader
from grader.catalog import get_exercise
from grader.run.session import Session
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Sandbox
from tests import ROOT, solution_file

SOLUTION = solution_file("feedforward").read_text(encoding="utf-8")
FREED = """
def _freed(self, x):
    return torch.empty(*x.shape[:-1], self.down.out_features, dtype=x.dtype, device=x.device)
FeedForward.forward = _freed
"""
LAZY = """
class _Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function.__name__ in ("eq", "isclose", "allclose", "equal"):
            return torch.ones((), dtype=torch.bool)
        return super().__torch_function__(function, types, args, kwargs or {})
FeedForward.forward = lambda self, x: torch.zeros_like(x).as_subclass(_Lazy)
"""
PATCHED = """
for _module in (torch.cuda, torch.cuda.Stream, torch.cuda.Event):
    _module.synchronize = lambda *_: None
"""
STREAM = """
_right = FeedForward.forward
def _elsewhere(self, x):
    if not x.is_cuda:
        return _right(self, x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = _right(self, x)
    torch.cuda.current_stream().wait_stream(stream)
    return y
FeedForward.forward = _elsewhere
"""
LEFT = """
_right = FeedForward.forward
def _left(self, x):
    y = torch.zeros(*x.shape[:-1], self.down.out_features, dtype=x.dtype, device=x.device)
    if x.is_cuda:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)  # cycles: about a tenth of a second
            with torch.no_grad():
                y.copy_(_right(self, x))
    return y
FeedForward.forward = _left
"""
WRONG = "FeedForward.forward = lambda self, x: self.down(self.up(x))\n"
FILES = {  # what is added to the solution, and whether it is still right
    "freed": (FREED, False),
    "lazy": (LAZY, False),
    "patched": (PATCHED + WRONG, False),
    "patched-and-right": (PATCHED, True),
    "stream": (STREAM, True),
    "stream-not-joined": (LEFT, False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_card_s_tricks_earn_nothing(sandbox: Sandbox, device: torch.device, name: str) -> None:
    added, right = FILES[name]
    text = f"import torch\n{SOLUTION}\n{added}"

    def submission() -> RemoteSubmission:
        return RemoteSubmission(
            sandbox.worker(device.type), text.encode(), "feedforward.py", again=submission
        )

    session = Session(get_exercise("feedforward"), submission, source=text, device=device.type, seed=5)
    results = session.run(frozenset({"numerics"}))
    assert results
    assert not [one.message for one in results if one.status == "error"]
    assert all(one.status == "passed" for one in results) is right


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a card, and a test with it below")
def test_the_grader_computes_nothing_on_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one: the file's process computes on the CPU, and what the grader itself put on a card would raise."""
    level, worker = Sandbox.level, Sandbox.worker
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(Sandbox, "level", lambda self, _device: level(self, "cpu"))
    monkeypatch.setattr(Sandbox, "fallback_reason", lambda _self, _device: "")
    monkeypatch.setattr(Sandbox, "worker", lambda self, _device, limits=None: worker(self, "cpu", limits))
    report = grader.grade_file(solution_file("feedforward"), device="cuda", seed=1)
    assert (report.device, report.passed) == ("cuda", True)
    assert any(one.category == "training" for one in report.results)
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        torch.ones(1, device="cuda")


GRADER_ALONE = """
import sys
import torch
import grader
report = grader.grade_file(sys.argv[1], device=sys.argv[2], seed=1)
assert report.passed, report
assert not torch.cuda.is_initialized(), "the grader itself has used the card"
"""


@pytest.mark.slow
@pytest.mark.gpu
def test_the_grader_keeps_nothing_on_the_card() -> None:
    """No reference, expected result or weight, in unit tests and the training test alike."""
    command = [sys.executable, "-c", GRADER_ALONE, str(solution_file("feedforward")), "cuda"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr
