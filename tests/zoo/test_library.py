"""The zoo as a library: `import zoo` without torch, every preset and variant by name, errors, examples."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest
import torch
from torch import nn

import zoo
import zoo.library
from tests.zoo.support import fitting
from zoo.core.blueprint import Sizes, get_presets
from zoo.core.errors import CombinationError, UnknownNameError
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant

TINY = {
    "d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 9, "tgt_vocab": 9, "max_len": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    "code", ["zoo", "zoo, zoo.library; zoo.list_variants('attention'); zoo.make_blueprint('modern')"]
)
def test_importing_and_listing_imports_no_torch(code: str) -> None:
    check = f"import {code}\nimport sys; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True, timeout=600)


def test_what_is_offered_is_there_and_documented() -> None:
    assert {*zoo.__all__} <= {*dir(zoo)}
    for name in zoo.__all__:
        assert getattr(zoo, name) is getattr(zoo.library, name, zoo.__version__)
    with pytest.raises(AttributeError, match="module 'zoo' has no attribute 'biuld'"):
        zoo.biuld  # noqa: B018


def test_the_examples_in_the_docstrings_are_true() -> None:
    found = doctest.testmod(zoo.library, raise_on_error=False)
    assert (found.attempted >= 5, found.failed) == (True, 0)


def test_names_are_those_of_the_registry() -> None:
    assert zoo.list_axes() == [axis.name for axis in get_registry().axes]
    assert [name for axis in zoo.list_axes() for name in zoo.list_variants(axis)] == [
        variant.name for variant in get_registry().variants()
    ]
    assert zoo.list_variants("norm_type") == zoo.list_variants("norm-type")
    assert zoo.list_presets() == list(get_presets())


@pytest.mark.parametrize("variant", get_registry().variants(), ids=lambda v: f"{v.axis}-{v.name}")
def test_every_variant_can_be_built_by_name(variant: Variant) -> None:
    fits = {
        a.replace("-", "_"): str(c) for a, c in fitting({variant.axis: variant.name}, **TINY).choices.items()
    }
    blueprint = zoo.make_blueprint(**fits, **TINY)
    assert blueprint[variant.axis].name == variant.name
    rules = ("loss-and-head",) if variant.name == "softmax" else ()
    model = zoo.build(**fits, **TINY, seed=0, allow=rules)
    tokens = torch.tensor([[3, 4, 5]])
    assert isinstance(model, nn.Module)
    if model.reads == "images":
        assert model(model.stand_in(tokens)).shape == (1, 1, 9)
    else:
        assert model(*[tokens for _ in model.stacks]).shape == (1, 3, 9)


@pytest.mark.parametrize("name", get_presets())
def test_every_preset_can_be_built_by_name(name: str) -> None:
    preset = get_presets()[name]
    sizes = {
        **TINY,
        "d_model": 16,
        "num_heads": 8,
        "max_len": 16,
    }  # as many heads as the most of keys and values
    sizes |= {
        "gemma-3-like": {"num_decoder_layers": 6},
        "vit-base": {"max_len": 197},
        "vit-tiny": {"max_len": 17},
    }.get(name, {})
    model = zoo.build(name, seed=0, **sizes).eval()
    again = zoo.build(preset.blueprint().with_sizes(**sizes), seed=0).eval()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    if preset.corrected:
        assert zoo.make_blueprint(name, corrected=True) == preset.blueprint(corrected=True)


def test_choices_change_a_preset_and_a_blueprint_alike() -> None:
    changed = {"norm": "post", "norm_type": "rmsnorm", "d_model": 16}
    by_name = zoo.make_blueprint("reverse", **changed)
    assert (str(by_name["norm"]), by_name["norm-type"].name, by_name.sizes.d_model) == ("post", "rmsnorm", 16)
    first = zoo.build("reverse", seed=1, **changed)
    second = zoo.build(zoo.make_blueprint("reverse"), seed=1, **changed)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert zoo.make_blueprint() == zoo.make_blueprint(attention=get_registry().axis("attention").default)
    assert zoo.make_blueprint().sizes == Sizes()


def test_what_is_wrong_is_a_sentence() -> None:
    with pytest.raises(UnknownNameError, match=r"There is no preset 'vaswani'\. Did you mean vaswani2017"):
        zoo.build("vaswani")
    with pytest.raises(UnknownNameError, match=r"There is no attention 'fusd'\. Did you mean fused"):
        zoo.build("reverse", attention="fusd")
    for preset in (None, "reverse"):
        with pytest.raises(
            UnknownNameError, match=r"There is no axis or size 'd_modell'\. Did you mean d_model"
        ):
            zoo.make_blueprint(preset, d_modell=3)
    with pytest.raises(UnknownNameError, match=r"There is no axis 'atention'\. Did you mean attention"):
        zoo.list_variants("atention")
    with pytest.raises(CombinationError, match=r"rule loss-and-head"):
        zoo.build("reverse", loss="kl")
    with pytest.raises(zoo.ZooError, match="name one"):
        zoo.make_blueprint(corrected=True)
    with pytest.raises(zoo.ZooError, match="not of a blueprint"):
        zoo.build(zoo.make_blueprint(), corrected=True)
