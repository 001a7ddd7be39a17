"""Feed-forward networks: formulas, position by position, dropout inside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import Dropout

from tests.zoo.learning import learns
from zoo.core.blueprint import make_blueprint
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.models.builder import build

NETWORKS = get_registry().variants("feedforward")
every_network = pytest.mark.parametrize("variant", NETWORKS, ids=lambda v: v.name)


def make(variant: Variant | str, dropout: float = 0.0, **options: Any) -> Any:
    variant = get_registry().get("feedforward", variant) if isinstance(variant, str) else variant
    return variant.load()(5, 7, dropout, **options).double()


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


def elementwise(function: Callable[[float], float]) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.tensor([function(v) for v in x.flatten().tolist()], dtype=x.dtype).view(x.shape)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


PLAIN: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(0.0, x),
    "gelu": gelu,
    "relu2": lambda x: max(0.0, x) ** 2,
}
GATES: dict[str, Callable[[float], float]] = {
    "glu": sigmoid,
    "reglu": lambda x: max(0.0, x),
    "geglu": gelu,
    "swiglu": lambda x: x * sigmoid(x),
}


def test_every_network_of_the_zoo_has_its_formula_here() -> None:
    ours = {variant.name for variant in NETWORKS if variant.origin.startswith("zoo.")}
    assert ours == PLAIN.keys() | GATES.keys()


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_network_is_its_formula(name: str) -> None:
    network, x = make(name), numbers(2, 3, 5)
    inner = elementwise(PLAIN[name])(x @ network.up_proj.weight.T + network.up_proj.bias)
    torch.testing.assert_close(network(x), inner @ network.down_proj.weight.T + network.down_proj.bias)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("bias", [False, True])
def test_a_gated_network_is_its_formula(name: str, bias: bool) -> None:
    network, x = make(name, bias=bias), numbers(2, 3, 5)
    w, v, w2 = (one.weight for one in (network.gate_proj, network.up_proj, network.down_proj))
    b, c, b2 = (one.bias if bias else 0 for one in (network.gate_proj, network.up_proj, network.down_proj))
    expected = (elementwise(GATES[name])(x @ w.T + b) * (x @ v.T + c)) @ w2.T + b2
    torch.testing.assert_close(network(x), expected)


@pytest.mark.parametrize("name", GATES)
def test_a_gated_network_has_three_matrices_of_the_width_given_and_no_biases(name: str) -> None:
    shapes = {key: tuple(value.shape) for key, value in make(name).named_parameters()}
    assert shapes == {"gate_proj.weight": (7, 5), "up_proj.weight": (7, 5), "down_proj.weight": (5, 7)}
    assert sum(one.dim() == 1 for one in make(name, bias=True).parameters()) == 3


@every_network
def test_positions_do_not_see_each_other(variant: Variant) -> None:
    network, x = make(variant), numbers(2, 3, 5)
    out = network(x)
    assert out.shape == x.shape
    torch.testing.assert_close(network(x[1, 2]), out[1, 2])


@every_network
def test_dropout_acts_in_train_mode_only(variant: Variant) -> None:
    network, x = make(variant, dropout=0.5), numbers(4, 5)
    assert not torch.equal(network(x), network(x))
    assert torch.equal(network.eval()(x), network(x))
    without = make(variant).train()
    assert torch.equal(without(x), without(x))


@every_network
def test_dropout_falls_on_the_inner_vector(variant: Variant) -> None:
    network, x = make(variant), numbers(4, 5)
    seen: list[Tensor] = []
    network.dropout.register_forward_hook(lambda module, given, out: seen.append(given[0]))
    out = network(x)
    assert seen[0].shape == (4, 7)
    torch.testing.assert_close(out, network.down_proj(seen[0]))


@every_network
def test_dropout_of_its_own_takes_the_place_of_the_models(variant: Variant) -> None:
    def rates(choice: str) -> set[float]:
        model = build(make_blueprint(feedforward=choice, d_model=8, num_heads=2, d_ff=8, dropout=0.25))
        networks = [layer.feed_forward for layer in (*model.encoder.layers, *model.decoder.layers)]
        return {one.p for network in networks for one in network.modules() if isinstance(one, Dropout)}

    assert rates(variant.name) == {0.25}
    assert rates(f"{variant.name}:dropout=0") == {0.0}


@every_network
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_type_is_kept_and_gradients_reach_everything(variant: Variant, dtype: torch.dtype) -> None:
    network = make(variant, dropout=0.1).to(dtype)
    x = torch.randn(6, 5, dtype=dtype, requires_grad=True)
    out = network(x)
    assert out.dtype == dtype
    out.sum().backward()
    for one in (x, *network.parameters()):
        assert one.grad is not None
        assert one.grad.isfinite().all()
        assert one.grad.any()


@every_network
def test_large_and_empty_inputs(variant: Variant) -> None:
    network = make(variant)
    assert network(numbers(6, 5) * 1e6).isfinite().all()
    assert network(numbers(0, 5)).shape == (0, 5)


@every_network
def test_gradients_are_those_of_the_function(variant: Variant) -> None:
    x = (numbers(3, 5) + 0.5).requires_grad_()
    assert torch.autograd.gradcheck(make(variant), (x,))


@every_network
def test_a_model_takes_it_in_every_layer(variant: Variant) -> None:
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 2, "num_decoder_layers": 1}
    model = build(make_blueprint(feedforward=variant.name, **sizes), seed=0)
    networks = [layer.feed_forward for layer in (*model.encoder.layers, *model.decoder.layers)]
    assert len(networks) == 3
    assert all(isinstance(network, nn.Module) for network in networks)
    assert all(one.down_proj.in_features == 12 for one in networks if hasattr(one, "down_proj"))
    assert model(torch.tensor([[3, 4]]), torch.tensor([[1, 5]])).isfinite().all()


@every_network
def test_a_model_learns_with_it(variant: Variant) -> None:
    assert learns(feedforward=variant.name)
