"""What a type checker knows of a model is true. Checked by mypy too (`make lint`): see `assert_type`."""

from __future__ import annotations

import pytest
from typing_extensions import assert_type

import zoo
from zoo.models.decoder_only import DecoderOnly
from zoo.models.encoder_only import EncoderOnly
from zoo.models.transformer import Model, Transformer


def test_the_type_of_an_assembly_is_known_where_it_is_written_out() -> None:
    models: dict[Model, type[Model]] = {
        assert_type(zoo.build(seed=0, d_model=16), Transformer): Transformer,
        assert_type(
            zoo.build("gpt-tiny", assembly="encoder-decoder", embedding="unscaled"), Transformer
        ): Transformer,
        assert_type(zoo.build(assembly="decoder", d_model=16), DecoderOnly): DecoderOnly,
        assert_type(zoo.build("reverse", assembly="decoder", max_len=32), DecoderOnly): DecoderOnly,
        assert_type(zoo.build(assembly="encoder", d_model=16), EncoderOnly): EncoderOnly,
    }
    assert all(type(model) is expected for model, expected in models.items())


@pytest.mark.parametrize("name", ["reverse", "gpt-tiny", "bert-tiny", "vit-tiny"])
def test_the_type_of_a_preset_is_found_out(name: str) -> None:
    model = assert_type(zoo.build(name), Model)
    assert isinstance(model, (Transformer, DecoderOnly)) == ("decoder" in model.stacks)
    if isinstance(model, DecoderOnly):
        assert_type(model, DecoderOnly)
    assert ("decoder" in model.stacks) == hasattr(model, "decode")
    assert ("encoder" in model.stacks) == hasattr(model, "encode")
