"""What holds for every loss, over the live registry."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.parts.loss.base import SequenceLoss
from zoo.parts.loss.cross_entropy import CrossEntropyLoss
from zoo.parts.loss.z_loss import ZLoss

PADS = (0, 3, 6)  # first, between and last of the vocabulary
V = 7

every_loss = pytest.mark.parametrize("variant", get_registry().variants("loss"), ids=lambda v: v.name)
every_pad = pytest.mark.parametrize("pad", PADS)


def logits(batch: int = 3, length: int = 5, scale: float = 2.0, dtype: torch.dtype = torch.float64) -> Tensor:
    return (scale * torch.randn(batch, length, V, dtype=torch.float64)).to(dtype)


def labels(pad: int, batch: int = 3, length: int = 5) -> Tensor:
    """Ids of which none is pad, then padding in the last two places of every other row."""
    ids = torch.randint(V - 1, (batch, length))
    ids += ids >= pad
    ids[1::2, -2:] = pad
    return ids


def made(variant: Variant, pad: int = 0) -> SequenceLoss:
    return variant.load()(pad)  # type: ignore[no-any-return]


def given(variant: Variant, scores: Tensor) -> Tensor:
    """What the head gives that the loss goes with."""
    return scores.log_softmax(-1) if variant.capabilities["takes"] == "log-probs" else scores


@every_loss
@every_pad
def test_it_is_the_mean_over_labels_that_are_not_pad(variant: Variant, pad: int) -> None:
    loss, output, ids = made(variant, pad), given(variant, logits()), labels(pad)
    each = [
        loss(output[row : row + 1, place : place + 1], ids[row : row + 1, place : place + 1])
        for row, place in (ids != pad).nonzero().tolist()
    ]
    value = loss(output, ids)
    assert value.shape == ()
    torch.testing.assert_close(value, torch.stack(each).mean())


@every_loss
@every_pad
def test_padding_changes_nothing_and_gets_no_gradient(variant: Variant, pad: int) -> None:
    loss, ids = made(variant, pad), labels(pad)
    scores = logits().requires_grad_()
    value = loss(given(variant, scores), ids)
    value.backward()
    assert scores.grad is not None
    assert torch.all(scores.grad[ids == pad] == 0)
    assert torch.all(scores.grad[ids != pad].abs().sum(-1) > 0)
    changed = scores.detach().masked_fill((ids == pad)[..., None], 50.0)
    torch.testing.assert_close(loss(given(variant, changed), ids), value.detach(), rtol=0, atol=0)
    more = torch.cat((scores.detach(), logits(1)))  # a row of nothing but padding
    only = torch.cat((ids, torch.full((1, 5), pad)))
    torch.testing.assert_close(loss(given(variant, more), only), value.detach())


@every_loss
def test_a_batch_of_padding_alone_has_no_mean(variant: Variant) -> None:
    assert math.isnan(made(variant)(given(variant, logits()), torch.zeros(3, 5, dtype=torch.long)))


@every_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_its_dtype_is_the_outputs_and_its_value_that_of_float64(variant: Variant, dtype: torch.dtype) -> None:
    loss, output, ids = made(variant), given(variant, logits(dtype=dtype)), labels(0)
    value = loss(output, ids)
    assert value.dtype == dtype
    expected = loss(output.double(), ids)
    bound = {torch.float32: 1e-6, torch.bfloat16: 2e-2, torch.float16: 2e-3}[dtype]
    torch.testing.assert_close(value.double(), expected, rtol=bound, atol=bound)


@every_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_huge_logits_give_a_finite_loss_and_finite_gradients(variant: Variant, dtype: torch.dtype) -> None:
    loss, ids = made(variant), labels(0)
    scores = (2000.0 * torch.randn(3, 5, V).sign()).to(dtype).requires_grad_()
    value = loss(given(variant, scores), ids)
    value.backward()
    assert scores.grad is not None
    assert math.isfinite(value.item())
    assert torch.isfinite(scores.grad).all()


@every_loss
def test_half_precision_does_not_overflow_over_a_large_vocabulary(variant: Variant) -> None:
    scores = torch.randn(1, 2, 40_000, dtype=torch.float16)
    assert math.isfinite(made(variant)(given(variant, scores), torch.tensor([[5, 0]])))


@every_loss
def test_strides_do_not_matter_and_the_input_is_left_as_it_was(variant: Variant) -> None:
    loss, output, ids = made(variant), given(variant, logits()), labels(0)
    strided = output.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    strided_ids = ids.t().contiguous().t()
    assert not strided.is_contiguous()
    assert not strided_ids.is_contiguous()
    copies = strided.clone(), strided_ids.clone()
    torch.testing.assert_close(loss(strided, strided_ids), loss(output, ids))
    assert torch.equal(strided, copies[0])
    assert torch.equal(strided_ids, copies[1])


@every_loss
def test_its_gradient_is_the_slope(variant: Variant) -> None:
    loss, ids = made(variant), labels(0)
    scores = logits().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(given(variant, x), ids), (scores,))


@every_loss
def test_a_label_that_is_more_probable_costs_less(variant: Variant) -> None:
    """Up to 1 - smoothing, that is: here from 0.1 to 0.6."""
    loss, ids = made(variant), torch.tensor([[4]])

    def at(share: float) -> float:
        rest = torch.full((1, 1, V), (1 - share) / (V - 1), dtype=torch.float64)
        rest[..., 4] = share
        return float(loss(given(variant, rest.log()), ids))

    costs = [at(share) for share in (0.1, 0.2, 0.4, 0.6)]
    assert costs == sorted(costs, reverse=True)


def test_cross_entropy_is_torchs() -> None:
    output, ids = logits(), labels(0)
    value = made(get_registry().get("loss", "cross-entropy"))(output, ids)
    torch.testing.assert_close(value, F.cross_entropy(output.flatten(0, 1), ids.flatten(), ignore_index=0))


@every_pad
def test_z_loss_is_cross_entropy_and_the_square_of_log_z(pad: int) -> None:
    scores, ids = logits(), labels(pad)
    log_z = scores.exp().sum(-1).log()[ids != pad]
    expected = CrossEntropyLoss(pad)(scores, ids) + 0.3 * (log_z**2).mean()
    torch.testing.assert_close(ZLoss(pad, weight=0.3)(scores, ids), expected)
    torch.testing.assert_close(ZLoss(pad, weight=0.0)(scores, ids), CrossEntropyLoss(pad)(scores, ids))


def test_z_loss_feels_what_is_added_to_all_logits() -> None:
    scores, ids = logits().requires_grad_(), labels(0)
    for weight, feels in ((0.0, False), (1e-4, True)):
        (gradient,) = torch.autograd.grad(ZLoss(weight=weight)(scores, ids), scores)
        assert bool((gradient.sum(-1)[ids != 0].abs() > 1e-8).all()) == feels


def test_a_negative_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        ZLoss(weight=-1.0)
