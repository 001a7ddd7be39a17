"""The builder: parts, seeds, counts, and models that keep what their parts promise."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from zoo.core.blueprint import make_blueprint
from zoo.core.errors import CombinationError, UnknownNameError, ZooError
from zoo.core.plugins import get_registry
from zoo.core.registry import Registry, Variant
from zoo.models.builder import build, parameters_by_block
from zoo.parts.attention.eager import EagerAttention
from zoo.parts.feedforward.gelu import GeluFeedForward

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 2, "num_decoder_layers": 3,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 9,
}  # fmt: skip


def blueprint(**changes: Any) -> Any:
    return make_blueprint(**{**SIZES, **changes})


@pytest.mark.parametrize("embedding", [v.name for v in get_registry().variants("embedding")])
@pytest.mark.parametrize("norm", [v.name for v in get_registry().variants("norm")])
def test_parameters_by_block_sum_to_the_total(embedding: str, norm: str) -> None:
    model = build(blueprint(embedding=embedding, norm=norm, encoding="learned"))
    counts = parameters_by_block(model)
    assert sum(counts.values()) == sum(p.numel() for p in model.parameters())
    assert all(counts.values())
    assert [name for name in counts if "layer" in name] == [
        "encoder layer 1", "encoder layer 2", "decoder layer 1", "decoder layer 2", "decoder layer 3",
    ]  # fmt: skip
    tied = get_registry().get("embedding", embedding).capabilities["tied"]
    assert counts["head"] == 11 if tied else 8 * 11 + 11  # a shared table counts where it first stands


def test_a_layer_holds_what_the_paper_says() -> None:
    counts = parameters_by_block(build(blueprint(norm="post")))
    attention, network, norm = 4 * (8 * 8 + 8), 8 * 12 + 12 + 12 * 8 + 8, 2 * 8
    assert counts["encoder layer 1"] == attention + network + 2 * norm
    assert counts["decoder layer 1"] == 2 * attention + network + 3 * norm


def test_the_seed_decides_the_weights_and_nothing_else_is_touched() -> None:
    before = torch.random.get_rng_state()
    first, same, other = (build(blueprint(), seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_without_a_seed_weights_come_from_the_global_generator() -> None:
    first, second = build(blueprint()).state_dict(), build(blueprint()).state_dict()
    assert not torch.equal(first["head.weight"], second["head.weight"])
    torch.manual_seed(0)
    assert torch.equal(build(blueprint()).state_dict()["head.weight"], first["head.weight"])


def test_initial_weights_are_xavier_and_biases_zero() -> None:
    state = build(blueprint(d_model=64, d_ff=256, attention="fused"), seed=0).state_dict()
    bound = (6 / (64 + 256)) ** 0.5
    weight = state["encoder.layers.0.feed_forward.up_proj.weight"]
    assert 0.98 * bound < weight.abs().max() <= bound
    query = state["decoder.layers.1.cross_attention.q_proj.weight"]
    assert query.abs().max() <= (6 / 128) ** 0.5  # of [D, D], not of a packed [3D, D]
    assert all(not value.any() for name, value in state.items() if name.endswith("bias"))
    assert torch.all(state["encoder.layers.0.norm.norms.0.weight"] == 1)


def test_layers_share_nothing() -> None:
    model = build(blueprint())
    assert len({id(p) for p in model.parameters()}) == len(
        list(model.named_parameters(remove_duplicate=False))
    )
    state = model.state_dict()
    assert not torch.equal(
        state["encoder.layers.0.feed_forward.up_proj.weight"],
        state["encoder.layers.1.feed_forward.up_proj.weight"],
    )


def test_a_part_can_stand_in_for_a_variant() -> None:
    calls: list[tuple[Any, ...]] = []

    def attention(*args: Any) -> nn.Module:
        calls.append(args)
        return EagerAttention(*args)

    model = build(blueprint(dropout=0.25), parts={"attention": attention, "feedforward": GeluFeedForward})
    assert calls == [(8, 2, 0.25)] * (2 + 3 * 2)
    assert type(model.encoder.layers[0].feed_forward) is GeluFeedForward


def test_options_reach_the_parts() -> None:
    model = build(
        blueprint(attention="fused:bias=false", encoding="learned:std=0", embedding="unscaled:std=0")
    )
    assert not [name for name in model.state_dict() if "attention" in name and "bias" in name]
    assert not model.src_positions.table.any()
    assert not model.embeddings.src_table.weight.any()


def test_dropout_is_handed_to_every_part() -> None:
    model = build(blueprint(dropout=0.25))
    rates = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
    assert len(rates) == 1 + 2 * 3 + 3 * 4
    assert set(rates) == {0.25}


def test_a_value_error_of_a_variant_names_the_variant() -> None:
    registry = Registry(get_registry().axes)
    for variant in get_registry().variants():
        registry.add(variant)
    registry.add(Variant("feedforward", "picky", f"{__name__}:Picky", "refuses"))
    with pytest.raises(CombinationError, match="feedforward=picky: 12 is too wide"):
        build(make_blueprint(registry, feedforward="picky", **SIZES), registry=registry)


class Picky(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        raise ValueError(f"{d_ff} is too wide")


def tokens(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows)


@pytest.mark.parametrize("attention", [v.name for v in get_registry().variants("attention")])
@pytest.mark.parametrize("mask", [v.name for v in get_registry().variants("mask")])
@pytest.mark.sampled(4)
def test_logits_are_the_same_in_whatever_form_masks_travel(
    attention: str, mask: str, device: torch.device
) -> None:
    src, tgt = tokens([3, 4, 5], [6, 7, 0], [0, 0, 0]), tokens([1, 8, 9, 2], [1, 5, 0, 0], [1, 0, 0, 0])
    expected = build(blueprint(attention="eager", mask="bool"), seed=0).eval()(src, tgt)
    if not get_registry().get("attention", attention).capabilities["exact"]:
        expected = build(blueprint(attention=attention, mask="bool"), seed=0).eval()(src, tgt)
    model = build(blueprint(attention=attention, mask=mask), seed=0).eval().to(device)
    got = model(src.to(device), tgt.to(device)).cpu()
    torch.testing.assert_close(got[tgt != 0], expected[tgt != 0], rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_a_pre_norm_model_equals_torchs_own() -> None:
    """`nn.Transformer` with norm_first is the same function; weights are carried over."""
    ours = build(blueprint(norm="pre", dropout=0.0), seed=0).double().eval()
    theirs = nn.Transformer(
        8, 2, 2, 3, 12, dropout=0.0, batch_first=True, norm_first=True, dtype=torch.float64
    ).train()  # in train mode it takes no shortcuts
    theirs.load_state_dict(in_torchs_names(ours))
    src, tgt = tokens([3, 4, 5], [6, 7, 0]), tokens([1, 8, 9, 2], [1, 5, 0, 0])
    x, y = (positions(embed(t)) for positions, embed, t in (
        (ours.src_positions, ours.embeddings.src, src), (ours.tgt_positions, ours.embeddings.tgt, tgt)
    ))  # fmt: skip
    out = theirs(
        x, y, tgt_mask=torch.ones(4, 4, dtype=torch.bool).triu(1), src_key_padding_mask=src == 0,
        tgt_key_padding_mask=tgt == 0, memory_key_padding_mask=src == 0,
    )  # fmt: skip
    torch.testing.assert_close(ours(src, tgt)[tgt != 0], ours.head(out)[tgt != 0])


def in_torchs_names(model: Any) -> dict[str, torch.Tensor]:
    """The weights of the stacks of a model as `nn.Transformer` names them."""
    state = model.state_dict()
    names = [("feed_forward.up_proj", "linear1"), ("feed_forward.down_proj", "linear2")]
    found = {}
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "multihead_attn"])):
        for i, _ in enumerate(getattr(model, side).layers):
            here = f"{side}.layers.{i}."
            for ours, theirs in zip(("self_attention", "cross_attention"), attentions, strict=False):
                for kind in ("weight", "bias"):
                    parts = [state[f"{here}{ours}.{letter}_proj.{kind}"] for letter in "qkv"]
                    found[f"{here}{theirs}.in_proj_{kind}"] = torch.cat(parts)
                    found[f"{here}{theirs}.out_proj.{kind}"] = state[f"{here}{ours}.out_proj.{kind}"]
            norms = [(f"norm.norms.{n}", f"norm{n + 1}") for n in range(len(attentions) + 1)]
            for (ours, theirs), kind in (
                (pair, kind) for pair in names + norms for kind in ("weight", "bias")
            ):
                found[f"{here}{theirs}.{kind}"] = state[f"{here}{ours}.{kind}"]
        for kind in ("weight", "bias"):
            found[f"{side}.norm.{kind}"] = state[f"{side}.final_norm.{kind}"]
    return found


def test_a_model_can_be_moved_to_another_dtype() -> None:
    src, tgt = tokens([3, 4, 0]), tokens([1, 5, 0])
    for attention in ("eager", "fused", "torch"):
        for mask in ("bool", "additive"):
            make = partial(build, blueprint(attention=attention, mask=mask), seed=0)
            expected = make().eval()(src, tgt)
            for dtype, tolerance in ((torch.float64, 1e-5), (torch.bfloat16, 0.1)):
                got = make().eval().to(dtype)(src, tgt)
                assert got.dtype == dtype
                torch.testing.assert_close(got.float(), expected, rtol=tolerance, atol=tolerance)


def test_what_is_given_to_build_is_checked() -> None:
    with pytest.raises(ZooError, match="expected a Blueprint, got str"):
        build("modern")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match=r"There is no axis 'attenton'\. Did you mean attention"):
        build(blueprint(), parts={"attenton": EagerAttention})
    with pytest.raises(
        UnknownNameError, match=r"There is no rule 'loss-and-heads'\. Did you mean loss-and-head"
    ):
        build(blueprint(), allow=("loss-and-heads",))
    with pytest.raises(CombinationError):
        build(blueprint(loss="kl"))
    build(blueprint(loss="kl"), allow="loss-and-head")
