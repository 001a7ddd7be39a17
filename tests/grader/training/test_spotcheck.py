"""Spot-checks of a part while a model trains with it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Mapping, Sequence

import pytest
import torch
from torch import Tensor, nn

from grader.core.failures import Failed
from grader.training.spotcheck import SpotChecked


class Part(nn.Module):
    """tanh(query W) * value + key, zero where the mask is False; with something wrong from some call on."""

    def __init__(self, wrong: Callable[[int, bool, Tensor], Tensor] | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.wrong, self.calls = wrong, 0

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        self.calls += 1
        output = TanhOracle().forward([query, key, value], [mask], {"w": self.weight})
        return self.wrong(self.calls, self.training, output) if self.wrong else output


class TanhOracle:
    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        query, key, value = inputs
        output = torch.tanh(query @ parameters["w"]) * value + key
        return output if masks[0] is None else output * masks[0]

    def comparable(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        given = values.get("w")
        return {"w": torch.zeros(3, 3) if given is None else given}


STEPS = 20


def live(wrong: Callable[[int, bool, Tensor], Tensor] | None = None, share: float = 0.0) -> SpotChecked:
    """Train and use a part: self-, then cross-like calls, then some in eval mode."""
    torch.manual_seed(0)
    part = Part(wrong)
    checked = SpotChecked(part, {"weight": "w"}, TanhOracle(), "the part", STEPS, share)
    optimizer = torch.optim.SGD(checked.parameters(), 0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        x, memory = torch.randn(2, 4, 3, requires_grad=True), torch.randn(2, 4, 3)
        same = (
            checked(x, x, x, None)
            if step % 2
            else checked(x, memory, memory, torch.ones(4, 1, dtype=torch.bool))
        )
        same.square().sum().backward()
        optimizer.step()
    checked.eval()
    with torch.no_grad():
        for _ in range(5):
            checked(torch.randn(2, 4, 3), torch.randn(2, 4, 3), torch.randn(2, 4, 3), None)
    checked.settle()
    return checked


def altered_backward(output: Tensor) -> Tensor:
    """The same values, half the gradient."""
    return output / 2 + output.detach() / 2


def test_a_right_part_passes_and_every_call_can_be_looked_at() -> None:
    assert live(share=1.0).checked == STEPS + 5 + 1
    assert live().checked == 2 + 1 + 1  # first and last step; first and last use


def test_the_share_is_a_share() -> None:
    assert 4 <= live(share=0.3).checked < STEPS + 5


@pytest.mark.parametrize(
    ("share", "wrong"),
    [
        (0.0, lambda call, training, output: output * 1.01 if call == 1 else output),
        (0.0, lambda call, training, output: output * 1.01 if call == STEPS else output),
        (0.0, lambda call, training, output: output if training else output * 1.01),
        (0.0, lambda call, training, output: output * 1.01 if call == STEPS + 5 else output),
        (0.0, lambda call, training, output: output * torch.nan if call == STEPS else output),
        (1.0, lambda call, training, output: output * 1.01 if call == 7 else output),
        (0.0, lambda call, training, output: altered_backward(output) if call == STEPS else output),
        (1.0, lambda call, training, output: altered_backward(output) if call == 8 else output),
        (1.0, lambda call, training, output: output.detach() + 0 * output if call == 8 else output),
    ],
)
def test_another_rule_is_caught(share: float, wrong: Callable[[int, bool, Tensor], Tensor]) -> None:
    with pytest.raises(Failed, match=r"the part gave (another output|other gradients)") as caught:
        live(wrong, share)
    assert [mistake.id for mistake in caught.value.mistakes] == ["differs-in-training"]


def test_gradients_of_parameters_alone_are_looked_at() -> None:
    class Halved(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: object, gradient: Tensor) -> Tensor:  # type: ignore[override]
            return gradient / 2

    class Sly(Part):
        def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
            weight: Tensor = Halved.apply(self.weight)  # type: ignore[no-untyped-call]
            return TanhOracle().forward([query, key, value], [mask], {"w": weight})

    checked = SpotChecked(Sly(), {"weight": "w"}, TanhOracle(), "the part", 5)
    x = torch.randn(2, 4, 3, requires_grad=True)
    checked(x, x, x, None).sum().backward()
    with pytest.raises(Failed, match="other gradients to its parameters"):
        checked.settle()


def test_nothing_of_a_training_is_kept_when_it_is_over() -> None:
    """Where 300 files are graded, one training after the other would fill the memory."""
    checked = weakref.ref(live(share=1.0))
    gc.collect()
    assert checked() is None


class Kinked(nn.Module):
    """relu(query W + off): with a small `off` as code that rounds otherwise."""

    def __init__(self, off: float) -> None:
        super().__init__()
        self.weight, self.off = nn.Parameter(torch.eye(3)), off

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        return torch.relu(query @ self.weight + self.off)


class ReLUOracle(TanhOracle):
    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        return torch.relu(inputs[0] @ parameters["w"])


def of_kinked(off: float, least: float) -> SpotChecked:
    """One training step. Args: least: the number that is nearest to the kink, below it."""
    checked = SpotChecked(Kinked(off), {"weight": "w"}, ReLUOracle(), "the part", 1, 1.0)
    x = torch.tensor([[[1.0, -2.0, least]]], requires_grad=True)
    checked(x, x, x, None).backward(torch.tensor([[[0.5, 1.0, 2.0]]]))
    checked.settle()
    return checked


def test_where_a_relu_is_almost_0_either_slope_is_right() -> None:
    assert of_kinked(1e-8, -5e-9).checked == 1
    with pytest.raises(Failed, match="gave other gradients to its inputs"):
        of_kinked(2e-4, -1e-4)
