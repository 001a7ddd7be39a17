"""Label smoothing and the KL loss against their formulas, and against each other."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from zoo.core.blueprint import make_blueprint
from zoo.core.errors import ZooError
from zoo.models.builder import build, build_loss
from zoo.parts.loss.kl import KLLoss
from zoo.parts.loss.label_smoothing import LabelSmoothingLoss
from zoo.parts.loss.smoothing import SmoothedLoss

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 1, "dropout": 0.0,
    "src_vocab": 9, "tgt_vocab": 9, "max_len": 8,
}  # fmt: skip


def targets(labels: Tensor, vocabulary: int, pad: int, smoothing: float) -> Tensor:
    """q, label by label: [N] -> [N, V]."""
    rows = []
    for label in labels.tolist():
        others = [k for k in range(vocabulary) if k not in (label, pad)]
        row = [0.0] * vocabulary
        row[label] = 1 - smoothing if others else 1.0
        for k in others:
            row[k] = smoothing / len(others)
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64)


def batch(vocabulary: int, pad: int) -> tuple[Tensor, Tensor]:
    """Logits [2, 4, V] and labels [2, 4], two of them pad."""
    labels = torch.randint(vocabulary - 1, (2, 4))
    labels += labels >= pad
    labels[0, 3] = labels[1, 0] = pad
    return 3 * torch.randn(2, 4, vocabulary, dtype=torch.float64), labels


@given(st.integers(2, 9), st.integers(0, 8), st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.integers(0, 99))
def test_both_are_their_formulas(vocabulary: int, pad: int, smoothing: float, seed: int) -> None:
    torch.manual_seed(seed)
    pad %= vocabulary
    logits, labels = batch(vocabulary, pad)
    log_p, real = logits.log_softmax(-1)[labels != pad], labels[labels != pad]
    q = targets(real, vocabulary, pad, smoothing)
    torch.testing.assert_close(q.sum(-1), torch.ones(len(real), dtype=torch.float64))
    cross = -(q * log_p).sum(-1).mean()
    torch.testing.assert_close(LabelSmoothingLoss(pad, smoothing)(logits, labels), cross)
    divergence = F.kl_div(log_p, q, reduction="batchmean")
    torch.testing.assert_close(KLLoss(pad, smoothing)(logits.log_softmax(-1), labels), divergence)
    torch.testing.assert_close(cross - divergence, -torch.xlogy(q, q).sum(-1).mean())


def test_the_gradient_of_a_logit_is_the_probability_less_the_target() -> None:
    logits, labels = batch(6, pad=2)
    logits.requires_grad_()
    LabelSmoothingLoss(2, 0.3)(logits, labels).backward()
    assert logits.grad is not None
    real = labels != 2
    expected = (logits.softmax(-1)[real] - targets(labels[real], 6, 2, 0.3)) / real.sum()
    torch.testing.assert_close(logits.grad[real], expected)


def test_without_smoothing_they_are_cross_entropy_and_negative_log_likelihood() -> None:
    logits, labels = batch(6, pad=0)
    expected = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0)
    torch.testing.assert_close(LabelSmoothingLoss(0, 0.0)(logits, labels), expected)
    log_p = logits.log_softmax(-1)
    torch.testing.assert_close(KLLoss(0, 0.0)(log_p, labels), expected)
    impossible = logits.index_fill(-1, torch.tensor([5]), -math.inf)
    labels = labels.masked_fill(labels == 5, 1)
    assert math.isfinite(LabelSmoothingLoss(0, 0.0)(impossible, labels))


def test_it_is_not_torchs_label_smoothing_which_spreads_over_all_tokens() -> None:
    logits, labels = batch(6, pad=0)
    own = LabelSmoothingLoss(0, 0.1)(logits, labels)
    flat, ids = logits.flatten(0, 1), labels.flatten()
    torchs = F.cross_entropy(flat, ids, ignore_index=0, label_smoothing=0.1)
    assert abs(own - torchs) > 1e-3
    log_p, real = flat.log_softmax(-1)[ids != 0], ids[ids != 0]
    q = torch.full((len(real), 6), 0.1 / 6, dtype=torch.float64)
    q[range(len(real)), real] += 0.9  # as the docstring says of torch
    torch.testing.assert_close(torchs, -(q * log_p).sum(-1).mean())


def test_a_head_that_cannot_say_pad_costs_nothing() -> None:
    """Padding has no mass, so that its log-probability of -inf does not matter."""
    logits, labels = batch(6, pad=0)
    logits[..., 0] = -math.inf
    logits.requires_grad_()
    for loss, output in ((LabelSmoothingLoss(0), logits), (KLLoss(0), logits.log_softmax(-1))):
        value = loss(output, labels)
        assert math.isfinite(value.item())
        (gradient,) = torch.autograd.grad(value, logits)
        assert torch.isfinite(gradient).all()


def test_a_vocabulary_without_another_token_keeps_all_mass_on_the_label() -> None:
    logits, labels = torch.randn(1, 3, 2, dtype=torch.float64), torch.tensor([[1, 1, 0]])
    nll = -logits.log_softmax(-1)[0, :2, 1].mean()
    torch.testing.assert_close(LabelSmoothingLoss(0, 0.4)(logits, labels), nll)
    torch.testing.assert_close(KLLoss(0, 0.4)(logits.log_softmax(-1), labels), nll)


def test_padding_that_is_no_token_leaves_one_more_to_smooth_onto() -> None:
    logits, labels = torch.randn(1, 3, 4, dtype=torch.float64), torch.tensor([[1, 0, -100]])
    q = targets(torch.tensor([1, 0]), 4, -100, 0.3)
    expected = -(q * logits.log_softmax(-1)[0, :2]).sum(-1).mean()
    torch.testing.assert_close(LabelSmoothingLoss(-100, 0.3)(logits, labels), expected)


def test_kl_is_zero_at_the_target_and_positive_elsewhere() -> None:
    labels = torch.tensor([[1, 4]])
    best = targets(labels[0], 5, 0, 0.2)[None].log()
    torch.testing.assert_close(KLLoss(0, 0.2)(best, labels), torch.tensor(0.0, dtype=torch.float64))
    for _ in range(10):
        other = (best.clamp(min=-5) + torch.randn(1, 2, 5)).log_softmax(-1)
        assert KLLoss(0, 0.2)(other, labels) > 0


def test_through_their_heads_they_differ_by_the_entropy_and_train_alike() -> None:
    """label-smoothing with head=logits, and kl with head=log-softmax, the same weights."""
    src, tgt = torch.randint(3, 9, (3, 5)), torch.randint(3, 9, (3, 4))
    labels = tgt.roll(-1, 1).clone()
    labels[1, 2:] = 0
    values, gradients = [], []
    for loss, head in (("label-smoothing:smoothing=0.2", "logits"), ("kl:smoothing=0.2", "log-softmax")):
        blueprint = make_blueprint(loss=loss, head=head, **SIZES)
        model = build(blueprint, seed=1).double()
        value = build_loss(blueprint)(model(src, tgt), labels)
        value.backward()
        values.append(value.item())
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    entropy = -(0.8 * math.log(0.8) + 0.2 * math.log(0.2 / 7))
    assert values[0] - values[1] == pytest.approx(entropy, rel=1e-12)
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name])


@pytest.mark.parametrize("kind", [LabelSmoothingLoss, KLLoss])
@pytest.mark.parametrize("smoothing", [-0.1, 1.0, 1.5, math.nan])
def test_smoothing_is_a_share_below_1(kind: type[SmoothedLoss], smoothing: float) -> None:
    with pytest.raises(ValueError, match="expected at least 0 and below 1"):
        kind(0, smoothing)


def test_a_users_smoothing_out_of_range_is_a_sentence() -> None:
    for value in ("1", "2", "-0.1"):
        with pytest.raises(ZooError, match=r"expected a number from 0 to 0\.999"):
            make_blueprint(loss=f"label-smoothing:smoothing={value}")
