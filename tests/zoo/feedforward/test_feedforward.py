"""Feed-forward networks: formulas, position by position, dropout inside."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from zoo.plugins import get_registry
from zoo.registry import Variant

every_network = pytest.mark.parametrize(
    "variant", get_registry().variants("feedforward"), ids=lambda v: v.name
)


def make(variant: Variant, dropout: float = 0.0) -> Any:
    return variant.load()(5, 7, dropout).double()


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


@pytest.mark.parametrize(("name", "activation"), [("relu", lambda x: max(0.0, x)), ("gelu", gelu)])
def test_a_network_is_its_formula(name: str, activation: Any) -> None:
    network = make(get_registry().get("feedforward", name))
    x = torch.randn(2, 3, 5, dtype=torch.float64)
    inner = x @ network.up_proj.weight.T + network.up_proj.bias
    inner = torch.tensor([activation(v) for v in inner.flatten().tolist()], dtype=torch.float64).view(2, 3, 7)
    torch.testing.assert_close(network(x), inner @ network.down_proj.weight.T + network.down_proj.bias)


@every_network
def test_positions_do_not_see_each_other(variant: Variant) -> None:
    network, x = make(variant), torch.randn(2, 3, 5, dtype=torch.float64)
    out = network(x)
    assert out.shape == x.shape
    torch.testing.assert_close(network(x[1, 2]), out[1, 2])


@every_network
def test_dropout_acts_in_train_mode_only(variant: Variant) -> None:
    network, x = make(variant, dropout=0.5), torch.randn(4, 5, dtype=torch.float64)
    assert not torch.equal(network(x), network(x))
    assert torch.equal(network.eval()(x), network(x))
    without = make(variant).train()
    assert torch.equal(without(x), without(x))
