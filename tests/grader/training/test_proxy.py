"""A module in a worker trains as part of a model exactly as it would here."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from grader.core.submission import SubmissionError
from grader.exercises.attention.solution import MultiHeadAttention
from grader.sandbox.process import Limits, Worker
from grader.sandbox.remote import RemoteSubmission
from grader.training.proxy import RemoteModule
from tests import solution_file

SOURCE = solution_file("attention").read_bytes()
OTHERS = b"""
import torch
from torch import nn

class Odd(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind, self.names, self.training_mode = kind, nn.Parameter(torch.ones(1)), []
        self.inner, self.inner__bias = nn.Linear(1, 1), nn.Parameter(torch.ones(1))
    def forward(self, x, y=None):
        self.training_mode.append(self.training)
        return {
            "none": None, "text": "x", "shape": x[:1], "dtype": x.double(), "tuple": (x * self.names, 1, x),
            "detached": (x * self.names).detach(), "mode": x * (2 if self.training else 1),
            "frozen": x * self.names.detach(),
        }[self.kind]
"""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(limits=Limits(request_s=60)) as shared:
        yield shared


def pair(worker: Worker) -> tuple[RemoteModule, MultiHeadAttention]:
    """The solution in the worker, and with the same weights here."""
    remote = RemoteModule(RemoteSubmission(worker, SOURCE, "a.py").construct("MultiHeadAttention", (8, 2)))
    local = MultiHeadAttention(8, 2)
    local.load_state_dict({remote.names[name]: value for name, value in remote.state_dict().items()})
    return remote, local


def gradients(module: nn.Module, names: dict[str, str]) -> dict[str, Tensor | None]:
    return {names.get(name, name): p.grad for name, p in module.named_parameters()}


@pytest.mark.parametrize("sharing", ["xxx", "xyy", "xyz", "xyx"])
def test_gradients_add_up_once_whichever_inputs_are_the_same(worker: Worker, sharing: str) -> None:
    remote, local = pair(worker)
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    results = []
    data = {letter: torch.randn(2, 3, 8) for letter in "xyz"}
    for module, names in ((remote, remote.names), (local, {})):
        given = {letter: x.clone().requires_grad_() for letter, x in data.items()}
        hidden = {letter: x * 2 for letter, x in given.items()}
        output = module(*(hidden[letter] for letter in sharing), mask)
        (output.square().sum() + hidden["x"].sum()).backward()
        results.append(
            (output, {n: x.grad for n, x in given.items() if n in sharing}, gradients(module, names))
        )
    torch.testing.assert_close(results[0], results[1])


OPTIMIZERS: list[Callable[[list[nn.Parameter]], torch.optim.Optimizer]] = [
    lambda p: torch.optim.AdamW(p, lr=0.1, fused=True),
    lambda p: torch.optim.AdamW(p, lr=0.1, foreach=True),
    lambda p: torch.optim.AdamW(p, lr=0.1, foreach=False),
    lambda p: torch.optim.SGD(p, lr=0.1),
]


@pytest.mark.parametrize("make", OPTIMIZERS, ids=["fused", "foreach", "plain", "sgd"])
def test_every_step_of_an_optimizer_reaches_the_worker(
    worker: Worker, make: Callable[[list[nn.Parameter]], torch.optim.Optimizer]
) -> None:
    remote, local = pair(worker)
    x, losses = torch.randn(2, 3, 8), []
    for module in (remote, local):
        optimizer = make(list(module.parameters()))
        for _ in range(4):
            loss = module(x, x, x, None).square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[:4] == pytest.approx(losses[4:], rel=1e-4)
    assert losses[0] != losses[1]


def test_loading_a_state_reaches_the_worker_and_nothing_is_sent_twice(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote, _ = pair(worker)
    other, _ = pair(worker)
    x, sent = torch.randn(1, 2, 8), []
    ask = worker.request
    monkeypatch.setattr(
        worker,
        "request",
        lambda header, *rest, **doing: (sent.append("values" in header), ask(header, *rest, **doing))[1],
    )
    with torch.no_grad():
        first = remote(x, x, x)
        remote.load_state_dict(other.state_dict())
        assert torch.equal(remote(x, x, x), other(x, x, x))
        assert not torch.equal(first, remote(x, x, x))
    assert sent == [False, True, True, False, True, False]  # each module's first request sets its mode


def odd(worker: Worker, kind: str) -> RemoteModule:
    return RemoteModule(RemoteSubmission(worker, OTHERS, "a.py").construct("Odd", (kind,)), "your class")


@pytest.mark.parametrize(
    ("kind", "got"),
    [("none", "gave None"), ("text", "gave str"), ("shape", r"\[1, 3\]"), ("dtype", "torch.float64")],
)
def test_an_output_that_does_not_fit_is_told(worker: Worker, kind: str, got: str) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.raises(SubmissionError, match=rf"must give a tensor \[2, 3\] .*{got}"):
        odd(worker, kind)(x, None)


def test_of_a_tuple_the_first_counts(worker: Worker) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    odd(worker, "tuple")(x, None).sum().backward()
    assert x.grad is not None
    assert x.grad.eq(1).all()


def test_a_detached_output_has_no_gradient(worker: Worker) -> None:
    assert not odd(worker, "detached")(torch.ones(2, requires_grad=True)).requires_grad


def test_a_parameter_that_is_not_reached_has_no_gradient(worker: Worker) -> None:
    module = odd(worker, "frozen")
    module(torch.ones(2, requires_grad=True)).sum().backward()
    assert all(p.grad is None for p in module.parameters())


def test_the_mode_reaches_the_worker(worker: Worker) -> None:
    module = odd(worker, "mode")
    x = torch.ones(1)
    assert [module.train(mode)(x).item() for mode in (True, False, False, True)] == [2, 1, 1, 2]


def test_names_that_torch_refuses_are_replaced_and_kept(worker: Worker) -> None:
    names = odd(worker, "none").names
    assert sorted(names.values()) == ["inner.bias", "inner.weight", "inner__bias", "names"]
    assert not any("." in name or name == "names" for name in names)


def test_a_graph_that_is_not_used_is_dropped_in_the_worker(worker: Worker) -> None:
    remote, _ = pair(worker)
    x = torch.randn(1, 2, 8, requires_grad=True)
    output = remote(x, x, x)
    assert remote._instance._link._watched
    del output
    gc.collect()
    assert not remote._instance._link._watched
    assert remote._instance._link.dropped


@pytest.mark.gpu
def test_on_cuda_it_trains_as_it_would_here() -> None:
    with Worker("cuda", Limits(request_s=120)) as own:
        remote, local = pair(own)
        remote, local = remote.cuda(), local.cuda()
        x, grads = torch.randn(2, 3, 8, device="cuda"), []
        for module, names in ((remote, remote.names), (local, {})):
            module(x, x, x).square().sum().backward()
            grads.append(gradients(module, names))
        torch.testing.assert_close(grads[0], grads[1])
        assert remote(x, x, x).device.type == "cuda"


def test_nothing_of_a_call_is_kept_when_the_model_is_gone(worker: Worker) -> None:
    def train() -> list[weakref.ref[object]]:
        remote, _ = pair(worker)
        x = torch.randn(2, 3, 8)
        output = remote(x, x, x, None)
        output = output + remote(output, output, output, None)
        output.square().sum().backward()
        return [weakref.ref(one) for one in (remote, output, *remote.notes.calls())]

    kept = train()
    gc.collect()
    assert len(kept) == 4
    assert [one() for one in kept] == [None] * 4
