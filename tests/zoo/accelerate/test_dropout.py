"""Dropout: rate, scale, independence, and where it does nothing."""

from __future__ import annotations

import pytest
import torch

from zoo.accelerate.dropout import LEVELS
from zoo.accelerate.dropout import QuickDropout as Dropout

SIZE = 200_000


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9, 1e-3])
def test_rate_and_scale(p: float, device: torch.device) -> None:
    out = Dropout(p)(torch.ones(SIZE, dtype=torch.float64, device=device))
    deviation = (p * (1 - p) / SIZE) ** 0.5
    assert abs((out == 0).double().mean().item() - p) < 5 * deviation + 1 / LEVELS
    kept = out[out != 0].unique()
    assert kept.tolist() == pytest.approx([1 / (1 - p)], rel=1e-4)
    assert abs(out.mean().item() - 1) < 5 * deviation / (1 - p) + 1e-4


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 5, 8, 64])
def test_neighbours_are_dropped_independently(distance: int) -> None:
    """Four elements share one random number, so neighbours are where a dependence would show."""
    dropped = (Dropout(0.5)(torch.ones(SIZE)) == 0).double() - 0.5
    together = (dropped[:-distance] * dropped[distance:]).mean() * 4
    assert abs(together.item()) < 5 / SIZE**0.5


def test_every_place_in_four_is_dropped_alike() -> None:
    dropped = (Dropout(0.3)(torch.ones(SIZE)) == 0).double().view(-1, 4)
    assert torch.all((dropped.mean(0) - 0.3).abs() < 0.01)


def test_the_gradient_is_the_same_noise() -> None:
    x = torch.randn(3, 5, 7, dtype=torch.float64, requires_grad=True)
    out = Dropout(0.4)(x)
    out.sum().backward()
    torch.testing.assert_close(out, x * x.grad)
    assert 0 < (x.grad == 0).sum() < x.numel()


def test_nothing_is_dropped_in_eval_mode_or_with_probability_zero() -> None:
    x = torch.randn(50)
    assert Dropout(0.5).eval()(x) is x
    assert torch.equal(Dropout(0.0)(x), x)
    assert torch.equal(Dropout(1e-9)(x), x)


def test_everything_is_dropped_with_probability_one() -> None:
    assert not Dropout(1.0)(torch.randn(50)).any()
    assert not Dropout(1 - 1e-9)(torch.randn(50)).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (2, 3, 4)])
def test_shape_and_dtype_are_kept(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    x = torch.ones(shape, dtype=dtype)
    out = Dropout(0.5)(x)
    assert (out.shape, out.dtype) == (x.shape, x.dtype)
    assert torch.equal(x, torch.ones(shape, dtype=dtype))  # not changed in place


def test_views_are_taken_as_they_are() -> None:
    x = torch.ones(64, 32)[:, ::2].T
    out = Dropout(0.5)(x)
    assert out.shape == (16, 64)
    assert set(out.unique().tolist()) == {0, 2}


def test_the_global_seed_decides() -> None:
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(Dropout(0.5)(torch.ones(100)))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])
