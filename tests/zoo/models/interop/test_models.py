"""Whole models: an nn.Transformer into the zoo's stacks, and back."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.zoo.models.interop.support import (
    HEADS,
    INNER,
    QUIET,
    TARGET_KEEP,
    WIDTH,
    every_exact,
    make,
    same,
    theirs,
)
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import ZooError
from zoo.core.plugins import get_registry
from zoo.models.builder import build
from zoo.models.interop import load_torch, to_torch

pytestmark = QUIET


def sizes(**given: Any) -> dict[str, Any]:
    return {
        "d_model": WIDTH,
        "num_heads": HEADS,
        "d_ff": INNER,
        "num_encoder_layers": 2,
        "num_decoder_layers": 3,
        "src_vocab": 11,
        "tgt_vocab": 11,
        "max_len": 16,
        "dropout": 0.0,
        **given,
    }


SRC = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 10, 0, 0], [3, 0, 0, 0, 0]])
TGT = torch.tensor([[1, 5, 6, 7], [1, 8, 0, 0], [1, 0, 0, 0]])


def through_torch(model: Any, module: nn.Transformer) -> Tensor:
    """The logits of a model with torch's stacks in place of its own, where the target is no padding."""
    x = model.src_positions(model.embeddings.src(SRC))
    y = model.tgt_positions(model.embeddings.tgt(TGT))
    return model.head(theirs("transformer", module, x, y))[TARGET_KEEP]  # type: ignore[no-any-return]


@every_exact
@pytest.mark.parametrize("feedforward", ["relu", "gelu"])
@pytest.mark.parametrize(("norm", "norm_type"), [("pre", "torch-layernorm"), ("post", "layernorm")])
def test_a_model_loads_an_nn_transformer_and_gives_it_back(
    attention: str, feedforward: str, norm: str, norm_type: str
) -> None:
    choices = {"attention": attention, "feedforward": feedforward, "norm": norm, "norm_type": norm_type}
    model = build(make_blueprint(**choices, **sizes()), seed=0).double()
    module = make("transformer", norm_first=norm == "pre", activation=feedforward)
    if norm == "post":
        module.encoder.norm = module.decoder.norm = None
    head = model.head.weight.clone()
    load_torch(model, module)
    assert torch.equal(model.head.weight, head)
    torch.testing.assert_close(model(SRC, TGT)[TARGET_KEEP], through_torch(model, module))
    same(to_torch(model).state_dict(), module.state_dict())
    torch.testing.assert_close(model(SRC, TGT)[TARGET_KEEP], through_torch(model, to_torch(model)))


def test_missing_biases_and_gains_are_filled_in_and_surplus_ones_refused() -> None:
    model = build(make_blueprint(**sizes()), seed=0).double()
    module = make("transformer", norm_first=True, bias=False)
    for layer in module.encoder.layers:
        layer.norm1 = nn.LayerNorm(WIDTH, elementwise_affine=False)
    load_torch(model, module)
    torch.testing.assert_close(model(SRC, TGT)[TARGET_KEEP], through_torch(model, module))
    without = build(make_blueprint(attention="eager:bias=false", **sizes()), seed=0).double()
    before = {name: value.clone() for name, value in without.state_dict().items()}
    with pytest.raises(ZooError, match=re.escape("which has no encoder.layers.0.self_attention.q_proj.bias")):
        load_torch(without, make("transformer", norm_first=True))
    same(without.state_dict(), before)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_torchs_counterpart_is_made_without_a_warning(norm: str) -> None:
    model = build(make_blueprint(norm=norm, **sizes()), seed=0).eval()
    with torch.no_grad():
        to_torch(model)(torch.zeros(2, 3, WIDTH), torch.zeros(2, 3, WIDTH))


def test_dtype_and_mode_of_the_model_stay() -> None:
    model = build(make_blueprint(**sizes()), seed=0).eval()
    load_torch(model, make("transformer", norm_first=True))
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert not any(one.training for one in model.modules())
    assert not any(one.training for one in to_torch(model).modules())


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ({"d_model": 16}, {}, "encoder, d_model: expected 16, got 8"),
        ({"num_heads": 4}, {}, "decoder, num_heads: expected 4, got 2"),
        ({"d_ff": 16}, {}, "encoder, d_ff: expected 16, got 12"),
        ({"num_decoder_layers": 4}, {}, "decoder, layers: expected 4, got 3"),
        ({"feedforward": "gelu"}, {}, "decoder, activation: expected gelu, got relu"),
        ({"norm": "post"}, {}, "encoder, norm: expected post, got pre"),
        ({"norm_type": "torch-layernorm:eps=0.01"}, {}, "encoder, eps: expected 0.01, got 1e-05"),
        ({}, {"norm_first": False}, "decoder, norm: expected pre, got post"),
        ({"norm": "post"}, {"norm_first": False}, "a post-norm model has none"),
        ({"norm": "post"}, {"norm_first": False}, "decoder, final norm: expected none, got one"),
    ],
)
def test_a_model_that_is_another_function_is_refused(
    given: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    model = build(make_blueprint(**sizes(**given)), seed=0)
    with pytest.raises(ZooError, match="does not fit the model") as caught:
        load_torch(model, make("transformer", **{"norm_first": True, **options}))
    assert said in str(caught.value)


def test_other_things_than_an_nn_transformer_are_not_loaded_into_a_model() -> None:
    model = build(make_blueprint(**sizes()), seed=0)
    with pytest.raises(ZooError, match=r"Expected an nn\.Transformer .* got nn\.TransformerEncoder\."):
        load_torch(model, make("encoder"))


INSIDE = [v.name for v in get_registry().variants("encoding") if v.capabilities["acts_on"] != "embedding"]


@pytest.mark.parametrize("encoding", INSIDE)
def test_an_encoding_inside_the_attention_is_refused(encoding: str) -> None:
    model = build(make_blueprint(encoding=encoding, **sizes()), seed=0)
    for convert in (lambda: to_torch(model), lambda: load_torch(model, make("transformer"))):
        with pytest.raises(ZooError, match="acts inside the attention"):
            convert()
