"""Every attention of the live registry: copies, pickles and state_dicts are as if it stored its weights plainly."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.together import together
from tests.zoo.parts.attention.support import (
    WIDTH,
    every_attention,
    make,
    make_inputs,
)
from tests.zoo.support import fitting
from zoo.core.registry import Variant
from zoo.models.builder import build

SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 1}


def saved_and_loaded(module: Any) -> Any:
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def pickled(module: Any) -> Any:
    return pickle.loads(pickle.dumps(module))


every_way = together("way", [pickled, saved_and_loaded, copy.deepcopy])


@every_attention
@every_way
def test_a_copy_is_the_same_and_its_own(variant: Variant, way: Callable[[Any], Any]) -> None:
    attention, inputs = make(variant), make_inputs(4, 5)
    expected, state = attention(inputs.query, inputs.key, inputs.value), attention.state_dict()
    other = way(attention)
    assert torch.equal(other(inputs.query, inputs.key, inputs.value), expected)
    assert other.state_dict().keys() == state.keys()
    other.load_state_dict({name: torch.zeros_like(value) for name, value in state.items()})
    assert not other(inputs.query, inputs.key, inputs.value).any()
    assert torch.equal(attention(inputs.query, inputs.key, inputs.value), expected)


@every_attention
@every_way
def test_a_copied_model_is_the_same(variant: Variant, way: Callable[[Any], Any]) -> None:
    model = build(fitting({"attention": variant.name}, **SIZES), seed=0).eval()
    src, tgt = torch.tensor([[3, 4, 0]]), torch.tensor([[1, 5, 6]])
    assert torch.equal(way(model)(src, tgt), model(src, tgt))


def others(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Other values for the same names."""
    return {name: torch.randn_like(value) for name, value in state.items()}


@every_attention
@together("name", [f"{letter}_proj.{kind}" for letter in "qkvo" for kind in ("weight", "bias")])
def test_what_is_missing_is_named_and_everything_else_is_loaded(variant: Variant, name: str) -> None:
    name = name.replace("o_proj", "out_proj")
    layers = torch.nn.ModuleDict({"0": make(variant)})
    before = {key: value.clone() for key, value in layers.state_dict().items()}
    given = others(before)
    del given[f"0.{name}"]
    with pytest.raises(RuntimeError, match="Missing") as caught:
        make(variant).load_state_dict({key.removeprefix("0."): value for key, value in given.items()})
    assert f'"{name}"' in str(caught.value)
    assert str(caught.value).count('"') == 2  # nothing else is missing, nothing unexpected
    result = layers.load_state_dict(given, strict=False)
    assert (result.missing_keys, result.unexpected_keys) == ([f"0.{name}"], [])
    given[f"0.{name}"] = before[f"0.{name}"]
    assert all(torch.equal(value, given[key]) for key, value in layers.state_dict().items())


@every_attention
@together("strict", [True, False])
def test_a_wrong_shape_is_named_with_both_shapes(variant: Variant, strict: bool) -> None:
    attention = make(variant)
    expected = list(attention.state_dict()["k_proj.weight"].shape)
    given = attention.state_dict() | {"k_proj.weight": torch.zeros(3, 5)}
    with pytest.raises(RuntimeError, match=r"size mismatch for k_proj\.weight") as caught:
        attention.load_state_dict(given, strict=strict)
    assert all(shape in str(caught.value) for shape in ("[3, 5]", str(expected)))
    assert all(name not in str(caught.value) for name in ("qkv_proj", "in_proj"))


@every_attention
def test_what_is_unexpected_is_named_as_given(variant: Variant) -> None:
    attention = make(variant, bias=False)
    given = attention.state_dict() | {"q_proj.bias": torch.zeros(WIDTH), "odd": torch.zeros(1)}
    result = attention.load_state_dict(given, strict=False)
    assert sorted(result.unexpected_keys) == ["odd", "q_proj.bias"]
    assert not result.missing_keys


@every_attention
def test_a_model_without_memory_takes_over_what_it_is_assigned(variant: Variant) -> None:
    given = make(variant).state_dict()
    with torch.device("meta"):
        attention = make(variant)
    attention.load_state_dict(given, assign=True)
    assert all(torch.equal(value, given[name]) for name, value in attention.state_dict().items())
    assert all(parameter.device.type == "cpu" for parameter in attention.parameters())


@every_attention
def test_a_call_with_other_parameters_takes_named_parameters(variant: Variant) -> None:
    """`torch.func.functional_call` asks for the names under which a variant stores them, as the README says."""
    attention, other, inputs = make(variant), make(variant), make_inputs(4, 5)
    x = (inputs.query, inputs.key, inputs.value)
    parameters = dict(other.named_parameters())
    assert torch.equal(torch.func.functional_call(attention, parameters, x), other(*x))
