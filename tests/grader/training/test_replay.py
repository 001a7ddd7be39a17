"""Live calls put once more to a fresh process."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from grader.core.failures import Failed
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Sandbox
from grader.training.proxy import RemoteModule
from grader.training.replay import KEPT, LiveCall, Notes, replay

SOURCE = """
import torch
from torch import nn

class Part(nn.Module):
    def __init__(self, inner, rule="x"):
        super().__init__()
        self.inner, self.rule, self.notes, self.calls = inner, rule, nn.Parameter(torch.ones(3)), 0
        self.first = None
    def forward(self, x, mask=None):
        self.calls += 1
        self.first = x.detach().clone() if self.first is None else self.first
        calls, first, y = self.calls, self.first, self.notes * torch.tanh(x)
        y = y if mask is None else y * mask
        return eval(self.rule)
"""
STEPS = 30


def submission(sandbox: Sandbox) -> RemoteSubmission:
    return RemoteSubmission(sandbox.worker("cpu"), SOURCE.encode(), "a.py", again=lambda: submission(sandbox))


def trained(sandbox: Sandbox, rule: str) -> int:
    """Train a part, use it, and replay; how many calls were put again."""
    torch.manual_seed(0)
    live = submission(sandbox)
    try:
        inner = live.construct("Part", (None,))
        model = nn.Sequential(RemoteModule(live.construct("Part", (inner,), {"rule": rule}), "Part"))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        mask = torch.ones(4, 1, dtype=torch.bool)
        for _ in range(STEPS):
            optimizer.zero_grad()
            x = torch.randn(2, 4, 3, requires_grad=True)
            model[0](x, mask).square().sum().backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for _ in range(5):
                model(torch.randn(2, 4, 3))
        return replay(model)
    finally:
        live.close()


@pytest.mark.parametrize("rule", ["y", "y, self.calls", "y if self.training else 2 * y"])
def test_what_depends_on_inputs_and_weights_alone_passes(sandbox: Sandbox, rule: str) -> None:
    assert KEPT + 5 <= trained(sandbox, rule) <= KEPT + 2 + 5


@pytest.mark.parametrize(
    "rule",
    [
        "y * (1 + 0.01 * calls)",
        "y if calls < 3 else 2 * y",
        "y + 0.1 * first.mean()",
        f"y if calls != {STEPS} else 2 * y",
        f"y if calls <= {STEPS} else 2 * y",
        "y if calls == 1 else y / 2 + y.detach() / 2",
    ],
)
def test_what_depends_on_the_calls_before_is_caught(sandbox: Sandbox, rule: str) -> None:
    with pytest.raises(Failed, match="in a new process it returned") as caught:
        trained(sandbox, rule)
    assert [mistake.id for mistake in caught.value.mistakes] == ["depends-on-earlier-calls"]


def test_without_a_way_to_open_the_file_again_nothing_is_replayed(sandbox: Sandbox) -> None:
    with sandbox.worker("cpu") as worker:
        alone = RemoteSubmission(worker, SOURCE.encode(), "a.py")
        part = RemoteModule(alone.construct("Part", (None,)))
        part(torch.ones(1, 3))
        assert replay(part) == 0


@pytest.mark.parametrize(
    "rule",
    [
        "y if x.size(0) < 2 else 1.01 * y",
        "y + 0.1 * x.mean()",
        "y if x.requires_grad or x.size(0) < 2 else -y",
    ],
)
def test_what_depends_on_the_batch_is_caught(sandbox: Sandbox, rule: str) -> None:
    with pytest.raises(
        Failed, match=r"was called with 1 of the 2 rows of .*: it returned another out"
    ) as caught:
        trained(sandbox, rule)
    assert [mistake.id for mistake in caught.value.mistakes] == ["depends-on-the-batch"]


def test_notes_are_few_and_hold_the_first_and_the_last() -> None:
    notes = Notes(None, "it")  # type: ignore[arg-type]
    told = []
    for _ in range(200):
        told.append(notes.count(True))
        notes.add(LiveCall(told[-1], True, [], [], {}, [], True, Tensor()))
    kept = {call.what for call in notes.calls()}
    assert {told[0], told[-1]} <= kept
    assert KEPT <= len(kept) <= KEPT + 2


def test_notes_are_drawn_anew_each_time() -> None:
    def draw() -> frozenset[str]:
        notes = Notes(None, "it")  # type: ignore[arg-type]
        for _ in range(200):
            notes.add(LiveCall(notes.count(False), False, [], [], {}, [], False, Tensor()))
        return frozenset(call.what for call in notes.calls())

    assert len({draw() for _ in range(5)}) > 1
