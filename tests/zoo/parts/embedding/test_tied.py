"""Tied tables: one parameter in embedding and head, through building, training, moving and saving."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.zoo.support import accepted
from zoo.core.blueprint import make_blueprint
from zoo.core.plugins import get_registry
from zoo.models.builder import build, parameters_by_block
from zoo.models.checkpoint import load_checkpoint, save_checkpoint
from zoo.models.transformer import Transformer

TIED = [v.name for v in get_registry().variants("embedding") if v.capabilities["tied"]]
every_tied = pytest.mark.parametrize("name", TIED)
HEADS = [v.name for v in accepted("head")]
SIZES: dict[str, Any] = {
    "d_model": 8,
    "num_heads": 2,
    "d_ff": 16,
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
    "dropout": 0.0,
    "src_vocab": 11,
    "tgt_vocab": 11,
    "max_len": 16,
}
SRC, TGT = torch.tensor([[3, 4, 5, 6]]), torch.tensor([[1, 5, 7]])


def tiny(name: str, seed: int = 0, **choices: str) -> Transformer:
    return build(blueprint(name, **choices), seed=seed)


def blueprint(name: str, **choices: str) -> Any:
    loss = "kl" if choices.get("head") == "log-softmax" else "cross-entropy"
    return make_blueprint(embedding=name, loss=loss, **choices, **SIZES)


def tables(model: Transformer) -> Tensor:
    assert model.head.weight is model.embeddings.tgt_table.weight  # type: ignore[union-attr]
    return model.head.weight  # type: ignore[return-value]


def test_there_are_tied_ones() -> None:
    assert {"tied", "three-way"} <= set(TIED)


@every_tied
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("init", [v.name for v in get_registry().variants("init")])
def test_the_heads_weight_is_the_targets_table(name: str, head: str, init: str) -> None:
    model = tiny(name, head=head, init=init)
    assert tables(model).shape == (11, 8)
    assert len([one for one in model.parameters() if one is tables(model)]) == 1


@every_tied
def test_it_counts_once(name: str) -> None:
    counts = parameters_by_block(tiny(name))
    tied = 11 * 8 * (1 if name == "three-way" else 2)
    assert counts["embeddings"] == tied
    assert counts["head"] == 11  # the bias
    assert sum(counts.values()) == sum(one.numel() for one in tiny(name).parameters())


@every_tied
def test_the_head_multiplies_by_the_table_without_its_factor(name: str) -> None:
    model = tiny(name).double()
    hidden = torch.randn(2, 3, 8, dtype=torch.float64)
    bias = model.head.bias
    torch.testing.assert_close(model.head(hidden), torch.einsum("bld,vd->blv", hidden, tables(model)) + bias)


@every_tied
def test_logits_of_a_normed_vector_start_with_size_one(name: str) -> None:
    model = build(blueprint(name).with_sizes(d_model=256, src_vocab=2000, tgt_vocab=2000), seed=0)
    hidden = torch.nn.functional.layer_norm(torch.randn(20, 256), (256,))
    assert model.head(hidden).std().item() == pytest.approx(1, rel=0.05)


@every_tied
def test_the_gradient_is_that_of_both_uses(name: str) -> None:
    """Against the same model with the weights of embedding and head apart."""
    model = tiny(name).double()
    apart = copy.deepcopy(model)
    apart.head.weight = torch.nn.Parameter(apart.head.weight.detach().clone())
    for one in (model, apart):
        one(SRC, TGT).square().sum().backward()
    both = apart.embeddings.tgt_table.weight.grad + apart.head.weight.grad  # type: ignore[union-attr,operator]
    torch.testing.assert_close(tables(model).grad, both)
    assert apart.head.weight.grad.any()  # type: ignore[union-attr]


@every_tied
def test_a_step_of_training_keeps_the_tie(name: str) -> None:
    model = tiny(name)
    before = tables(model).detach().clone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(SRC, TGT).square().sum().backward()
    optimizer.step()
    assert not torch.equal(tables(model), before)


@every_tied
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_tie_survives_a_copy_and_another_type(name: str, dtype: torch.dtype) -> None:
    model = copy.deepcopy(tiny(name)).to(dtype)
    assert tables(model).dtype == dtype
    assert model(SRC, TGT).dtype == dtype


@every_tied
@pytest.mark.parametrize("attention", ["eager", "fused"])
@pytest.mark.parametrize("head", HEADS)
def test_a_checkpoint_comes_back_tied(name: str, attention: str, head: str, tmp_path: Path) -> None:
    model = tiny(name, attention=attention, head=head)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(SRC, TGT).square().sum().backward()
    optimizer.step()
    save_checkpoint(tmp_path, model, blueprint(name, attention=attention, head=head))
    loaded = load_checkpoint(tmp_path).model
    assert torch.equal(tables(loaded), tables(model))
    assert loaded.state_dict().keys() == model.state_dict().keys()
    assert torch.equal(loaded(SRC, TGT), model.eval()(SRC, TGT))


@every_tied
@pytest.mark.parametrize("init", [v.name for v in get_registry().variants("init")])
def test_the_table_is_drawn_once_as_a_table(name: str, init: str) -> None:
    """Where an initialisation leaves tables alone, it is what the embedding drew, whatever the head is."""
    weights = [tables(tiny(name, head=head, init=init)) for head in (*HEADS, "logits:bias=false")]
    assert all(torch.equal(one, weights[0]) for one in weights)
    if init != "gpt2":
        sizes = {"d_model": 256, "src_vocab": 999, "tgt_vocab": 999}
        large = build(blueprint(name, init=init).with_sizes(**sizes), seed=0)
        assert tables(large).std().item() == pytest.approx(1 / 16, rel=0.02)
