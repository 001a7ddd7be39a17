"""What has no counterpart is refused, with a sentence."""

from __future__ import annotations

from typing import Any

import pytest
import torch.nn.functional as F
from torch import nn

from tests.zoo.models.interop.support import (
    HEADS,
    INEXACT,
    INNER,
    QUIET,
    WIDTH,
    make,
)
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import ZooError
from zoo.core.plugins import get_registry
from zoo.models.builder import build
from zoo.models.interop import from_torch, to_torch

pytestmark = QUIET


def refused(module: nn.Module, *parts: str, attention: str = "fused") -> None:
    with pytest.raises(ZooError) as caught:
        from_torch(module, attention)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kdim": 4}, "another width"),
        ({"vdim": 4}, "another width"),
        ({"add_bias_kv": True}, "add_bias_kv"),
        ({"add_zero_attn": True}, "add_zero_attn"),
    ],
)
def test_an_attention_with_extras_is_refused(options: dict[str, Any], said: str) -> None:
    refused(nn.MultiheadAttention(WIDTH, HEADS, **options), said, "the zoo's attentions do not support that")
    layer = make("encoder-layer")
    layer.self_attn = nn.MultiheadAttention(WIDTH, HEADS, **options)
    refused(layer, said)


def test_a_width_given_and_the_same_is_no_extra() -> None:
    from_torch(nn.MultiheadAttention(WIDTH, HEADS, kdim=WIDTH, vdim=WIDTH))


@pytest.mark.parametrize(
    ("activation", "said"),
    [
        (F.silu, "silu"),
        (nn.Tanh(), "Tanh()"),
        (nn.GELU(approximate="tanh"), "tanh"),
        (lambda x: x, "<lambda>"),
    ],
)
def test_another_activation_is_refused(activation: Any, said: str) -> None:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, activation=activation)
    refused(layer, said, "cannot be taken over: expected relu or (exact) gelu")


def test_what_is_not_torchs_own_class_is_refused() -> None:
    class Mine(nn.TransformerEncoderLayer):
        pass

    refused(nn.Linear(3, 3), "Linear has no counterpart", "nn.MultiheadAttention", "nn.Transformer")
    refused(Mine(WIDTH, HEADS, INNER), "Mine has no counterpart")
    stack = make("encoder")
    stack.layers[1] = Mine(WIDTH, HEADS, INNER)
    refused(stack, "Expected nn.TransformerEncoderLayer in this nn.TransformerEncoder, got Mine")
    with_custom = nn.Transformer(WIDTH, HEADS, 1, 1, INNER, custom_encoder=nn.Identity())
    refused(with_custom, "Expected nn.TransformerEncoder in this nn.Transformer, got Identity")


def test_other_norms_are_refused() -> None:
    layer = make("encoder-layer")
    layer.norm1 = nn.RMSNorm(WIDTH)
    refused(layer, "Expected nn.LayerNorm", "RMSNorm")
    stack = make("encoder")
    stack.norm = nn.Identity()
    refused(stack, "Expected nn.LayerNorm", "Identity")


def test_different_dropouts_on_the_stream_are_refused() -> None:
    layer = make("decoder-layer")
    layer.dropout3.p = 0.5
    refused(layer, "different dropouts (0.0, 0.5)", "Make them equal")


def test_weights_of_several_kinds_are_refused() -> None:
    layer = make("encoder-layer")
    layer.linear1.half()
    refused(layer, "several kinds (torch.float16 on cpu, torch.float64 on cpu)")


def test_parametrised_weights_are_refused() -> None:
    layer = make("encoder-layer")
    nn.utils.parametrizations.weight_norm(layer.linear1)
    refused(layer, "not those of such a part", "parametrised")


@pytest.mark.parametrize("attention", INEXACT)
def test_an_attention_that_is_not_exact_is_refused_both_ways(attention: str) -> None:
    refused(make("attention"), f"attention={attention} does not compute", "eager", attention=attention)
    part = get_registry().get("attention", attention).load()(WIDTH, HEADS)
    with pytest.raises(ZooError, match=f"no counterpart to {type(part).__name__} as the attention"):
        to_torch(part)


def test_an_unknown_attention_is_refused_with_the_nearest() -> None:
    refused(make("attention"), "There is no attention 'eagre'", "eager", attention="eagre")


@pytest.mark.parametrize("axis", ["feedforward", "norm", "norm-type"])
def test_what_torch_has_not_is_refused_on_the_way_back(axis: str) -> None:
    known = {
        "feedforward": ("relu", "gelu"),
        "norm": ("pre", "post"),
        "norm-type": ("torch-layernorm", "layernorm"),
    }
    for variant in get_registry().variants(axis):
        choices = {axis.replace("-", "_"): variant.name}
        model = build(make_blueprint(d_model=8, num_heads=2, d_ff=12, **choices, num_encoder_layers=1))
        if variant.name in known[axis]:
            assert isinstance(to_torch(model), nn.Transformer)
        else:
            with pytest.raises(ZooError, match="have no counterpart to "):
                to_torch(model)


def test_a_stack_without_layers_is_refused() -> None:
    for layers in ((0, 1), (1, 0)):
        refused(nn.Transformer(WIDTH, HEADS, *layers, INNER), "has no layers", "at least one")
