"""Measurements, on models whose cost is known."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn
from torch.utils.benchmark import Timer

from zoo.accelerate import accelerate
from zoo.analysis.measure import count_flops, largest_difference, peak_memory, time_interleaved
from zoo.core.blueprint import make_blueprint
from zoo.core.plugins import get_registry
from zoo.models.builder import build
from zoo.models.trial import padded_tokens

EXACT = [v.name for v in get_registry().variants("attention") if v.capabilities["exact"]]
MEGA = 10**6


class Wasteful(nn.Module):
    """A linear map that needs `extra` more floats for a moment."""

    def __init__(self, extra: int) -> None:
        super().__init__()
        self.linear, self.extra = nn.Linear(1000, 1000, bias=False), extra

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        return y + torch.ones(self.extra, device=x.device).sum()


def memory_of(model: nn.Module, device: torch.device, rows: int = 1) -> int:
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    x = torch.ones(rows, 1000, device=device)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(x).sum().backward()
        optimizer.step()

    return peak_memory(step, model, optimizer, device)


def test_flops_of_a_matrix_product() -> None:
    assert count_flops(nn.Linear(3, 5), torch.ones(2, 3)) == 2 * 2 * 3 * 5


@pytest.mark.parametrize("attention", EXACT)
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_every_exact_attention_has_the_flops_of_eager(attention: str, dropout: float) -> None:
    sizes = {"d_model": 16, "num_heads": 2, "d_ff": 16, "src_vocab": 9, "tgt_vocab": 9, "dropout": dropout}
    counts = []
    for name in ("eager", attention):
        blueprint = make_blueprint(attention=name, num_encoder_layers=1, num_decoder_layers=1, **sizes)
        tokens = padded_tokens(blueprint.sizes, 2, 6, seed=0)
        counts.append(count_flops(build(blueprint, seed=0), tokens.src, tokens.tgt))
    assert counts[0] == counts[1] > 0


def test_peak_memory_counts_weights_gradients_and_the_optimizers_state(device: torch.device) -> None:
    four_times = 4 * 4 * MEGA  # weights, gradient, two moments; float32
    assert four_times <= memory_of(Wasteful(1), device) < four_times + MEGA / 2


def test_peak_memory_sees_what_is_needed_for_a_moment_only(device: torch.device) -> None:
    forward = 3 * 4 * MEGA  # no gradient is there yet
    assert memory_of(Wasteful(5 * MEGA), device) == pytest.approx(forward + 5 * 4 * MEGA, rel=0.02)


def test_peak_memory_grows_with_what_is_kept_for_the_backward_pass(device: torch.device) -> None:
    def kept(rows: int) -> int:
        return memory_of(nn.Sequential(nn.Linear(1000, 1000), nn.Tanh(), nn.Tanh(), nn.Tanh()), device, rows)

    assert kept(2000) - kept(1000) >= 3 * 1000 * 1000 * 4


def test_functions_take_turns_and_their_medians_are_returned_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0  # by a clock of the test's own
    monkeypatch.setattr("zoo.analysis.measure.Timer", partial(Timer, timer=lambda: now))
    calls: list[str] = []
    rounds: list[int] = []

    def takes(name: str, seconds: float) -> None:
        nonlocal now
        calls.append(name)
        now += seconds * (100 if len(rounds) == 2 else 1)  # one round is disturbed

    functions = [partial(takes, "first", 0.02), partial(takes, "second", 0.01)]
    times = time_interleaved(functions, 3, lambda: rounds.append(len(calls)))
    assert times == pytest.approx([0.02, 0.01])
    assert len(rounds) == 2 * 3
    turns = [set(calls[start:end]) for start, end in pairwise(rounds)]
    assert turns == [{"second"}, {"first"}, {"second"}, {"first"}, {"second"}]
    assert time_interleaved([], 2, lambda: None) == []


def test_the_difference_is_that_of_the_outputs_with_the_same_weights() -> None:
    blueprint = make_blueprint(d_model=8, num_heads=2, d_ff=8, src_vocab=9, tgt_vocab=9, max_len=8)
    model, other = build(blueprint, seed=0), build(blueprint, seed=1)
    tokens = padded_tokens(blueprint.sizes, 3, 5, seed=0)
    assert largest_difference(model, other, tokens.src, tokens.tgt) == 0
    other.head.register_forward_hook(lambda _module, _args, out: out - 3.0)
    assert largest_difference(model, other, tokens.src, tokens.tgt) == pytest.approx(3, abs=1e-5)


def test_what_stands_at_padding_makes_no_difference() -> None:
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 8, "src_vocab": 9, "tgt_vocab": 9, "max_len": 8}
    packed, padded = (build(make_blueprint(attention=name, **sizes), seed=0) for name in ("eager", "torch"))
    src, tgt = torch.tensor([[3, 4, 0, 0]]), torch.tensor([[1, 5, 0, 0]])
    assert largest_difference(packed, padded, src, tgt) < 1e-5
    accelerate(packed)
    assert largest_difference(packed, padded, src, tgt) < 1e-5
    assert not torch.allclose(packed(src, tgt), padded(src, tgt), atol=1e-3)
