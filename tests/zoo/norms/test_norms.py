"""Norm placements: each is its formula, and declares whether a stack needs one more norm."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.blueprint import make_blueprint
from zoo.builder import build
from zoo.plugins import get_registry
from zoo.registry import Variant

NORMS = get_registry().variants("norm")
every_norm = pytest.mark.parametrize("variant", NORMS, ids=lambda v: v.name)
FORMULAS: dict[str, Callable[[Tensor, Any, Any], Tensor]] = {
    "post": lambda x, norm, f: norm(x + f(x)),
    "pre": lambda x, norm, f: x + f(norm(x)),
    "res-post": lambda x, norm, f: x + norm(f(x)),
}
SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 2, "num_decoder_layers": 1}


def make(variant: Variant, sublayers: int = 2, dropout: float = 0.0) -> Any:
    placement = variant.load()(partial(nn.LayerNorm, 5), sublayers, dropout).double()
    for parameter in placement.parameters():
        nn.init.normal_(parameter)
    return placement


@pytest.mark.parametrize("name", FORMULAS)
def test_a_placement_is_its_formula(name: str) -> None:
    placement = make(get_registry().get("norm", name), sublayers=3)
    x = torch.randn(2, 3, 5, dtype=torch.float64)
    sublayers = [torch.tanh, torch.square, lambda h: 2 * h - 1]
    expected = x
    for norm, sublayer in zip(placement.norms, sublayers, strict=True):
        written_out = partial(layer_norm, gain=norm.weight, shift=norm.bias)
        expected = FORMULAS[name](expected, written_out, sublayer)
    torch.testing.assert_close(placement(x, *sublayers), expected)


def layer_norm(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """Ba et al. 2016: the biased variance, eps inside the root."""
    centred = x - x.mean(-1, keepdim=True)
    return gain * centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() + shift


@every_norm
def test_each_sublayer_has_a_norm_of_its_own(variant: Variant) -> None:
    placement = make(variant, sublayers=3)
    norms = [module for module in placement.modules() if isinstance(module, nn.LayerNorm)]
    assert len(norms) == 3
    assert len({id(norm.weight) for norm in norms}) == 3


@every_norm
@pytest.mark.parametrize("given", [1, 3])
def test_another_number_of_sublayers_is_refused(variant: Variant, given: int) -> None:
    with pytest.raises(ValueError, match="zip"):
        make(variant, sublayers=2)(torch.randn(1, 2, 5, dtype=torch.float64), *[torch.tanh] * given)


@every_norm
def test_dropout_falls_on_the_branch_in_train_mode_only(variant: Variant) -> None:
    x = torch.randn(4, 50, 5, dtype=torch.float64)
    placement = make(variant, sublayers=1, dropout=0.5)
    calm = placement.eval()(x, torch.square)
    assert torch.equal(placement(x, torch.square), calm)
    placement.train()
    assert not torch.equal(placement(x, torch.square), calm)
    kept = placement(
        x, torch.zeros_like
    )  # an empty branch has nothing to drop: the stream itself is not dropped
    if variant.name == "pre":
        assert torch.equal(kept, x)
    elif variant.name == "post":
        assert torch.equal(kept, placement.eval()(x, torch.zeros_like))
    else:
        branch = (kept - x).abs()
        assert 0.4 < (branch == 0).double().mean() < 0.6


@every_norm
def test_a_stack_ends_in_one_more_norm_where_the_placement_declares_it(variant: Variant) -> None:
    model = build(make_blueprint(norm=variant.name, **SIZES), seed=0)
    expected = nn.LayerNorm if variant.capabilities["final_norm"] else nn.Identity
    assert type(model.encoder.final_norm) is expected
    assert type(model.decoder.final_norm) is expected


def test_pre_needs_a_final_norm_and_post_has_none() -> None:
    assert get_registry().get("norm", "pre").capabilities["final_norm"]
    assert not get_registry().get("norm", "post").capabilities["final_norm"]
