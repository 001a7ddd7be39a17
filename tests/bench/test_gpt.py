"""The GPT that the zoo's decoder is measured against computes the same function."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.bench.gpt import GPT, NEW, draw, ours
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding

NAMES = {
    "norm_1": "norm.norms.0", "norm_2": "norm.norms.1", "out": "self_attention.out_proj",
    "up": "feed_forward.up_proj", "down": "feed_forward.down_proj",
}  # fmt: skip


@pytest.mark.slow
def test_with_the_same_weights_both_give_the_same_logits_and_tokens() -> None:
    model: Any = ours()
    model.eval()
    other, found = GPT().eval(), model.state_dict()
    weights = {
        "tokens.weight": found["embeddings.tgt_table.weight"],
        "head.weight": found["head.weight"],
        "positions.weight": found["tgt_positions.table"],
        **{f"norm.{kind}": found[f"decoder.final_norm.{kind}"] for kind in ("weight", "bias")},
    }
    for number in range(len(other.blocks)):
        layer, block = f"decoder.layers.{number}", f"blocks.{number}"
        for kind in ("weight", "bias"):
            weights |= {f"{block}.{name}.{kind}": found[f"{layer}.{NAMES[name]}.{kind}"] for name in NAMES}
            packed = [found[f"{layer}.self_attention.{one}_proj.{kind}"] for one in "qkv"]
            weights[f"{block}.qkv.{kind}"] = torch.cat(packed)
    other.load_state_dict(weights)
    prompt = draw(5)[:2]
    with torch.no_grad():
        assert torch.allclose(model(prompt), other(prompt)[0], atol=1e-5)
    got = generate(model, prompt[:1], NEW, GreedyDecoding(), eos=-1)
    assert torch.equal(got, other.generate(prompt[:1], cached=True))
