"""Norm placements: each is its formula, and is what it declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.zoo.learning import learns
from zoo.core.blueprint import Sizes, make_blueprint
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.models.builder import build
from zoo.parts.norm.deepnorm import DeepNorm
from zoo.parts.norm.rezero import ReZero

NORMS = get_registry().variants("norm")
every_norm = pytest.mark.parametrize("variant", NORMS, ids=lambda v: v.name)
SIZES: dict[str, Any] = {
    "d_model": 8,
    "num_heads": 2,
    "d_ff": 12,
    "num_encoder_layers": 2,
    "num_decoder_layers": 1,
    "dropout": 0.0,
    "src_vocab": 11,
    "tgt_vocab": 11,
    "max_len": 16,
}
DEPTHS = asdict(Sizes(num_encoder_layers=6, num_decoder_layers=3))
SUBLAYERS = (torch.tanh, torch.square, lambda h: 2 * h - 1)


def make(variant: Variant, sublayers: int = 3, dropout: float = 0.0) -> Any:
    needs = {name: DEPTHS[name] for name in variant.capabilities["needs"]}
    placement = variant.load()(partial(nn.LayerNorm, 5), sublayers, dropout, **needs).double()
    for parameter in placement.parameters():
        nn.init.normal_(parameter)
    return placement


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


def layer_norm(x: Tensor, norm: Any) -> Tensor:
    """Ba et al. 2016: the biased variance, eps inside the root."""
    centred = x - x.mean(-1, keepdim=True)
    return norm.weight * centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() + norm.bias


def one_by_one(step: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A formula for a whole layer from that of its i-th sublayer."""

    def layer(p: Any, x: Tensor, functions: Sequence[Any], drop: Callable[[Tensor], Tensor]) -> Tensor:
        for i, f in enumerate(functions):
            x = step(p, i, x, f, drop)
        return x

    return layer


FORMULAS: dict[str, Callable[..., Tensor]] = {
    "post": one_by_one(lambda p, i, x, f, drop: layer_norm(x + drop(f(x)), p.norms[i])),
    "pre": one_by_one(lambda p, i, x, f, drop: x + drop(f(layer_norm(x, p.norms[i])))),
    "res-post": one_by_one(lambda p, i, x, f, drop: x + drop(layer_norm(f(x), p.norms[i]))),
    "sandwich": one_by_one(
        lambda p, i, x, f, drop: x + drop(layer_norm(f(layer_norm(x, p.norms[i])), p.branch_norms[i]))
    ),
    "deepnorm": one_by_one(lambda p, i, x, f, drop: layer_norm(9**0.25 * x + drop(f(x)), p.norms[i])),
    "rezero": one_by_one(lambda p, i, x, f, drop: x + p.alphas[i] * drop(f(x))),
    "parallel": lambda p, x, functions, drop: x + sum(drop(f(layer_norm(x, p.norms[0]))) for f in functions),
}
NUM_NORMS = {"sandwich": 6, "parallel": 1, "rezero": 0}  # of three sublayers; one each if not here


class Fifth(nn.Module):
    """Stands in for dropout, whose place in a formula it shows."""

    def forward(self, x: Tensor) -> Tensor:
        return x / 5 + 1


def test_every_placement_of_the_zoo_has_its_formula_here() -> None:
    assert {variant.name for variant in NORMS if variant.origin.startswith("zoo.")} == FORMULAS.keys()


@pytest.mark.parametrize("name", FORMULAS)
def test_a_placement_is_its_formula(name: str) -> None:
    placement, x = make(get_registry().get("norm", name)), numbers(2, 3, 5)
    expected = FORMULAS[name](placement, x, SUBLAYERS, lambda h: h)
    torch.testing.assert_close(placement(x, *SUBLAYERS), expected)


@pytest.mark.parametrize("name", FORMULAS)
def test_dropout_falls_on_each_branch_and_never_on_the_stream(name: str) -> None:
    placement, x = make(get_registry().get("norm", name)), numbers(2, 3, 5)
    placement.dropout = Fifth()
    torch.testing.assert_close(
        placement(x, *SUBLAYERS), FORMULAS[name](placement, x, SUBLAYERS, placement.dropout)
    )


@every_norm
def test_dropout_acts_in_train_mode_only(variant: Variant) -> None:
    placement, x = make(variant, dropout=0.5), numbers(4, 50, 5)
    assert not torch.equal(placement(x, *SUBLAYERS), placement(x, *SUBLAYERS))
    placement.eval()
    calm = placement(x, *SUBLAYERS)
    assert torch.equal(placement(x, *SUBLAYERS), calm)
    placement.dropout.p = 0.0
    assert torch.equal(placement.train()(x, *SUBLAYERS), calm)


@every_norm
def test_norms_are_not_shared_and_as_many_as_the_formula_has(variant: Variant) -> None:
    norms = [module for module in make(variant).modules() if isinstance(module, nn.LayerNorm)]
    assert len({id(norm.weight) for norm in norms}) == len(norms)
    if variant.name in FORMULAS:
        assert len(norms) == NUM_NORMS.get(variant.name, 3)


@every_norm
@pytest.mark.parametrize("given", [0, 1, 3])
def test_another_number_of_sublayers_is_refused(variant: Variant, given: int) -> None:
    with pytest.raises(ValueError, match=r"zip|made for 2 sublayers, but got"):
        make(variant, sublayers=2)(numbers(1, 2, 5), *[torch.tanh] * given)


@every_norm
def test_positions_are_treated_each_by_itself_as_declared(variant: Variant) -> None:
    placement, x = make(variant).eval(), numbers(2, 4, 5)
    by_itself = placement(x[1:, 2:3], *SUBLAYERS)
    together = placement(x, *SUBLAYERS)[1:, 2:3]
    assert torch.allclose(by_itself, together) == variant.capabilities["cacheable"]


@every_norm
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_the_type_is_kept_and_gradients_are_finite_and_reach_everything(
    variant: Variant, dtype: torch.dtype
) -> None:
    placement = make(variant, dropout=0.1).to(dtype)
    x = torch.randn(2, 3, 5, dtype=dtype, requires_grad=True)
    out = placement(x, *SUBLAYERS)
    assert out.dtype == dtype
    (out * torch.randn_like(out)).sum().backward()
    for one in (x, *placement.parameters()):
        assert one.grad is not None
        assert one.grad.isfinite().all()
        assert one.grad.any()


@every_norm
def test_a_stack_ends_in_one_more_norm_where_the_placement_declares_it(variant: Variant) -> None:
    model = build(make_blueprint(norm=variant.name, norm_type="torch-layernorm", **SIZES), seed=0)
    for stack in (model.encoder, model.decoder):
        assert isinstance(stack.final_norm, nn.LayerNorm) == variant.capabilities["final_norm"]
        assert isinstance(stack.final_norm, (nn.LayerNorm, nn.Identity))


def test_a_stream_that_is_never_normed_needs_a_final_norm_and_a_normed_one_has_none() -> None:
    final = {v.name for v in NORMS if v.capabilities["final_norm"]}
    assert {"pre", "sandwich", "parallel"} <= final
    assert not {"post", "res-post", "deepnorm", "rezero"} & final


@every_norm
def test_decoding_with_a_cache_gives_the_same(variant: Variant) -> None:
    model = build(make_blueprint(norm=variant.name, **SIZES), seed=0).eval()
    src, tgt = torch.tensor([[3, 4, 5, 0]]), torch.tensor([[1, 5, 7, 2]])
    if not model.cacheable:
        pytest.skip("declares that it cannot be cached")
    with torch.no_grad():
        memory, caches = model.encode(src), model.new_caches()
        steps = [model.decode(tgt[:, : t + 1], memory, src, caches) for t in range(4)]
        torch.testing.assert_close(torch.cat(steps, 1), model(src, tgt), atol=1e-5, rtol=1e-5)


@every_norm
def test_a_model_learns_with_it(variant: Variant) -> None:
    assert learns(norm=variant.name)


class TestDeepNorm:
    def test_its_constants_are_the_papers(self) -> None:
        make_deep = partial(DeepNorm, partial(nn.LayerNorm, 4))
        encoder = make_deep(2, num_encoder_layers=18, num_decoder_layers=6)
        assert encoder.alpha == pytest.approx(0.81 * (18 * 18 * 18 * 18 * 6) ** 0.0625)
        assert encoder.gain == pytest.approx(0.87 / (18 * 18 * 18 * 18 * 6) ** 0.0625)
        decoder = make_deep(3, num_encoder_layers=18, num_decoder_layers=27)
        assert decoder.alpha == pytest.approx(3.0)  # (3 * 27)^(1/4)
        assert decoder.gain == pytest.approx(1 / 324**0.25)

    @pytest.mark.parametrize("sublayers", [0, 1, 4])
    def test_other_layers_are_refused(self, sublayers: int) -> None:
        with pytest.raises(ValueError, match=f"not for num_sublayers={sublayers}"):
            DeepNorm(nn.Identity, sublayers, num_encoder_layers=2, num_decoder_layers=2)

    @pytest.mark.parametrize("attention", ["eager", "fused"])
    @pytest.mark.parametrize("feedforward", ["relu", "swiglu"])
    def test_the_builder_shrinks_values_outputs_and_feed_forward(
        self, attention: str, feedforward: str
    ) -> None:
        choices = {"attention": attention, "feedforward": feedforward}
        sizes = {**SIZES, "num_encoder_layers": 4, "num_decoder_layers": 3}
        usual = build(make_blueprint(norm="post", **choices, **sizes), seed=0).state_dict()
        deep = build(make_blueprint(norm="deepnorm", **choices, **sizes), seed=0).state_dict()
        assert usual.keys() == deep.keys()
        betas = {"encoder": 0.87 * (4**4 * 3) ** (-1 / 16), "decoder": (12 * 3) ** (-1 / 4)}
        shrunk = (
            "v_proj.weight",
            "out_proj.weight",
            "up_proj.weight",
            "gate_proj.weight",
            "down_proj.weight",
        )
        scaled = {name for name in usual if not torch.equal(usual[name], deep[name])}
        assert scaled == {name for name in usual if name.endswith(shrunk)}
        for name in scaled:
            torch.testing.assert_close(deep[name], usual[name] * betas[name.partition(".")[0]])


class TestReZero:
    def model(self, choice: str = "rezero") -> Any:
        return build(make_blueprint(norm=choice, embedding="unscaled", **SIZES), seed=0)

    def test_a_stack_starts_as_the_identity(self) -> None:
        model = self.model()
        x = torch.randn(2, 3, 8)
        assert torch.equal(model.encoder(x), x)

    def test_no_gradient_reaches_the_sublayers_before_the_first_step_and_all_after(self) -> None:
        model, src, tgt = self.model(), torch.tensor([[3, 4, 5]]), torch.tensor([[1, 5, 4]])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

        def moved() -> set[str]:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(src, tgt).flatten(0, 1), tgt.flatten()).backward()
            return {name for name, one in model.named_parameters() if one.grad is not None and one.grad.any()}

        first = moved()
        assert {name for name in first if name.startswith("decoder")} == {"decoder.layers.0.norm.alphas"}
        assert not any(name.startswith("encoder") for name in first)
        optimizer.step()
        moved()  # the memory is still of no consequence to the encoder's own branches
        optimizer.step()
        exempt = "k_proj.bias"  # a key's bias adds the same to all scores of a query
        still = {name for name, _ in model.named_parameters()} - moved()
        assert not {name for name in still if not name.endswith(exempt)}

    def test_it_starts_where_it_is_told(self) -> None:
        assert torch.equal(ReZero(nn.Identity, 3, start=0.25).alphas, torch.full((3,), 0.25))
        assert not torch.equal(
            *(self.model(f"rezero:start={s}")(*[torch.tensor([[3, 4]])] * 2) for s in (0, 1))
        )

    def test_it_has_no_norm(self) -> None:
        assert not [one for one in self.model().modules() if isinstance(one, nn.LayerNorm)]
