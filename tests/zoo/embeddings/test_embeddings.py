"""Embeddings: tables, scale and sharing."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from zoo.plugins import get_registry
from zoo.registry import Variant

EMBEDDINGS = get_registry().variants("embedding")
every_embedding = pytest.mark.parametrize("variant", EMBEDDINGS, ids=lambda v: v.name)


def make(name: str, vocab: int = 50, d_model: int = 64, **options: Any) -> Any:
    return get_registry().get("embedding", name).load()(vocab, vocab, d_model, **options)


@every_embedding
def test_each_token_has_a_vector_of_its_own_on_both_sides(variant: Variant) -> None:
    embeddings, tokens = make(variant.name), torch.arange(50).view(2, 25)
    for side in (embeddings.src, embeddings.tgt):
        vectors = side(tokens)
        assert vectors.shape == (2, 25, 64)
        assert len(torch.unique(vectors.flatten(0, 1), dim=0)) == 50
        assert torch.equal(side(tokens[1:, 3:4])[0, 0], vectors[1, 3])


def test_scaled_multiplies_by_the_root_of_the_width() -> None:
    embeddings, tokens = make("scaled", 500), torch.arange(500)
    torch.testing.assert_close(embeddings.src(tokens), embeddings.src_table.weight * 8)
    torch.testing.assert_close(embeddings.tgt(tokens), embeddings.tgt_table.weight * 8)
    assert embeddings.src(tokens).std().item() == pytest.approx(1, rel=0.05)  # positions are not drowned


@pytest.mark.parametrize("name", ["unscaled", "shared"])
@pytest.mark.parametrize("std", [0.1, 0.5])
def test_unscaled_tables_start_with_the_deviation_asked_for(name: str, std: float) -> None:
    embeddings = make(name, 500, std=std)
    assert embeddings.tgt(torch.arange(500)).std().item() == pytest.approx(std, rel=0.05)


@every_embedding
def test_the_tables_are_shared_as_declared(variant: Variant) -> None:
    embeddings, tokens = make(variant.name), torch.arange(50)
    shared = variant.capabilities["one_vocabulary"]
    assert len(list(embeddings.parameters())) == (1 if shared else 2)
    assert torch.equal(embeddings.src(tokens), embeddings.tgt(tokens)) == shared


@every_embedding
def test_two_vocabularies_work_or_are_refused_as_declared(variant: Variant) -> None:
    if variant.capabilities["one_vocabulary"]:
        with pytest.raises(ValueError, match="src_vocab=5, tgt_vocab=6"):
            variant.load()(5, 6, 4)
    else:
        embeddings = variant.load()(5, 6, 4)
        assert embeddings.tgt(torch.tensor([[5]])).shape == (1, 1, 4)
        with pytest.raises(IndexError):
            embeddings.src(torch.tensor([[5]]))
