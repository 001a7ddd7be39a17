"""Linear maps by oneDNN: the same up to rounding, and torch's own wherever they would not do."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from zoo.accelerate import accelerate, products
from zoo.accelerate.products import QuickLinear

needs_onednn = pytest.mark.skipif(not products.AVAILABLE, reason="this torch has no oneDNN")
pytestmark = needs_onednn


@pytest.fixture(autouse=True)
def _enabled() -> object:
    before = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = True
    yield
    torch.backends.mkldnn.enabled = before


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes that oneDNN multiplied, however small."""
    found, real = [], products.product

    def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        found.append((*x.shape, *weight.shape))
        return real(x, weight, bias)

    monkeypatch.setattr(products, "product", product)
    monkeypatch.setattr(products, "LARGE", 0)
    return found


def pair(wide: int = 4, out: int = 5, bias: bool = True) -> tuple[nn.Linear, nn.Module]:
    """A plain map, and one by oneDNN with the same weights."""
    plain, quick = nn.Linear(wide, out, bias=bias), nn.Linear(wide, out, bias=bias)
    quick.load_state_dict(plain.state_dict())
    return plain, accelerate(quick, onednn=True)


def gradients(module: nn.Module, x: Tensor) -> list[Tensor]:
    x = x.detach().requires_grad_()
    return list(torch.autograd.grad((module(x) ** 2).sum(), (x, *module.parameters())))


@given(
    shape=st.lists(st.integers(0, 5), min_size=0, max_size=3),
    wide=st.integers(1, 9),
    out=st.integers(1, 9),
    bias=st.booleans(),
    moved=st.booleans(),
)
def test_outputs_and_gradients_are_those_of_torch(
    shape: list[int], wide: int, out: int, bias: bool, moved: bool
) -> None:
    plain, quick = pair(wide, out, bias)
    x = torch.randn(wide, *shape).movedim(0, -1) if moved else torch.randn(*shape, wide)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "LARGE", 0)
        with torch.no_grad():
            torch.testing.assert_close(quick(x), plain(x), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(gradients(quick, x), gradients(plain, x), rtol=1e-4, atol=1e-4)


def test_small_products_and_single_rows_are_left_to_torch(calls: list[object]) -> None:
    _, quick = pair()
    quick(torch.randn(1, 4))
    quick(torch.randn(4))
    assert calls == []
    quick(torch.randn(2, 4)).sum().backward()
    assert calls == [(2, 4, 5, 4), (5, 2, 4, 2)], "forward, and the gradient of the weight"


@pytest.mark.filterwarnings("ignore:TF32 acceleration:UserWarning")  # torch's, of its own flags
def test_the_flags_of_torch_are_respected(calls: list[object]) -> None:
    plain, quick = pair()
    x = torch.randn(3, 4)
    with torch.backends.mkldnn.flags(enabled=False):
        torch.testing.assert_close(gradients(quick, x), gradients(plain, x), rtol=0, atol=0)
        with torch.no_grad():
            assert torch.equal(quick(x), plain(x))
    assert calls == []


@pytest.mark.parametrize(
    "case", ["double", "bfloat16", "autocast", "subclass", "meta", "vmap", "jvp", "grad"]
)
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch uses it itself
def test_other_tensors_go_to_torch(case: str, calls: list[object]) -> None:
    plain, quick = pair()
    x = torch.randn(3, 4)
    for module in (plain, quick):
        if case in ("double", "bfloat16"):
            dtype = getattr(torch, case)
            assert module.to(dtype)(x.to(dtype)).dtype == dtype
        elif case == "autocast":
            with torch.autocast("cpu", torch.bfloat16):
                assert module(x).dtype == torch.bfloat16
        elif case == "subclass":
            kind = type("Odd", (Tensor,), {})
            assert type(module(x.as_subclass(kind))) is kind
        elif case == "meta":
            assert module.to("meta")(x.to("meta")).shape == (3, 5)
        elif case == "vmap":
            assert torch.vmap(module)(x[:, None]).shape == (3, 1, 5)
        elif case == "jvp":
            assert torch.func.jvp(module, (x,), (x,))[1].shape == (3, 5)
        else:
            assert torch.func.grad(lambda x, module=module: module(x).sum())(x).shape == (3, 4)
    assert calls == []


def test_gradients_have_gradients(calls: list[object]) -> None:
    found = []
    for module in pair():
        x = torch.linspace(-1, 1, 12).view(3, 4).requires_grad_()
        (slope,) = torch.autograd.grad((module(x) ** 3).sum(), x, create_graph=True)
        found.append(torch.autograd.grad((slope**2).sum(), module.parameters()))
    assert calls
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)


def test_weights_that_change_are_seen_at_once(calls: list[object]) -> None:
    plain, quick = pair()
    x = torch.randn(3, 4)
    for change in (
        lambda module: module.weight.data.mul_(2),
        lambda module: setattr(module, "weight", nn.Parameter(torch.ones(5, 4))),
    ):
        with torch.no_grad():
            for module in (plain, quick):
                module(x)
                change(module)
            torch.testing.assert_close(quick(x), plain(x))
    assert calls


def test_flops_are_counted(calls: list[object]) -> None:
    counts = []
    for module in pair():
        with FlopCounterMode(display=False) as counter:
            module(torch.randn(3, 4)).sum().backward()
        counts.append(counter.get_total_flops())
    assert calls
    assert counts[0] == counts[1] > 0


def test_an_operator_with_other_arguments_is_none() -> None:
    assert products.operator("_linear_pointwise", "X", "W") is None
    assert products.operator("no_such_operator") is None


@pytest.mark.parametrize(("maker", "expected"), [("vendor_id : AuthenticAMD", True), ("GenuineIntel", False)])
def test_it_multiplies_where_mkl_is_slow(maker: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_vendor", lambda: maker)
    assert products.pays() == (expected and torch.backends.mkl.is_available())
    found = accelerate(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)))
    assert isinstance(found[0], QuickLinear) == products.pays()  # type: ignore[index]
