"""Initialisations: what they draw, what they leave alone, and that one seed gives one model."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.zoo.learning import learns
from zoo.core.blueprint import make_blueprint
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.models.builder import build
from zoo.parts.init.base import initialise, scale_branches

INITS = get_registry().variants("init")
every_init = pytest.mark.parametrize("variant", INITS, ids=lambda v: v.name)
SIZES: dict[str, Any] = {
    "d_model": 128,
    "num_heads": 4,
    "d_ff": 512,
    "num_encoder_layers": 3,
    "num_decoder_layers": 2,
    "dropout": 0.0,
    "src_vocab": 700,
    "tgt_vocab": 600,
    "max_len": 16,
}
SMALL = {**SIZES, "d_model": 8, "num_heads": 2, "d_ff": 12, "src_vocab": 11, "tgt_vocab": 11}


def make(variant: Variant | str, **options: Any) -> Any:
    variant = get_registry().get("init", variant) if isinstance(variant, str) else variant
    needed = {
        name: make_blueprint(**SIZES).sizes.__getattribute__(name) for name in variant.capabilities["needs"]
    }
    return variant.load()(**needed, **options)


def state(init: str = "xavier", seed: int = 0, sizes: Any = SIZES, **choices: str) -> dict[str, Tensor]:
    return build(make_blueprint(init=init, **choices, **sizes), seed=seed).state_dict()


def matrices(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n: w for n, w in weights.items() if w.dim() == 2 and not n.startswith("embeddings.")}


def biases(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Those of linear maps; a norm's weight has one dimension."""
    return {n: w for n, w in weights.items() if n.endswith(".bias") and weights[f"{n[:-4]}weight"].dim() == 2}


def is_normal(value: Tensor, std: float) -> None:
    """The deviation, the mean, and how many lie within one, two and three deviations."""
    scaled = value.flatten().double() / std
    assert scaled.std().item() == pytest.approx(1, rel=0.03)
    assert abs(scaled.mean().item()) < 0.03
    for width, share in ((1, 0.6827), (2, 0.9545), (3, 0.9973)):
        assert (scaled.abs() < width).double().mean().item() == pytest.approx(share, abs=0.015)


def is_uniform(value: Tensor, bound: float) -> None:
    """All within the bound, and every tenth of the range hit alike."""
    scaled = value.flatten().double() / bound
    assert scaled.abs().max() <= 1
    counts = torch.histc(scaled, 10, -1, 1) / scaled.numel()
    assert torch.all((counts - 0.1).abs() < 0.01)


class TestDistributions:
    def test_xavier(self) -> None:
        weights = state("xavier")
        for value in matrices(weights).values():
            is_uniform(value, (6 / (value.size(0) + value.size(1))) ** 0.5)
        assert not any(one.any() for one in biases(weights).values())

    def test_gpt2(self) -> None:
        weights = state("gpt2")
        for name, value in matrices(weights).items():
            layers = {"encoder": 3, "decoder": 2, "head": None}[name.partition(".")[0]]
            last = name.endswith(("out_proj.weight", "down_proj.weight"))
            is_normal(value, 0.02 / (2 * layers) ** 0.5 if layers and last else 0.02)
        ends = [name for name in matrices(weights) if name.endswith(("out_proj.weight", "down_proj.weight"))]
        assert len(ends) == 3 * 2 + 2 * 3  # cross-attention's too
        assert not any(one.any() for one in biases(weights).values())
        is_normal(weights["embeddings.src_table.weight"], 0.02)
        is_normal(weights["embeddings.tgt_table.weight"], 0.02)

    def test_gpt2_with_another_deviation(self) -> None:
        weights = state("gpt2:std=0.5")
        is_normal(weights["encoder.layers.0.feed_forward.up_proj.weight"], 0.5)
        is_normal(weights["encoder.layers.0.feed_forward.down_proj.weight"], 0.5 / 6**0.5)

    def test_gpt2_scales_a_gated_network_at_its_end_alone(self) -> None:
        weights = state("gpt2", feedforward="swiglu")
        network = "decoder.layers.1.feed_forward"
        is_normal(weights[f"{network}.gate_proj.weight"], 0.02)
        is_normal(weights[f"{network}.up_proj.weight"], 0.02)
        is_normal(weights[f"{network}.down_proj.weight"], 0.01)

    def test_small_normal(self) -> None:
        weights = state("small-normal")
        for value in matrices(weights).values():
            is_normal(value, (2 / (5 * 128)) ** 0.5)
        assert not any(one.any() for one in biases(weights).values())

    def test_torch(self) -> None:
        weights = state("torch")
        for value in matrices(weights).values():
            is_uniform(value, value.size(1) ** -0.5)
        for name, value in biases(weights).items():
            bound = weights[f"{name[:-4]}weight"].size(1) ** -0.5
            assert 0.8 * bound < value.abs().max() <= bound

    def test_torch_is_what_nn_linear_draws(self) -> None:
        init, linear = make("torch"), nn.Linear(300, 200)
        ours = nn.Linear(300, 200)
        with torch.no_grad():
            torch.manual_seed(7)
            init.matrix("weight", ours.weight)
            init.bias("bias", ours.bias, 300)
        torch.manual_seed(7)
        linear.reset_parameters()
        torch.testing.assert_close(ours.state_dict(), linear.state_dict())


class TestTables:
    KEEPING = ("xavier", "small-normal", "torch", "gpt2:tables=false")

    @pytest.mark.parametrize("init", KEEPING)
    def test_tables_keep_what_their_variant_drew(self, init: str) -> None:
        weights = state(init, embedding="unscaled:std=0.3")
        is_normal(weights["embeddings.src_table.weight"], 0.3)
        is_normal(weights["embeddings.tgt_table.weight"], 0.3)

    @pytest.mark.parametrize("name", [v.name for v in get_registry().variants("embedding")])
    def test_or_are_drawn_where_that_is_asked_for(self, name: str) -> None:
        sizes = {**SIZES, "tgt_vocab": 700}
        for key, table in state("gpt2", embedding=name, sizes=sizes).items():
            if key.startswith("embeddings."):
                is_normal(table, 0.02)
        for key, table in state("xavier:tables=true", embedding=name, sizes=sizes).items():
            if key.startswith("embeddings."):
                is_uniform(table, (6 / (700 + 128)) ** 0.5)

    @pytest.mark.parametrize("init", ["xavier:tables=true", "gpt2"])
    def test_a_tied_table_is_drawn_as_a_table(self, init: str) -> None:
        drawn = state(init, embedding="tied", sizes=SMALL)
        apart = state(init, embedding="scaled", sizes=SMALL)
        assert torch.equal(drawn["head.weight"], drawn["embeddings.tgt_table.weight"])
        for name in ("embeddings.src_table.weight", "embeddings.tgt_table.weight"):
            assert torch.equal(drawn[name], apart[name])


@every_init
def test_every_linear_map_is_drawn_once_and_nothing_else_is_touched(variant: Variant) -> None:
    """Its methods are called with each name of `state_dict` that they are for, and no other."""
    calls: dict[str, str] = {}
    init = make(variant)
    given = {
        "matrix": lambda name, value: init.matrix(name, value),
        "bias": lambda name, value, fan_in: init.bias(name, value, fan_in),
        "table": lambda name, value: init.table(name, value),
    }

    class Watching(variant.load()):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

    def watched(kind: str) -> Any:
        def call(self: Any, name: str, value: Tensor, *rest: Any) -> None:
            assert name not in calls
            calls[name] = kind
            given[kind](name, value, *rest)

        return call

    for kind in given:
        setattr(Watching, kind, watched(kind))
    model = build(
        make_blueprint(encoding="learned", norm_type="dyt", norm="rezero", embedding="tied", **SMALL), seed=0
    )
    model.tgt_positions = nn.Linear(3, 3)  # positions are not drawn, whatever they are made of
    before = {name: value.clone() for name, value in model.state_dict().items()}
    initialise(model, Watching(), skip=("head.weight",))
    after = model.state_dict()
    linear = {name for name, module in model.named_modules() if isinstance(module, nn.Linear)} - {
        "tgt_positions"
    }
    expected = {
        **{f"{name}.weight": "matrix" for name in linear if name != "head"},
        **{f"{name}.bias": "bias" for name in linear},
        "embeddings.src_table.weight": "table",
        "embeddings.tgt_table.weight": "table",
    }
    assert {name: kind for name, kind in calls.items() if name in expected} == expected
    assert {name for name in calls if name not in expected and "attention" not in name} == set()
    untouched = [name for name in before if name not in calls and name != "head.weight"]
    assert any("alphas" in name for name in untouched)
    assert any("src_positions" in name for name in untouched)
    for name in untouched:
        assert torch.equal(before[name], after[name])


@every_init
def test_norms_start_as_they_are(variant: Variant) -> None:
    weights = state(variant.name, sizes=SMALL)
    assert torch.equal(weights["encoder.final_norm.weight"], torch.ones(8))
    assert torch.equal(weights["encoder.final_norm.bias"], torch.zeros(8))


@every_init
def test_one_seed_gives_the_same_weights_whichever_exact_attention(variant: Variant) -> None:
    exact = [v.name for v in get_registry().variants("attention") if v.capabilities["exact"]]
    assert {"eager", "fused"} <= set(exact)
    first = state(variant.name, attention="eager", sizes=SMALL)
    for name in exact:
        other = state(variant.name, attention=name, sizes=SMALL)
        assert other.keys() == first.keys(), name
        assert all(torch.equal(value, other[key]) for key, value in first.items()), name


@every_init
def test_seeds_decide_and_the_global_generator_is_left_alone(variant: Variant) -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    first, same, other = (state(variant.name, seed, SMALL) for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(value, same[name]) for name, value in first.items())
    assert all(not torch.equal(value, other[name]) for name, value in matrices(first).items())


@every_init
def test_no_two_matrices_are_alike(variant: Variant) -> None:
    squares = [value for value in matrices(state(variant.name, sizes=SMALL)).values() if value.size(0) == 8]
    flat = [tuple(value.flatten().tolist()) for value in squares]
    assert len(set(flat)) == len(flat)


@every_init
def test_a_model_learns_from_there(variant: Variant) -> None:
    assert learns(init=variant.name)


def test_scaling_branches_by_one_changes_nothing_and_by_two_doubles_what_is_proportional() -> None:
    layer = build(make_blueprint(attention="fused", **SMALL), seed=0).decoder.layers[0]
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    scale_branches(layer, 1.0)
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())
    scale_branches(layer, 2.0)
    for name, value in layer.state_dict().items():
        branch = name.endswith(("v_proj.weight", "out_proj.weight", "up_proj.weight", "down_proj.weight"))
        assert torch.equal(value, before[name] * (2 if branch else 1)), name


@every_init
def test_sizes_that_it_needs_are_sizes_of_a_model(variant: Variant) -> None:
    known = asdict(make_blueprint().sizes)
    assert set(variant.capabilities["needs"]) <= known.keys()
    assert set(variant.capabilities["needs"]) <= set(inspect.signature(variant.load()).parameters)
