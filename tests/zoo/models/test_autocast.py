"""Mixed precision: every model runs under autocast, and gives what float32 gives, nearly."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.zoo.torch_features import VOCAB, Batch, batch, blueprint_of, cases, flex_is_slow, make, pairs
from zoo.core.plugins import get_registry
from zoo.models.builder import build_decoding, build_loss
from zoo.models.transformer import Transformer
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.stepper import Stepper

NEAR = 0.1
"""Share of the largest value: bfloat16 keeps 8 bits of every factor."""
NEAR_GRADIENT = 0.2
"""Share of the gradient's length: where a ReLU switches, a gradient jumps."""
every_model = pytest.mark.parametrize(
    "case",
    [
        *cases("schedule", "optimizer", "decoding", "init", "assembly"),
        *pairs("norm", "norm-type"),  # a branch comes in bfloat16, the stream in float32
    ],
)


def step(
    model: Transformer, case: str, given: Batch, enabled: bool
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Output at real positions, loss and gradients of a training step, with or without autocast."""
    measure = build_loss(blueprint_of(case)).to(given.src.device)
    model.zero_grad(set_to_none=True)
    with torch.autocast(given.src.device.type, torch.bfloat16, enabled=enabled):
        out = model(given.src, given.tgt)
        loss = measure(out, given.tgt.roll(-1, dims=1))
    loss.backward()
    gradients = {n: p.grad.float() for n, p in model.named_parameters() if p.grad is not None}
    return out[given.real].detach().float(), loss.detach().float(), gradients


def near(got: Tensor, expected: Tensor) -> None:
    """Equal up to what bfloat16 rounds away, on the scale of the largest value."""
    scale = expected.abs().max().clamp(min=1e-3)
    assert torch.isfinite(got).all()
    assert (got - expected).abs().max() <= NEAR * scale, (got, expected)


@every_model
@pytest.mark.sampled(4)
def test_a_training_step_under_autocast_is_near_float32(case: str, device: torch.device) -> None:
    given, model = (
        Batch(*(side.to(device) for side in batch(12, 8, 8))),
        make(case, dtype=torch.float32).to(device),
    )
    expected, expected_loss, expected_gradients = step(model, case, given, enabled=False)
    got, loss, gradients = step(model, case, given, enabled=True)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert {p.grad.dtype for p in model.parameters() if p.grad is not None} == {torch.float32}
    near(got, expected)
    near(loss, expected_loss)
    assert gradients.keys() == expected_gradients.keys()
    whole, expected_whole = (
        torch.cat([one[name].flatten() for name in expected_gradients])
        for one in (gradients, expected_gradients)
    )
    assert torch.isfinite(whole).all()
    assert (whole - expected_whole).norm() <= NEAR_GRADIENT * expected_whole.norm()


@pytest.mark.parametrize(
    "case",
    flex_is_slow(
        cases(
            "schedule",
            "optimizer",
            "loss",
            "init",
            "feedforward",
            "norm-type",
            "embedding",
            "head",
            "assembly",
        )
    ),
)
@torch.no_grad()
def test_decoding_under_autocast_is_near_float32(case: str, device: torch.device) -> None:
    """Step by step on the same tokens, with cached keys and values and without."""
    model, given = (
        make(case, dtype=torch.float32).to(device).eval(),
        Batch(*(side.to(device) for side in batch(target=3))),
    )
    plain = Stepper(model, given.src, cached=False)
    with torch.autocast(device.type, torch.bfloat16):
        steppers = [Stepper(model, given.src, cached) for cached in (False, True)[: 1 + model.cacheable]]
    for tokens in given.tgt.clamp(min=3).T:  # [B, L] -> L x [B]
        expected = plain.step(tokens)
        with torch.autocast(device.type, torch.bfloat16):
            for stepper in steppers:
                near(stepper.step(tokens).float(), expected)


@pytest.mark.parametrize("decoding", [v.name for v in get_registry().variants("decoding")])
def test_every_way_of_decoding_runs_under_autocast(decoding: str, device: torch.device) -> None:
    model, given = make(f"decoding={decoding}", dtype=torch.float32).to(device), batch().src.to(device)
    strategy = build_decoding(blueprint_of(f"decoding={decoding}"))
    with torch.autocast(device.type, torch.bfloat16):
        tokens = generate(model, given, 6, strategy)
    assert tokens.dtype == given.dtype
    assert tokens.size(0) == given.size(0)
    assert 1 <= tokens.size(1) <= 6
    assert torch.all((tokens >= 0) & (tokens < VOCAB))
