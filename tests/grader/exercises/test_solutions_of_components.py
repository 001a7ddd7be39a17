"""Solutions (masks, positions, feedforward, norm, loss) against torch's own functions and plain arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.exercises.feedforward import solution as feedforward
from grader.exercises.loss import solution as loss
from grader.exercises.masks import solution as masks
from grader.exercises.norm import solution as norm
from grader.exercises.positions import solution as positions

DTYPES = (torch.float32, torch.float64, torch.bfloat16)
WIDE = {"dtype": torch.float64}


def random(*shape: int, seed: int = 0, **options: Any) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), **(WIDE | options))


# Masks


TOKENS = [[5, 8, 2, 9], [5, 0, 8, 0], [0, 0, 5, 8], [0, 0, 0, 0], [2, 5, 2, 2]]


@pytest.mark.parametrize("pad", [0, 2])
def test_masks_agree_with_every_cell_by_hand(pad: int) -> None:
    tokens = torch.tensor(TOKENS)
    before = tokens.clone()
    padding, causal = masks.padding_mask(tokens, pad), masks.causal_mask(4)
    decoder = masks.decoder_mask(tokens, pad)
    assert (padding.shape, causal.shape, decoder.shape) == ((5, 1, 1, 4), (1, 1, 4, 4), (5, 1, 4, 4))
    assert padding.dtype == causal.dtype == decoder.dtype == torch.bool
    for b, row in enumerate(TOKENS):
        assert padding[b, 0, 0].tolist() == [token != pad for token in row]
        for i in range(4):
            assert causal[0, 0, i].tolist() == [j <= i for j in range(4)]
            assert decoder[b, 0, i].tolist() == [j <= i and row[j] != pad for j in range(4)]
    assert torch.equal(tokens, before)


def test_masks_of_length_one_and_on_the_device_of_their_tokens() -> None:
    assert masks.causal_mask(1).tolist() == [[[[True]]]]
    assert masks.decoder_mask(torch.tensor([[3], [0]])).flatten().tolist() == [True, False]
    tokens = torch.ones(2, 3, dtype=torch.int64, device="meta")
    made = (masks.padding_mask(tokens), masks.decoder_mask(tokens), masks.causal_mask(3, tokens.device))
    assert {mask.device.type for mask in (*made, masks.to_additive(made[0]))} == {"meta"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 1, 3), (2, 4, 3, 3)])
def test_an_additive_mask_holds_zero_and_minus_infinity_exactly(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    mask = random(*shape) > 0
    before = mask.clone()
    additive = masks.to_additive(mask, dtype)
    assert additive.dtype == dtype
    assert additive.shape == mask.shape
    assert (additive[mask] == 0).all()
    assert (additive[~mask] == -torch.inf).all()
    assert torch.equal(mask, before)
    assert masks.to_additive(mask).dtype == torch.float32


def test_both_forms_of_a_mask_mean_the_same_to_torch() -> None:
    q, k, v = (random(3, 2, 4, 6, seed=seed) for seed in range(3))
    mask = masks.decoder_mask(torch.tensor(TOKENS)[[0, 1, 4]])
    boolean = F.scaled_dot_product_attention(q, k, v, mask)
    additive = F.scaled_dot_product_attention(q, k, v, masks.to_additive(mask, torch.float64))
    torch.testing.assert_close(additive, boolean, rtol=0, atol=1e-14)


# Positions


@pytest.mark.parametrize("d_model", [1, 2, 3, 4, 5, 8, 33])
def test_sinusoids_are_those_of_the_formula(d_model: int) -> None:
    module = positions.SinusoidalPositions(d_model, max_len=50).double()
    got = module(torch.zeros(1, 50, d_model, **WIDE))[0]
    for t in range(50):
        for column in range(d_model):
            angle = t / 10000 ** ((column - column % 2) / d_model)
            wanted = math.cos(angle) if column % 2 else math.sin(angle)
            assert got[t, column].item() == pytest.approx(wanted, abs=1e-7)


def test_sinusoids_are_exact_to_the_last_position_and_do_not_train() -> None:
    module = positions.SinusoidalPositions(6)
    last = module(torch.zeros(1, 5000, 6))[0, -1]
    wanted = [wave(4999 / 10000 ** (i / 6)) for i in (0, 2, 4) for wave in (math.sin, math.cos)]
    assert last.tolist() == pytest.approx(wanted, abs=1e-6)
    assert not list(module.parameters())
    assert not module.state_dict()


def test_learned_positions_are_one_table_that_trains() -> None:
    module = positions.LearnedPositions(5, max_len=7).double()
    assert [parameter.shape for parameter in module.parameters()] == [(7, 5)]
    x = random(3, 4, 5)
    module(x).square().sum().backward()
    (table,) = module.parameters()
    torch.testing.assert_close(module(x), x + table[:4])
    assert table.grad is not None
    assert table.grad[:4].count_nonzero() == 20
    assert table.grad[4:].count_nonzero() == 0


@pytest.mark.parametrize("make", [positions.SinusoidalPositions, positions.LearnedPositions])
@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_are_added_to_any_batch_and_length(
    make: Callable[..., nn.Module], dtype: torch.dtype
) -> None:
    module = make(6, max_len=9).to(dtype)
    whole = module(torch.zeros(1, 9, 6, dtype=dtype))
    for batch, length in ((1, 1), (2, 9), (9, 2)):
        x = random(batch, length, 6, dtype=dtype)
        before = x.clone()
        out = module.train()(x)
        assert torch.equal(out, x + whole[:, :length])
        assert torch.equal(out, module.eval()(x))
        assert out.dtype == dtype
        assert torch.equal(x, before)


@pytest.mark.parametrize("make", [positions.SinusoidalPositions, positions.LearnedPositions])
@pytest.mark.parametrize("max_len", [1, 4])
def test_an_input_longer_than_max_len_is_an_error(make: Callable[..., nn.Module], max_len: int) -> None:
    with pytest.raises(ValueError, match=rf"{max_len + 1} positions.*{max_len}"):
        make(6, max_len=max_len)(torch.zeros(2, max_len + 1, 6))


# Feed-forward


@pytest.mark.parametrize("shape", [(1, 1, 5), (2, 3, 5)])
def test_feed_forward_is_relu_between_two_linear_layers(shape: tuple[int, ...]) -> None:
    module = feedforward.FeedForward(5, 11).double()
    assert sorted(tuple(p.shape) for p in module.parameters()) == [(5,), (5, 11), (11,), (11, 5)]
    x = random(*shape)
    before = x.clone()
    wanted = F.linear(
        F.relu(F.linear(x, module.up.weight, module.up.bias)), module.down.weight, module.down.bias
    )
    torch.testing.assert_close(module(x), wanted, rtol=0, atol=1e-14)
    assert torch.equal(x, before)


def test_feed_forward_drops_after_the_relu_in_training_only() -> None:
    module = feedforward.FeedForward(4, 64, dropout=0.25).double()
    x = random(1, 1, 4)
    torch.manual_seed(7)
    out = module(x)
    torch.manual_seed(7)
    assert torch.equal(out, module.down(F.dropout(module.up(x).relu(), 0.25)))
    assert not torch.equal(out, module(x))
    assert torch.equal(module.eval()(x), module(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [lambda: feedforward.FeedForward(6, 9), lambda: norm.LayerNorm(6)])
def test_modules_keep_the_dtype_of_their_input(make: Callable[[], nn.Module], dtype: torch.dtype) -> None:
    out = make().to(dtype)(random(2, 3, 6, dtype=dtype))
    assert out.dtype == dtype
    assert out.isfinite().all()


# Norm


def norms(width: int, eps: float = 1e-5) -> tuple[norm.LayerNorm, nn.LayerNorm]:
    """The solution and torch's, with the same drawn gain and bias, in float64."""
    ours, theirs = norm.LayerNorm(width, eps).double(), nn.LayerNorm(width, eps).double()
    for one, other, seed in ((ours.gain, theirs.weight, 1), (ours.bias, theirs.bias, 2)):
        one.data.copy_(random(width, seed=seed))
        other.data.copy_(one.data)
    return ours, theirs


@pytest.mark.parametrize("shape", [(6,), (4, 6), (2, 3, 6), (2, 2, 3, 6), (2, 3, 1)])
@pytest.mark.parametrize(("scale", "offset"), [(1, 0), (1e-3, 0), (1e3, 0), (1, 1e4), (0, 0), (0, 3.3)])
def test_layer_norm_equals_torch_with_its_gradients(
    shape: tuple[int, ...], scale: float, offset: float
) -> None:
    ours, theirs = norms(shape[-1])
    results = []
    for module in (ours, theirs):
        x = (random(*shape) * scale + offset).requires_grad_()
        out = module(x)
        grads = torch.autograd.grad(out, [x, *module.parameters()], random(*shape, seed=3))
        results.append((out, *grads))
    for mine, wanted in zip(*results, strict=True):
        torch.testing.assert_close(mine, wanted, rtol=1e-8, atol=1e-8)


def test_layer_norm_takes_eps_inside_the_root() -> None:
    ours, theirs = norms(6, eps=0.5)
    x = random(2, 6) * 0.1
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("offset", [0.0, 1e4, -3e4])
def test_layer_norm_is_near_torch_in_short_types_too(dtype: torch.dtype, offset: float) -> None:
    x = (random(4, 32, dtype=torch.float32) * 8 + offset).to(dtype).requires_grad_()
    before = x.detach().clone()
    out = norm.LayerNorm(32).to(dtype)(x)
    out.sum().backward()
    wanted = nn.LayerNorm(32).double()(before.double())
    torch.testing.assert_close(out.double(), wanted, rtol=0, atol=2e-2 if dtype == torch.bfloat16 else 2e-3)
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert torch.equal(x, before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_constant_row_gives_the_bias_and_a_finite_gradient(dtype: torch.dtype) -> None:
    module = norm.LayerNorm(5).to(dtype)
    module.bias.data.fill_(3)
    x = torch.full((2, 5), 8.0, dtype=dtype, requires_grad=True)
    out = module(x)
    out.sum().backward()
    assert (out == 3).all()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_a_fresh_layer_norm_has_a_gain_of_ones_and_a_bias_of_zeros() -> None:
    parameters = dict(norm.LayerNorm(4).named_parameters())
    assert {name: p.tolist() for name, p in parameters.items()} == {"gain": [1.0] * 4, "bias": [0.0] * 4}


class Affine(nn.Module):
    """A sublayer with two more arguments, that counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(2.0, **WIDE))
        self.calls = 0

    def forward(self, x: Tensor, shift: Tensor, *, factor: float = 1.0) -> Tensor:
        self.calls += 1
        return self.weight * x * factor + shift


@pytest.mark.parametrize("wrapper", [norm.PreNorm, norm.PostNorm])
def test_wrappers_norm_where_they_should_and_pass_the_rest_on(wrapper: Callable[..., nn.Module]) -> None:
    inner, sublayer = nn.LayerNorm(6).double(), Affine()
    module = wrapper(inner, sublayer, 0.3)
    assert {id(p) for p in module.parameters()} == {id(p) for p in (*inner.parameters(), sublayer.weight)}
    x, shift = random(2, 3, 6), random(6, seed=1)
    before = x.clone()
    for training in (False, True):
        module.train(training)
        torch.manual_seed(5)
        out = module(x, shift, factor=3.0)
        torch.manual_seed(5)
        if wrapper is norm.PreNorm:
            wanted = x + F.dropout(6 * inner(x) + shift, 0.3, training)
        else:
            wanted = inner(x + F.dropout(6 * x + shift, 0.3, training))
        torch.testing.assert_close(out, wanted, rtol=0, atol=1e-12)
    assert sublayer.calls == 2
    assert torch.equal(x, before)


# Loss


def test_shift_right_puts_sos_in_front_and_leaves_the_target_alone() -> None:
    target = torch.tensor([[4, 3, 2, 0], [5, 6, 7, 2], [0, 9, 0, 0]])
    before = target.clone()
    assert loss.shift_right(target).tolist() == [[1, 4, 3, 2], [1, 5, 6, 7], [1, 0, 9, 0]]
    assert loss.shift_right(target[:, :1], sos=8).tolist() == [[8]] * 3
    assert loss.shift_right(target.int()).dtype == torch.int32
    assert loss.shift_right(target.T, sos=3).tolist() == [[3, *row[:-1]] for row in target.T.tolist()]
    assert torch.equal(target, before)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("pad", [0, 3])
@pytest.mark.parametrize("contiguous", [True, False])
def test_the_loss_is_the_mean_over_tokens_one_by_one(smoothing: float, pad: int, contiguous: bool) -> None:
    target = torch.tensor([[4, 3, 2, 0], [5, 0, 3, 3], [2, 4, 1, 2]])
    logits = random(3, 7, 4).transpose(1, 2)
    if contiguous:
        logits = logits.contiguous()
    else:
        target = target.T.contiguous().T
    logits.requires_grad_()
    each = [
        F.cross_entropy(logits[b, i], target[b, i], label_smoothing=smoothing)
        for b in range(3)
        for i in range(4)
        if target[b, i] != pad
    ]
    got, wanted = loss.sequence_loss(logits, target, pad, smoothing), torch.stack(each).mean()
    assert got.shape == ()
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-13)
    gradients = [torch.autograd.grad(one, logits)[0] for one in (got, wanted)]
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=1e-13)
    assert (gradients[0][target == pad] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_finite_for_large_logits_in_their_dtype(dtype: torch.dtype, smoothing: float) -> None:
    logits = (random(2, 3, 5).sign() * 2000).to(dtype).requires_grad_()
    before = logits.detach().clone()
    got = loss.sequence_loss(logits, torch.tensor([[1, 2, 0], [4, 0, 0]]), smoothing=smoothing)
    got.backward()
    assert got.dtype == dtype
    assert got.isfinite()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert torch.equal(logits, before)
