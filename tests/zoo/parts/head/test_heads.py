"""Heads: formulas, bias, and a weight that may be an embedding's table."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core.blueprint import make_blueprint
from zoo.core.errors import CombinationError
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.models.builder import build

HEADS = get_registry().variants("head")
every_head = pytest.mark.parametrize("variant", HEADS, ids=lambda v: v.name)


def make(variant: Variant | str, **options: Any) -> Any:
    variant = get_registry().get("head", variant) if isinstance(variant, str) else variant
    return variant.load()(5, 9, **options).double()


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


@pytest.mark.parametrize("bias", [True, False])
def test_logits_are_a_linear_map(bias: bool) -> None:
    head, x = make("logits", bias=bias), numbers(2, 3, 5)
    expected = torch.einsum("bld,vd->blv", x, head.weight) + (head.bias if bias else 0)
    torch.testing.assert_close(head(x), expected)


@pytest.mark.parametrize("bias", [True, False])
def test_log_softmax_is_its_formula(bias: bool) -> None:
    head, x = make("log-softmax", bias=bias), numbers(2, 3, 5)
    powers = (torch.einsum("bld,vd->blv", x, head.weight) + (head.bias if bias else 0)).exp()
    torch.testing.assert_close(head(x).exp(), powers / powers.sum(-1, keepdim=True))


def test_softmax_is_its_formula() -> None:
    head, x = make("softmax"), numbers(2, 3, 5)
    torch.testing.assert_close(head(x).log(), make_like(head)(x))


def make_like(head: Any) -> Any:
    """A head of log-probabilities with the same weights."""
    other = make("log-softmax")
    other.load_state_dict(head.state_dict())
    return other


@every_head
def test_probabilities_sum_to_one_where_log_probabilities_are_declared(variant: Variant) -> None:
    sums = make(variant)(numbers(2, 3, 5)).exp().sum(-1)
    declared = variant.capabilities["output"] == "log-probs"
    assert torch.allclose(sums, torch.ones_like(sums)) == declared


@every_head
def test_a_bias_is_there_unless_it_is_declined(variant: Variant) -> None:
    assert make(variant).bias.shape == (9,)
    assert make(variant, bias=False).bias is None
    assert [tuple(one.shape) for one in make(variant, bias=False).parameters()] == [(9, 5)]


@every_head
def test_another_weight_can_take_its_place(variant: Variant) -> None:
    head, table, x = make(variant), nn.Embedding(9, 5).double(), numbers(2, 3, 5)
    head.weight = table.weight
    assert head(x).argmax(-1).equal((x @ table.weight.T + head.bias).argmax(-1))
    head(x).square().sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad.any()


@every_head
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_hostile_vectors_give_finite_scores_and_gradients(variant: Variant, dtype: torch.dtype) -> None:
    head = make(variant).to(dtype)
    x = (
        torch.stack([torch.zeros(5), torch.full((5,), 1e4), -torch.full((5,), 1e4)])
        .to(dtype)
        .requires_grad_()
    )
    out = head(x)
    assert out.dtype == dtype
    assert out.isfinite().all()
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


@every_head
def test_positions_are_scored_each_by_itself(variant: Variant) -> None:
    head, x = make(variant), numbers(2, 3, 5)
    torch.testing.assert_close(head(x[1:, 2:]), head(x)[1:, 2:])


@every_head
def test_a_loss_goes_with_the_head_that_gives_what_it_takes_and_with_no_other(variant: Variant) -> None:
    for loss in get_registry().variants("loss"):
        blueprint = make_blueprint(head=variant.name, loss=loss.name, d_model=8, num_heads=2, d_ff=8)
        if loss.capabilities["takes"] == variant.capabilities["output"]:
            assert isinstance(build(blueprint).head, variant.load())  # type: ignore[arg-type]
        else:
            with pytest.raises(CombinationError, match=f"head={variant.name} gives"):
                build(blueprint)
