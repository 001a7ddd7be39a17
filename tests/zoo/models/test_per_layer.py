"""Models whose layers differ: built, cached, saved, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.core.errors import ZooError
from zoo.models.builder import build
from zoo.models.checkpoint import load_checkpoint, save_checkpoint
from zoo.parts.attention.eager import EagerAttention
from zoo.parts.attention.gqa import GroupedQueryAttention
from zoo.parts.attention.sliding import SlidingAttention
from zoo.parts.encoding.per_layer import LayerPositions
from zoo.parts.encoding.rotary import RotaryPositions

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 5, "num_decoder_layers": 4,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 12, "dropout": 0.0,
}  # fmt: skip
TOKENS = torch.tensor([[3, 4, 5, 6, 7, 8, 9], [7, 8, 9, 10, 3, 0, 0]])
MIXED = {
    "attention": "sliding:window=1*2+eager",
    "encoding": "rotary*2+none+alibi",
    "feedforward": "relu+swiglu",
}


def make(assembly: str, **changes: Any) -> Any:
    """The model in eval mode and float64, its parameters away from 0 and 1."""
    model = build(make_blueprint(**{**SIZES, "assembly": assembly, **changes}), seed=0).double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    return model


def run(model: Any, tokens: Tensor = TOKENS) -> Tensor:
    return model(*[tokens for _ in model.stacks])  # type: ignore[no-any-return]


def test_each_layer_has_its_own_in_turn() -> None:
    model = make("encoder-decoder", **MIXED)
    for stack in (model.encoder, model.decoder):
        kinds = [type(layer.self_attention) for layer in stack.layers]
        expected = [SlidingAttention, SlidingAttention, EagerAttention] * 2
        assert kinds == expected[: len(kinds)]
        names = [type(layer.feed_forward).__name__ for layer in stack.layers]
        assert names == (["ReluFeedForward", "SwigluFeedForward"] * 3)[: len(names)]
    assert {type(layer.cross_attention) for layer in model.decoder.layers} == {EagerAttention}
    assert model.src_positions.layers == (0, 0, 1, 2, 0)
    assert model.tgt_positions.layers == (0, 0, 1, 2)


@pytest.mark.parametrize("assembly", ["encoder-decoder", "decoder", "encoder"])
@pytest.mark.parametrize("text", ["eager", "fused"])
def test_equal_layers_give_what_a_uniform_model_gives(assembly: str, text: str) -> None:
    """A pattern of exact attentions, and of rotary positions with the same frequencies, computes the same."""
    uniform = make(assembly, attention="eager", encoding="rotary")
    mixed = make(assembly, attention=f"eager+{text}", encoding="rotary+rotary:scaling=ntk")
    assert any(isinstance(module, LayerPositions) for module in mixed.modules())
    assert uniform.state_dict().keys() == mixed.state_dict().keys()
    torch.testing.assert_close(run(mixed), run(uniform))


@pytest.mark.parametrize("assembly", ["encoder-decoder", "decoder"])
def test_cached_decoding_is_the_full_forward_pass(assembly: str) -> None:
    model = make(assembly, **MIXED)
    assert model.cacheable
    tokens, caches = TOKENS[:, :5], model.new_caches()
    more = [model.encode(TOKENS), TOKENS] if assembly == "encoder-decoder" else []
    with torch.no_grad():
        steps = [model.decode(tokens[:, : end + 1], *more, caches=caches) for end in range(5)]
        torch.testing.assert_close(torch.cat(steps, dim=1), model.decode(tokens, *more))


def test_what_a_layer_without_positions_does_not_see() -> None:
    """Without positions in any layer, a permuted encoder permutes its output; one layer with them breaks that."""
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    tokens = TOKENS[:1]
    none = make("encoder", encoding="none")
    torch.testing.assert_close(none(tokens[:, order]), none(tokens)[:, order])
    some = make("encoder", encoding="none*4+rotary")
    assert not torch.allclose(some(tokens[:, order]), some(tokens)[:, order])
    last = some.encoder.layers[4].self_attention
    with torch.no_grad():
        last.q_proj.weight.zero_()  # the one layer with positions looks at none of them
        last.q_proj.bias.zero_()
    torch.testing.assert_close(some(tokens[:, order]), some(tokens)[:, order])


def test_windows_reach_as_far_as_their_layers_together() -> None:
    model = make("decoder", attention="sliding:window=1+sliding:window=2", num_decoder_layers=2)
    other = TOKENS[:1].clone()
    other[:, 0] = 10
    changed = (model(other) - model(TOKENS[:1])).abs().amax(-1)[0] > 1e-9
    assert changed.tolist() == [True] * 4 + [False] * 3


def test_layers_with_the_same_encoding_share_what_it_learns() -> None:
    model = make("decoder", encoding="t5+none+t5:std=1")
    assert [name for name, _ in model.tgt_positions.named_parameters()] == ["kinds.0.table", "kinds.2.table"]
    run(model).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_positions_fit_heads_of_each_layers_width() -> None:
    model = make("decoder", attention="gqa:head_dim=6+gqa:head_dim=10", encoding="rotary")
    assert [kind.cos.size(-1) for kind in model.tgt_positions.kinds] == [3, 5]
    assert isinstance(
        make("decoder", attention="gqa+eager", encoding="rotary").tgt_positions, RotaryPositions
    )
    assert run(model).shape == (2, 7, 11)


def test_a_checkpoint_comes_back(tmp_path: Path) -> None:
    blueprint = make_blueprint(**SIZES, **MIXED)
    model = build(blueprint, seed=1).eval()
    save_checkpoint(tmp_path, model, blueprint)
    loaded = load_checkpoint(tmp_path)
    assert loaded.blueprint == blueprint
    assert torch.equal(run(loaded.model), run(model))


def test_a_file_in_any_layer_needs_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("from zoo.parts.attention.eager import EagerAttention as Own\n")
    blueprint = make_blueprint(**SIZES, attention="eager+own.py:Own")
    save_checkpoint("saved", build(blueprint, seed=0), blueprint)
    with pytest.raises(ZooError, match=r"has a part from a file: own\.py:Own"):
        load_checkpoint("saved")
    assert load_checkpoint("saved", allow_code=True).blueprint == blueprint


def test_a_missing_plugin_is_named(tmp_path: Path) -> None:
    blueprint = make_blueprint(**SIZES, attention="eager+fused")
    save_checkpoint(tmp_path, build(blueprint, seed=0), blueprint)
    index = tmp_path / "zoo.json"
    data = json.loads(index.read_text().replace('"fused"', '"gone"'))
    data["origins"]["attention"]["gone"] = "absent-plugin"
    index.write_text(json.dumps(data))
    with pytest.raises(ZooError, match=r"There is no attention 'gone'(.|\n)* came from plugin absent-plugin"):
        load_checkpoint(tmp_path)


def test_a_part_of_ones_own_stands_in_all_layers() -> None:
    blueprint: Blueprint = make_blueprint(**SIZES, assembly="decoder", attention="sliding+eager")
    model: Any = build(blueprint, seed=0, parts={"attention": GroupedQueryAttention})
    assert {type(layer.self_attention) for layer in model.decoder.layers} == {GroupedQueryAttention}
