"""Every decoding gives the same answers with cached keys and values, whatever the model is built from."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.zoo.parts.decoding.support import DECODINGS, EOS, IDS, PAD, decoding
from tests.zoo.support import fitting
from tests.zoo.torch_features import covering
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.rules import problems
from zoo.models.builder import build
from zoo.models.transformer import Transformer
from zoo.parts.decoding.generate import generate

VOCAB, STEPS = 9, 7
SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 2, "dropout": 0.1,
    "src_vocab": VOCAB, "tgt_vocab": VOCAB, "max_len": STEPS + 1,
}  # fmt: skip
SRC = torch.tensor([[3, 4, 5, 8], [6, 7, PAD, PAD], [5, PAD, PAD, PAD]])
OUTSIDE = ("loss", "schedule", "optimizer", "decoding", "init")
SLOW = ("attention=flex",)  # it makes a block mask at every step
CASES = [
    *(f"attention={v.name}" for v in get_registry().variants("attention")),
    *covering(*OUTSIDE, "attention"),
]
every_variant = pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] if case in SLOW else []) for case in CASES]
)


def make(case: str, seed: int) -> Transformer:
    """The default model with these choices and what goes with it, float64, far from its initial weights."""
    blueprint = fitting(dict(part.split("=") for part in case.split(",")), **SIZES)
    refused = problems(make_plan(blueprint))
    if refused:
        pytest.skip("; ".join(refused.values()))
    model = build(blueprint, seed=seed).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    return model


def answers(model: Transformer, name: str, cached: bool) -> Tensor:
    torch.manual_seed(7)
    return generate(model, SRC, STEPS, decoding(name), cached=cached, **IDS)


@every_variant
@pytest.mark.sampled(3)
def test_cached_answers_are_those_computed_anew(case: str) -> None:
    """Sources are padded, and rows end at different steps."""
    ends: set[int] = set()
    for seed in range(30):
        model = make(case, seed)
        if not model.cacheable:
            pytest.skip("declares that it cannot work with cached keys and values")
        for name in DECODINGS:
            cached, anew = answers(model, name, True), answers(model, name, False)
            assert torch.equal(cached, anew), name
            ends |= {row.index(EOS) if EOS in row else STEPS for row in cached.tolist()}
        if len(ends) > 2:
            return
    pytest.fail("no model of 30 ended its rows at three different steps")


@pytest.mark.parametrize("attention", ["eager", "fused", "gqa", "linear"])
@pytest.mark.parametrize("cached", [True, False])
def test_a_source_of_no_tokens_is_answered(attention: str, cached: bool) -> None:
    model = make(f"attention={attention}", 0)
    answers = generate(model, SRC[:, :0], STEPS, decoding("beam"), **IDS, cached=cached)
    assert answers.size(0) == 3
