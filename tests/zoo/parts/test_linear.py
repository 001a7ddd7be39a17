"""Linear maps by other kernels than torch's: the same numbers, in every case, and torch's own errors."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.utils.flop_counter import FlopCounterMode

from zoo.analysis.measure import count_flops
from zoo.core.blueprint import make_blueprint
from zoo.models.builder import build
from zoo.parts import fixed_weights, linear, onednn
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.parts.fixed_weights import FixedWeights
from zoo.parts.linear import Linear

needs_onednn = pytest.mark.skipif(not onednn.AVAILABLE, reason="this torch has no oneDNN")


@pytest.fixture
def all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small products go the way of large ones, and weights are rearranged at their second use."""
    monkeypatch.setattr(linear, "LARGE", 0)
    monkeypatch.setattr(fixed_weights, "HEAVY", 0)
    monkeypatch.setattr(fixed_weights, "PATIENCE", 1)


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """For each product of oneDNN, whether its weight was packed."""
    calls: list[bool] = []
    real = onednn.product

    def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        calls.append(onednn.is_packed(weight))
        return real(x, weight, bias)

    monkeypatch.setattr(onednn, "product", product)
    return calls


def agree(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> None:
    same(linear.linear(x, weight, bias), x, weight, bias)


def same(got: Tensor, x: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """It is torch's product, but for the order of the sum: each addition rounds by a unit of what it has summed."""
    expected = F.linear(x, weight, bias)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    sizes = F.linear(x.abs(), weight.abs(), None if bias is None else bias.abs())
    bound = (x.size(-1) + 1) * torch.finfo(expected.dtype).eps * sizes
    assert torch.all((got - expected).abs() <= bound)


@needs_onednn
@given(
    shape=st.lists(st.integers(0, 5), min_size=0, max_size=3),
    wide=st.integers(1, 9),
    out=st.integers(1, 9),
    bias=st.booleans(),
    turned=st.booleans(),
    uses=st.integers(1, 4),
)
def test_it_is_what_torch_computes(
    shape: list[int], wide: int, out: int, bias: bool, turned: bool, uses: int
) -> None:
    weight, offset = nn.Parameter(torch.randn(out, wide)), torch.randn(out) if bias else None
    x = torch.randn(wide, *shape).movedim(0, -1) if turned else torch.randn(*shape, wide)
    with pytest.MonkeyPatch.context() as patch, torch.no_grad(), FixedWeights():
        patch.setattr(linear, "LARGE", 0)
        patch.setattr(fixed_weights, "HEAVY", 0)
        patch.setattr(fixed_weights, "PATIENCE", 1)
        for _ in range(uses):
            agree(x, weight, offset)


def test_an_operator_with_other_arguments_is_none() -> None:
    assert onednn._operator("_linear_pointwise", "X", "W") is None
    assert onednn._operator("no_such_operator") is None


@needs_onednn
def test_a_large_product_without_gradients_is_onednns(products: list[bool]) -> None:
    x, large = torch.randn(256, 512), Linear(512, 512)
    small = Linear(512, 8)
    with torch.no_grad():
        agree(x, large.weight, large.bias)
        assert products == [False]
        small(x)
        large(x[:1])
        large(x.double().float()[:0])
    large(x).sum().backward()
    assert products == [False], "with gradients, of few rows, or small: torch's own"
    assert large.weight.grad is not None


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
@pytest.mark.parametrize("case", ["double", "bfloat16", "autocast", "subclass", "meta"])
def test_other_tensors_go_to_torch(case: str, products: list[bool]) -> None:
    x, weight = torch.randn(3, 4), torch.randn(5, 4)
    with torch.no_grad():
        if case == "autocast":
            with torch.autocast("cpu", torch.bfloat16):
                assert linear.linear(x, weight).dtype == torch.bfloat16
        elif case == "subclass":
            kind = type("Odd", (Tensor,), {})
            assert type(linear.linear(x.as_subclass(kind), weight)) is kind
        elif case == "meta":
            assert linear.linear(x.to("meta"), weight.to("meta")).shape == (3, 5)
        else:
            agree(x.to(getattr(torch, case)), weight.to(getattr(torch, case)))
    assert products == []


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(
    "bias",
    [torch.randn(10)[::2], torch.randn(1).expand(5), torch.randn(()), torch.randn(1), torch.randn(1, 5)],
    ids=["every other", "expanded", "a number", "one", "a row"],
)
def test_any_bias_that_torch_takes(bias: Tensor, rows: int) -> None:
    x, weight = torch.randn(rows, 4), nn.Parameter(torch.randn(5, 4))
    with torch.no_grad(), FixedWeights():
        for _ in range(3):
            agree(x, weight, bias)


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch uses it itself
def test_derivatives_that_come_along() -> None:
    x, weight, along = torch.randn(3, 4), torch.randn(5, 4), torch.randn(3, 4)
    with torch.no_grad():
        _, tangent = torch.func.jvp(lambda x: linear.linear(x, weight), (x,), (along,))
        torch.testing.assert_close(tangent, along @ weight.T)
        with forward_ad.dual_level():
            dual = linear.linear(forward_ad.make_dual(x, along), weight)
            torch.testing.assert_close(forward_ad.unpack_dual(dual).tangent, along @ weight.T)


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
def test_a_batch_of_weights() -> None:
    x, weights = torch.randn(3, 4), torch.randn(7, 5, 4)
    with torch.no_grad(), FixedWeights():
        for _ in range(3):
            got = torch.vmap(lambda weight: linear.linear(x, weight))(weights)
            torch.testing.assert_close(got, x @ weights.mT)


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_a_traced_layer_is_torchs() -> None:
    layer, x = Linear(4, 5), torch.randn(3, 4)
    with torch.no_grad():
        traced = torch.jit.trace(layer, x)  # type: ignore[no-untyped-call]
        torch.testing.assert_close(traced(x), layer(x))
    assert "mkldnn" not in str(traced.inlined_graph)


@pytest.mark.usefixtures("all_sizes")
@pytest.mark.parametrize(
    ("x", "weight"),
    [(torch.ones(3, 5), torch.ones(2, 4)), (torch.ones(()), torch.ones(2, 4)), (torch.ones(3, 4), torch.ones(4, 4, 4))],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_torchs_words(x: Tensor, weight: Tensor) -> None:
    with torch.no_grad(), pytest.raises((RuntimeError, IndexError)) as theirs:
        F.linear(x, weight)
    with torch.no_grad(), FixedWeights(), pytest.raises((RuntimeError, IndexError)) as ours:
        linear.linear(x, weight)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.usefixtures("all_sizes")
def test_without_onednn_torch_does_it(monkeypatch: pytest.MonkeyPatch, products: list[bool]) -> None:
    monkeypatch.setattr(onednn, "AVAILABLE", False)
    with torch.no_grad(), FixedWeights():
        for _ in range(3):
            agree(torch.randn(3, 4), torch.randn(5, 4))
    assert products == []


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("fused", [True, False])
def test_weights_may_change_between_one_time_and_the_next(rows: int, fused: bool) -> None:
    """A fused optimizer does not raise the version of what it changes."""
    layer, x, fixed = Linear(4, 6), torch.randn(rows, 4), FixedWeights()
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1, fused=fused)
    for _ in range(3):
        with torch.no_grad(), fixed:
            for _ in range(4):
                agree_with_layer(layer, x)
        layer(x).sum().backward()
        optimizer.step()
    layer.weight = nn.Parameter(torch.randn(6, 4))
    with torch.no_grad(), fixed:
        agree_with_layer(layer, x)
    copy.deepcopy(fixed)
    pickle.dumps(fixed)


def agree_with_layer(layer: Linear, x: Tensor) -> None:
    same(layer(x), x, layer.weight, layer.bias)


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
def test_weights_that_come_and_go_are_not_mixed_up() -> None:
    """Memory that is freed and given to another weight of the same shape."""
    with torch.no_grad(), FixedWeights():
        for _ in range(20):
            weight = nn.Parameter(torch.randn(64, 64))
            for _ in range(3):
                agree(torch.randn(2, 64), weight.t())
                agree(torch.randn(2, 64), weight)
                agree(torch.randn(2, 64), weight[:32])
                agree(torch.randn(1, 64), weight[32:])


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
def test_packing_takes_patience_and_ends_with_the_context(products: list[bool]) -> None:
    x, weight = torch.randn(3, 4), nn.Parameter(torch.randn(5, 4))
    fixed = FixedWeights()
    with torch.no_grad():
        for _ in range(2):
            with fixed:
                linear.linear(x, weight)
                linear.linear(x, weight)
                with FixedWeights():
                    linear.linear(x, weight)
                linear.linear(x, weight)
            linear.linear(x, weight)
    assert products == [False, True, False, True, False] * 2
    assert fixed_weights.current() is None


def test_a_generator_that_ends_within_another_context_leaves_nothing_behind() -> None:
    def entering() -> Iterator[None]:
        with FixedWeights():
            yield

    inside = entering()
    next(inside)
    with FixedWeights() as other:
        inside.close()
        assert fixed_weights.current() is other
    assert fixed_weights.current() is None


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
def test_what_is_computed_from_weights_is_not_kept(products: list[bool]) -> None:
    """As weight norm and low-rank updates do, anew at every call: nothing would ever be used twice."""
    layer = nn.utils.parametrizations.weight_norm(Linear(4, 6))
    with torch.no_grad(), FixedWeights() as fixed:
        for _ in range(4):
            agree_with_layer(layer, torch.randn(3, 4))
    assert not any(products)
    assert not fixed._copies


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
def test_in_inference_mode(products: list[bool]) -> None:
    ordinary = Linear(4, 6)
    with torch.inference_mode(), FixedWeights():
        for layer in (ordinary, Linear(4, 6)):
            for _ in range(3):
                agree_with_layer(layer, torch.randn(3, 4))
    assert products == [False, True, True] * 2


@needs_onednn
def test_one_object_in_several_threads() -> None:
    fixed, layer, failed = FixedWeights(), Linear(512, 512), []
    x = torch.randn(3, 512)

    def run() -> None:
        try:
            for _ in range(30):
                with torch.no_grad(), fixed:
                    agree_with_layer(layer, x)
        except BaseException as error:  # noqa: BLE001 - told to the test
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@needs_onednn
def test_other_threads_have_their_own() -> None:
    seen: list[object] = []
    with FixedWeights() as fixed:
        other = threading.Thread(target=lambda: seen.append(fixed_weights.current()))
        other.start()
        other.join()
        assert fixed_weights.current() is fixed
    assert seen == [None]


@needs_onednn
@pytest.mark.usefixtures("all_sizes")
@pytest.mark.parametrize("attention", ["eager", "fused", "gqa:num_kv_heads=2", "torch"])
@pytest.mark.parametrize("rows", [1, 3])
def test_a_model_answers_the_same(
    attention: str, rows: int, products: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    blueprint = make_blueprint(
        attention=attention, d_model=32, num_heads=4, d_ff=64, num_encoder_layers=2, num_decoder_layers=2
    )
    model = build(blueprint, seed=0).eval()
    src = torch.randint(3, 20, (rows, 7), generator=torch.Generator().manual_seed(0))
    src[-1, 5:] = 0
    answers = [generate(model, src, 12, GreedyDecoding(), eos=-1, cached=cached) for cached in (None, False)]
    assert products
    monkeypatch.setattr(onednn, "AVAILABLE", False)
    answers.append(generate(model, src, 12, GreedyDecoding(), eos=-1))
    assert all(torch.equal(answer, answers[0]) for answer in answers)


def test_flops_are_counted_as_ever() -> None:
    sizes = {"d_model": 512, "num_heads": 8, "num_encoder_layers": 1, "num_decoder_layers": 1}
    model = build(make_blueprint(attention="eager", **sizes)).eval()
    tokens = torch.ones(4, 40, dtype=torch.long)
    expected = count_flops(model, tokens, tokens)
    with torch.no_grad():
        assert count_flops(model, tokens, tokens) == expected
        with FlopCounterMode(display=False) as counter:
            model.eval()(tokens, tokens)
    assert counter.get_total_flops() == expected
