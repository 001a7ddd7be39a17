"""Embeddings: tables, scale and sharing."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.zoo.learning import learns
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import CombinationError
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.models.builder import build

EMBEDDINGS = get_registry().variants("embedding")
every_embedding = pytest.mark.parametrize("variant", EMBEDDINGS, ids=lambda v: v.name)
FACTORS = {
    "scaled": (8, 8),
    "unscaled": (1, 1),
    "shared": (1, 1),
    "tied": (8, 8),
    "three-way": (8, 8),
    "scaled-encoder": (8, 1),
}
"""What source and target are multiplied by at d_model 64."""
OF_SIZE_ONE = ["scaled", "tied", "three-way"]
WITH_STD = [v.name for v in EMBEDDINGS if any(option.name == "std" for option in v.options)]


def make(name: str, vocab: int = 50, d_model: int = 64, **options: Any) -> Any:
    return get_registry().get("embedding", name).load()(vocab, vocab, d_model, **options)


def tables(embeddings: Any) -> tuple[Any, Any]:
    """The tables of both sides, which may be the same."""
    if hasattr(embeddings, "table"):
        return embeddings.table, embeddings.table
    return getattr(embeddings, "src_table", embeddings.tgt_table), embeddings.tgt_table


def test_every_embedding_of_the_zoo_has_its_factors_here() -> None:
    assert {variant.name for variant in EMBEDDINGS if variant.origin.startswith("zoo.")} == FACTORS.keys()


@every_embedding
def test_each_token_has_a_vector_of_its_own_on_both_sides(variant: Variant) -> None:
    embeddings, tokens = make(variant.name), torch.arange(50).view(2, 25)
    for side in (embeddings.src, embeddings.tgt):
        vectors = side(tokens)
        assert vectors.shape == (2, 25, 64)
        assert len(torch.unique(vectors.flatten(0, 1), dim=0)) == 50
        assert torch.equal(side(tokens[1:, 3:4])[0, 0], vectors[1, 3])


@pytest.mark.parametrize("name", FACTORS)
def test_an_embedding_is_its_table_times_its_factor(name: str) -> None:
    embeddings, tokens = make(name), torch.tensor([[3, 49], [0, 3]])
    (src_table, tgt_table), (src, tgt) = tables(embeddings), FACTORS[name]
    torch.testing.assert_close(embeddings.src(tokens), src_table.weight[tokens] * src)
    torch.testing.assert_close(embeddings.tgt(tokens), tgt_table.weight[tokens] * tgt)


@pytest.mark.parametrize("name", OF_SIZE_ONE)
@pytest.mark.parametrize("d_model", [16, 256])
def test_scaled_vectors_start_with_size_one_so_that_positions_are_not_drowned(
    name: str, d_model: int
) -> None:
    embeddings = make(name, 2000, d_model)
    for side in (embeddings.src, embeddings.tgt):
        assert side(torch.arange(2000)).std().item() == pytest.approx(1, rel=0.03)


@pytest.mark.parametrize("name", WITH_STD)
@pytest.mark.parametrize("std", [0.1, 0.5])
def test_tables_start_with_the_deviation_asked_for(name: str, std: float) -> None:
    for table in tables(make(name, 500, std=std)):
        assert table.weight.std().item() == pytest.approx(std, rel=0.03)
        assert abs(table.weight.mean().item()) < 0.02 * std


@pytest.mark.parametrize("name", ["tied", "three-way"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 2.5])
def test_the_factor_of_a_tied_table_can_be_given(name: str, scale: float) -> None:
    embeddings, tokens = make(name, scale=scale), torch.arange(5)
    torch.testing.assert_close(embeddings.src(tokens), tables(embeddings)[0].weight[:5] * scale)
    torch.testing.assert_close(embeddings.tgt(tokens), tables(embeddings)[1].weight[:5] * scale)


@every_embedding
def test_the_tables_are_shared_as_declared(variant: Variant) -> None:
    embeddings = make(variant.name)
    shared = variant.capabilities["one_vocabulary"]
    assert len(list(embeddings.parameters())) == (1 if shared else 2)
    src_table, tgt_table = tables(embeddings)
    assert (src_table.weight is tgt_table.weight) == shared


@every_embedding
def test_two_vocabularies_work_or_are_refused_as_declared(variant: Variant) -> None:
    if variant.capabilities["one_vocabulary"]:
        with pytest.raises(ValueError, match=r"src_vocab=5, tgt_vocab=6\. Make them equal"):
            variant.load()(5, 6, 4)
        with pytest.raises(CombinationError, match=f"embedding={variant.name} keeps one table"):
            build(make_blueprint(embedding=variant.name, src_vocab=5, tgt_vocab=6))
    else:
        embeddings = variant.load()(5, 6, 4)
        assert embeddings.tgt(torch.tensor([[5]])).shape == (1, 1, 4)
        with pytest.raises(IndexError):
            embeddings.src(torch.tensor([[5]]))


@every_embedding
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_vectors_have_the_type_of_the_tables_and_gradients_reach_the_tokens_seen(
    variant: Variant, dtype: torch.dtype
) -> None:
    embeddings = make(variant.name, 9, 4).to(dtype)
    out = embeddings.src(torch.tensor([[2, 3]])), embeddings.tgt(torch.tensor([[7]]))
    assert {one.dtype for one in out} == {dtype}
    sum(one.sum() for one in out).backward()
    src_table, tgt_table = tables(embeddings)
    assert src_table.weight.grad.any(1)[[2, 3]].all()
    assert tgt_table.weight.grad.any(1)[7]
    assert not src_table.weight.grad[[0, 1, 4, 5, 6, 8]].any()


@every_embedding
def test_an_empty_sequence_is_taken(variant: Variant) -> None:
    assert make(variant.name).tgt(torch.empty(2, 0, dtype=torch.long)).shape == (2, 0, 64)


@every_embedding
def test_a_model_learns_with_it(variant: Variant) -> None:
    assert learns(embedding=variant.name)
