"""Norm types: each is its formula, whatever the numbers are like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.zoo.learning import learns
from zoo.core.blueprint import make_blueprint
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.models.builder import build

TYPES = get_registry().variants("norm-type")
every_type = pytest.mark.parametrize("variant", TYPES, ids=lambda v: v.name)
LAYER_NORMS = ["layernorm", "torch-layernorm"]


def layer_norm(n: Any, x: Tensor) -> Tensor:
    mean = x.sum(-1, keepdim=True) / x.size(-1)
    variance = ((x - mean) ** 2).sum(-1, keepdim=True) / x.size(-1)
    return n.weight * (x - mean) / torch.sqrt(variance + n.eps) + n.bias


FORMULAS: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "layernorm": layer_norm,
    "torch-layernorm": layer_norm,
    "rmsnorm": lambda n, x: n.weight * x / torch.sqrt((x * x).sum(-1, keepdim=True) / x.size(-1) + n.eps),
    "scalenorm": lambda n, x: n.scale * x / torch.sqrt((x * x).sum(-1, keepdim=True)),
    "dyt": lambda n, x: n.weight * (1 - 2 / (torch.exp(2 * n.alpha * x) + 1)) + n.bias,
    "none": lambda n, x: x,
}


def make(variant: Variant | str, d_model: int = 7, **options: Any) -> Any:
    """A norm with parameters drawn at random."""
    variant = get_registry().get("norm-type", variant) if isinstance(variant, str) else variant
    norm = variant.load()(d_model, **options).double()
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    return norm


def test_every_norm_of_the_zoo_has_its_formula_here() -> None:
    assert {variant.name for variant in TYPES if variant.origin.startswith("zoo.")} == FORMULAS.keys()


@pytest.mark.parametrize("name", FORMULAS)
def test_a_norm_is_its_formula(name: str) -> None:
    norm, x = make(name), torch.randn(2, 3, 7, dtype=torch.float64)
    torch.testing.assert_close(norm(x), FORMULAS[name](norm, x))


@pytest.mark.parametrize("name", [*LAYER_NORMS, "rmsnorm"])
def test_eps_stands_under_the_root(name: str) -> None:
    norm = make(name, eps=3.0)
    x = torch.randn(2, 3, 7, dtype=torch.float64)
    assert norm.eps == 3.0
    torch.testing.assert_close(norm(x), FORMULAS[name](norm, x))


@every_type
def test_positions_are_normed_each_by_itself_in_any_shape(variant: Variant) -> None:
    norm, x = make(variant), torch.randn(2, 3, 4, 7, dtype=torch.float64)
    out = norm(x)
    assert out.shape == x.shape
    torch.testing.assert_close(norm(x[1, 2, 3]), out[1, 2, 3])
    assert norm(x[:0]).shape == (0, 3, 4, 7)


@every_type
def test_gradients_are_those_of_the_function(variant: Variant) -> None:
    norm = make(variant)
    x = torch.randn(2, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(norm, (x,))
    assert torch.autograd.gradgradcheck(norm, (x,))
    norm(x).square().sum().backward()
    assert all(one.grad is not None and one.grad.any() for one in norm.parameters())


@every_type
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("row", ["zeros", "constant", "large", "offset", "tiny"])
def test_hostile_rows_are_finite_forwards_and_backwards(
    variant: Variant, dtype: torch.dtype, row: str
) -> None:
    rows = {
        "zeros": torch.zeros(16),
        "constant": torch.full((16,), 3.3),
        "large": torch.randn(16) * 6e3,  # its square does not fit float16
        "offset": torch.randn(16) + 3e4,
        "tiny": torch.randn(16) * 1e-6,
    }
    norm = variant.load()(16).to(dtype)
    x = rows[row].to(dtype).requires_grad_()
    out = norm(x)
    assert out.dtype == dtype
    assert out.isfinite().all()
    if dtype == torch.float16:
        return  # ScaleNorm's true gradient at zero, sqrt(D) / eps, does not fit
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert all(one.grad.isfinite().all() for one in norm.parameters())


@every_type
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_half_types_are_the_formula_up_to_one_rounding(
    variant: Variant, dtype: torch.dtype, shift: float
) -> None:
    """Statistics in half precision would be off by several per cent."""
    norm = make(variant, 256).to(dtype)
    x = (torch.randn(4, 256) * 10 + shift).to(dtype)
    if variant.name not in FORMULAS:
        pytest.skip("a plugin's own")
    expected = FORMULAS[variant.name](norm.double(), x.double())
    steps = 1 if variant.name != "dyt" else 4  # elementwise: each operation rounds
    torch.testing.assert_close(
        norm.to(dtype)(x).double(), expected, rtol=steps * torch.finfo(dtype).eps, atol=steps * 4e-3
    )


@every_type
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_what_comes_out_has_the_type_of_what_goes_in_whatever_that_of_the_parameters(
    variant: Variant, dtype: torch.dtype
) -> None:
    norm, x = variant.load()(8), torch.randn(3, 8).to(dtype)
    out = norm(x)
    assert out.dtype == dtype
    torch.testing.assert_close(out, norm(x.float()).to(dtype))


class TestLayerNorm:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("shift", [0.0, 100.0])
    def test_written_out_it_equals_torchs(self, dtype: torch.dtype, shift: float) -> None:
        ours = make("layernorm", 64).to(dtype)
        theirs = nn.LayerNorm(64, dtype=dtype)
        theirs.load_state_dict(ours.state_dict())
        x = (torch.randn(5, 64) + shift).to(dtype)
        torch.testing.assert_close(ours(x), theirs(x), atol=1e-4 if shift else 1e-6, rtol=1.6e-2)

    def test_weights_move_to_nn_layernorm_and_back(self) -> None:
        ours, theirs = make("layernorm"), nn.LayerNorm(7)
        assert ours.state_dict().keys() == theirs.state_dict().keys()
        ours.load_state_dict(theirs.state_dict())
        assert torch.equal(ours.weight, torch.ones(7, dtype=torch.float64))

    @pytest.mark.parametrize("name", LAYER_NORMS)
    def test_rows_have_mean_zero_and_variance_one(self, name: str) -> None:
        norm = get_registry().get("norm-type", name).load()(64).double()
        out = norm(torch.randn(9, 64, dtype=torch.float64) * 4 + 7)
        torch.testing.assert_close(out.mean(-1), torch.zeros(9, dtype=torch.float64))
        torch.testing.assert_close(
            out.var(-1, unbiased=False), torch.ones(9, dtype=torch.float64), atol=1e-5, rtol=0
        )

    @pytest.mark.parametrize("name", LAYER_NORMS)
    def test_a_constant_row_becomes_the_bias(self, name: str) -> None:
        norm, x = make(name), torch.full((2, 7), 1e6, dtype=torch.float64)
        rounded = 7 * 1e6 * torch.finfo(x.dtype).eps  # of the mean, which is then divided by the root of eps
        bound = rounded / norm.eps**0.5 * norm.weight.abs().max().item()
        torch.testing.assert_close(norm(x), norm.bias.expand(2, 7), rtol=0, atol=bound)


def test_rmsnorm_equals_torchs() -> None:
    ours, theirs = make("rmsnorm", 16), nn.RMSNorm(16, eps=1e-5).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(5, 16, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x))


def test_rmsnorm_does_not_see_the_size_and_does_see_the_mean() -> None:
    norm, x = make("rmsnorm"), torch.randn(7, dtype=torch.float64)
    torch.testing.assert_close(norm(1e3 * x), norm(1e6 * x))
    assert not torch.allclose(norm(x + 5), norm(x))


def test_scalenorm_starts_with_the_length_of_a_normed_vector_and_keeps_zero() -> None:
    norm = get_registry().get("norm-type", "scalenorm").load()(16)
    torch.testing.assert_close(norm(torch.randn(3, 16)).norm(dim=-1), torch.full((3,), 4.0))
    assert torch.equal(norm(torch.zeros(16)), torch.zeros(16))
    assert sum(one.numel() for one in norm.parameters()) == 1


def test_dyt_starts_with_the_alpha_asked_for_and_never_leaves_its_range() -> None:
    cls = get_registry().get("norm-type", "dyt").load()
    assert cls(4).alpha.item() == 0.5
    x = torch.linspace(-1e4, 1e4, 4)
    torch.testing.assert_close(cls(4, alpha=2.0)(x / 1e4), torch.tanh(2 * x / 1e4))
    assert cls(4)(x).abs().max() <= 1


def test_none_is_the_input_itself() -> None:
    norm, x = get_registry().get("norm-type", "none").load()(4), torch.randn(3, 4)
    assert norm(x) is x
    assert not list(norm.parameters())


@every_type
@pytest.mark.parametrize("norm", ["pre", "post", "deepnorm", "sandwich"])
def test_a_model_has_the_chosen_norm_everywhere(variant: Variant, norm: str) -> None:
    blueprint = make_blueprint(
        norm=norm,
        norm_type=variant.name,
        d_model=8,
        num_heads=2,
        d_ff=8,
        num_encoder_layers=1,
        num_decoder_layers=1,
        src_vocab=9,
        tgt_vocab=9,
    )
    model = build(blueprint, seed=0)
    cls = variant.load()
    norms = [module for module in model.modules() if isinstance(module, cls)]  # type: ignore[arg-type]
    layers = 5 * (2 if norm == "sandwich" else 1)
    assert len(norms) == layers + (2 if norm in ("pre", "sandwich") else 0)
    out = model(torch.tensor([[3, 4, 0]]), torch.tensor([[1, 5, 6]]))
    out.sum().backward()
    assert out.isfinite().all()


@every_type
def test_a_model_learns_with_it(variant: Variant) -> None:
    assert learns(norm_type=variant.name)
