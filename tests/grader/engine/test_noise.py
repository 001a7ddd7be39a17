"""No verdict depends on rounding: correct code also passes on another processor, which `noise` simulates."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.catalog import get_exercise, get_exercises
from grader.core.submission import Submission
from grader.engine.client import Client
from grader.engine.contrast import same
from grader.engine.local import LocalSubmission
from grader.engine.scenario import Answer, Scenario
from grader.engine.subject import run
from tests.grader.grades import graded
from tests.grader.noise import Noise
from tests.grader.noisy import Noisy
from tests.grader.right import right_files

NAMES = list(get_exercises())
DEAR = ("encoder", "decoder", "decoding", "kv_cache")
SEEDS = 4  # for right files
EPS = torch.finfo(torch.float32).eps


def problems(exercise: str, submission: Submission, seed: int) -> list[str]:
    """Grade without training, and return what did not pass."""
    results = graded(exercise, submission, seed)
    return [f"seed {seed}, {r.name}: {r.status}: {r.message}" for r in results if r.status != "passed"]


def reference(exercise: str) -> LocalSubmission:
    module = importlib.import_module(get_exercise(exercise).reference)
    return LocalSubmission(module.namespace(module.REFERENCE))


def from_file(exercise: str, title: str, noise: Noise) -> Noisy:
    return Noisy.from_source(right_files(exercise)[title], noise, filename=f"{exercise}.py")


# Correct code passes.


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DEAR])
@pytest.mark.sampled(4)
def test_solution_passes_in_noise(name: str) -> None:
    """The quick ones; the next test has all."""
    assert problems(name, from_file(name, "solution", Noise(2)), 2) == []


def chosen(exercise: str) -> list[str]:
    """Every sixth file: noise is slow, and all files are graded on other kernels."""
    return list(right_files(exercise))[::6]


def seed_of(exercise: str, title: str) -> int:
    """Files of an exercise share its seeds evenly; neighbours have the same one, and with it the right answers."""
    files = chosen(exercise)
    return files.index(title) * SEEDS // len(files)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "title"), [(name, one) for name in NAMES for one in chosen(name)], ids=lambda x: x
)
def test_right_file_passes_in_noise(name: str, title: str) -> None:
    """Nor does any seed fail it: `python -m tests.grader.hundred` has more of them."""
    seed = seed_of(name, title)
    assert problems(name, from_file(name, title, Noise(seed)), seed) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_seed_has_a_right_file(name: str) -> None:
    assert {seed_of(name, title) for title in chosen(name)} == set(range(SEEDS))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_reference_passes_in_four_times_the_noise(name: str) -> None:
    assert problems(name, Noisy(reference(name), Noise(5, ulps=4)), 5) == []


# The noise finds comparisons that depend on rounding.


def arrives(client: Client) -> Answer:
    """Compare a number that is 0 up to rounding with 0: the query's gradient if there is one key."""
    draws = torch.Generator().manual_seed(7)
    query, key, value, cotangent = (torch.randn(2, 1, 8, generator=draws) for _ in range(4))
    function = client.function("scaled_dot_product_attention")
    answer = client.call(function, query, key, value, grad=(0,), cotangent=cotangent)
    gradient = answer["gradient of 0"]
    assert isinstance(gradient, Tensor)
    return {"the gradient arrives": "yes" if (gradient != 0).any() else "no"}


def again(client: Client) -> Answer:
    """Compare two equal calls bit by bit."""
    draws = torch.Generator().manual_seed(7)
    given = [torch.randn(2, 3, 8, generator=draws) for _ in range(3)]
    function = client.function("scaled_dot_product_attention")
    first, second = (client.call(function, *given, names=("output", "weights"))["output"] for _ in range(2))
    assert isinstance(first, Tensor)
    assert isinstance(second, Tensor)
    return {"two equal calls": "equal" if torch.equal(first, second) else "different"}


@pytest.mark.parametrize("ask", [arrives, again])
def test_a_comparison_that_depends_on_rounding_fails_in_noise(ask: Callable[[Client], Answer]) -> None:
    name = "scaled_dot_product_attention"
    scenario, by_steps = Scenario("one", name, "group", ask), reference("attention")
    right = run(scenario, by_steps, exact=True)
    by_library = LocalSubmission({name: lambda *given: F.scaled_dot_product_attention(*given)})
    assert same(scenario, right, run(scenario, by_steps))
    for code in (by_steps, by_library):
        assert not same(scenario, right, run(scenario, Noisy(code, Noise(0))))


def one_key(attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
    """Return the gradient of the query, which is 0 up to rounding."""
    query, key, value = (torch.randn(2, 3, n, 8) for n in (4, 1, 1))
    query.requires_grad_()
    with Noise(0):
        (attend(query, key, value) * torch.randn(2, 3, 4, 8)).sum().backward()
    assert query.grad is not None
    return query.grad


def by_hand(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return (query @ key.mT).softmax(-1) @ value


@pytest.mark.parametrize("attend", [by_hand, F.scaled_dot_product_attention])
def test_the_gradient_of_one_key_is_small_and_not_zero(attend: Callable[..., Tensor]) -> None:
    gradient = one_key(attend)
    assert bool((gradient != 0).any())
    assert bool((gradient.abs() < 1e-4).all())


# The noise is no larger than rounding.

MASKED = torch.tensor([[True, False, True], [True, True, False]])
SAME_EVERYWHERE: dict[str, Callable[[Tensor], Tensor]] = {
    "copies": lambda x: torch.cat([x.clone(), x.T.contiguous().T, x.to(torch.float64).float()]),
    "selections": lambda x: torch.stack([x[[1, 0]], x.masked_fill(MASKED, 0.0), x.where(MASKED, x.neg())]),
    "maxima": lambda x: torch.cat([x.relu(), x.clamp(-1, 1), x.amax(0, keepdim=True), x.sort().values]),
    "other shapes": lambda x: x.clone().unsqueeze_(0).transpose_(0, 1).squeeze_(),
    "triangles": lambda x: x.tril() - x.tril(),
    "products with 0, 1 and 2": lambda x: torch.cat([x * 1, x * 0.0, x * MASKED, x * 2, x / 2, x + 0]),
    "a product with an identity matrix": lambda x: x @ torch.eye(3),
    "sums of whole numbers": lambda x: torch.cat([x.round().sum(1), x.round().cumsum(1)[0], MASKED.float().mean(0)]),
    "the sum of one number": lambda x: x[:, :1].sum(1),
    "zeros": lambda x: (x * 0).softmax(-1).log().exp().sum() * 0 + (x * 0) @ x.T + F.gelu(x * 0)[:, :2],
    "hidden weights": lambda x: x.masked_fill(MASKED, -torch.inf).softmax(-1)[MASKED],
    "a large and a small number": lambda x: x * 0 + 1e20 + x,
    "indices": lambda x: F.embedding(torch.tensor([1, 0, 1]), x) + F.one_hot(x.argmax(-1), 3)[:1],
    "chance": lambda x: F.dropout(torch.ones(50), 0.5) + torch.bernoulli(torch.full((50,), 0.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in SAME_EVERYWHERE if name != "indices"])
def test_what_no_processor_rounds_is_left_alone(name: str) -> None:
    x = torch.randn(2, 3)
    torch.manual_seed(1)
    expected = SAME_EVERYWHERE[name](x)
    for seed in range(5):
        torch.manual_seed(1)
        with Noise(seed):
            assert torch.equal(SAME_EVERYWHERE[name](x), expected)


ONE_ROUNDING: dict[str, Callable[[Tensor], Tensor]] = {
    "add": lambda x: x + 0.1,
    "mul": lambda x: x * 0.1,
    "div": lambda x: x / 3,
    "sqrt": lambda x: x.sqrt(),
    "exp": lambda x: x.exp(),
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "pow": lambda x: x**2.5,
    "rsqrt": lambda x: x.rsqrt(),
    "in place": lambda x: x.clone().mul_(0.1),
    "out=": lambda x: torch.mul(x, 0.1, out=torch.empty_like(x)),
    "of several": lambda x: torch._foreach_mul([x], 0.1)[0],
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ONE_ROUNDING)
def test_one_rounding_is_one_unit_off(name: str, dtype: torch.dtype) -> None:
    x = torch.rand(200, dtype=dtype) + 0.5
    expected = ONE_ROUNDING[name](x)
    with Noise(0):
        got = ONE_ROUNDING[name](x)
    off = (got.double() - expected.double()).abs() / (torch.finfo(dtype).eps * expected.double().abs())
    assert 0.4 < float(off.mean()) < 1.1
    assert float(off.max()) <= 1.01
    assert bool((got > expected).any())
    assert bool((got < expected).any())


SUMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "matrices": lambda a, b: a @ b,
    "matrices in a batch": lambda a, b: (a.unsqueeze(0) @ b)[0],
    "linear": lambda a, b: F.linear(a, b.T, torch.zeros(b.size(1))),
    "einsum": lambda a, b: torch.einsum("ij,jk->ik", a, b),
    "convolution": lambda a, b: F.conv1d(a.unsqueeze(-1), b.T.unsqueeze(-1)).squeeze(-1),
    "sum": lambda a, b: (a.unsqueeze(-1) * b).sum(1),
    "mean": lambda a, b: (a.unsqueeze(-1) * b).mean(1) * a.size(1),
    "in place": lambda a, b: torch.zeros(a.size(0), b.size(1)).addmm_(a, b),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_is_off_by_a_share_of_its_terms(name: str) -> None:
    a, b = torch.randn(20, 16), torch.randn(16, 30)
    with Noise(0):
        got = SUMS[name](a, b)
    off = (got.double() - a.double() @ b.double()).abs() / (a.abs() @ b.abs())
    assert EPS / 2 < float(off.max()) < 4 * EPS


def test_a_sum_that_cancels_is_not_zero() -> None:
    x = torch.randn(100, 1).expand(100, 8) * torch.tensor([1.0, -1.0]).repeat(4)
    assert not x.sum(1).any()
    with Noise(0):
        found = x.sum(1)
    assert bool((found != 0).all())
    assert float(found.abs().max()) < 1e-4


@pytest.mark.parametrize(
    "kernel",
    [
        lambda x: x.softmax(-1),
        lambda x: x.log_softmax(-1).exp(),
        lambda x: F.layer_norm(x, x.shape[-1:], x[0, 0, 0], x[1, 1, 1]),
        lambda x: x.var(-1),
        lambda x: x.std(-1, keepdim=True),
        lambda x: x.logsumexp(-1),
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.zeros(6, 6).fill_diagonal_(-torch.inf)),
        lambda x: F.cross_entropy(x[0, 0], torch.tensor([1, 2, 0, 3, 4, 0]), ignore_index=0, label_smoothing=0.1),
        lambda x: nn.functional.embedding(torch.tensor([1, 1, 0]), x[0, 0]).sum(),
    ],
)  # fmt: skip
def test_kernels_and_their_gradients_are_off_by_a_few_units(kernel: Callable[[Tensor], Tensor]) -> None:
    given = torch.randn(2, 2, 6, 5)
    cotangent = torch.randn(kernel(given).shape)
    found = []
    for noise in (None, Noise(0), Noise(1)):
        x = given.clone().requires_grad_()
        if noise is None:
            out = kernel(x)
            out.backward(cotangent)
        else:
            with noise:
                out = kernel(x)
                out.backward(cotangent)
        assert x.grad is not None
        found.append((out.detach(), x.grad))
    for right, *others in zip(*found, strict=True):
        for got in others:
            assert not torch.equal(got, right)
            torch.testing.assert_close(got, right, rtol=1e-5, atol=1e-5)


def test_bfloat16_is_rounded_once() -> None:
    a, b = torch.randn(64, 32).bfloat16(), torch.randn(32, 64).bfloat16()
    with Noise(0, ulps=30):
        got = a @ b
    moved = got != a @ b
    assert 0 < float(moved.float().mean()) < 0.1
    exact = a.double() @ b.double()
    assert float(((got - exact).abs() / exact.abs().clamp(min=1.0)).max()) < 0.005


# Nothing but rounding changes.


def test_what_is_changed_in_place_is_the_tensor_itself() -> None:
    x = torch.rand(4, 4) + 1
    row, before = x[1], x.clone()
    with Noise(0):
        assert row.mul_(1.1) is row
        x[2].add_(row)
    assert torch.equal(x[1], row)
    assert torch.equal(x[[0, 3]], before[[0, 3]])
    torch.testing.assert_close(x[2], before[2] + 1.1 * before[1])
    assert not torch.equal(x[2], before[2] + row)


def test_views_are_views() -> None:
    x = torch.rand(4, 6)
    with Noise(0):
        view = x.view(2, 12).T.unflatten(0, (3, 4))[1]
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_the_random_generator_goes_on_as_before() -> None:
    torch.manual_seed(3)
    expected = torch.randn(4), F.dropout(torch.ones(100), 0.5) > 0, torch.randn(4)
    torch.manual_seed(3)
    with Noise(0):
        got = torch.randn(4), F.dropout(torch.ones(100), 0.5) > 0, torch.randn(4)
    assert all(torch.equal(a, b) for a, b in zip(expected, got, strict=True))


def test_the_noise_replays_from_its_seed() -> None:
    x = torch.randn(50)

    def found(seed: int) -> Tensor:
        with Noise(seed):
            return (x * 0.1).exp()

    assert torch.equal(found(1), found(1))
    assert not torch.equal(found(1), found(2))


def test_the_amplitude_can_be_set() -> None:
    x = torch.rand(100) + 0.5
    right = x.exp()
    off = []
    for ulps in (1.0, 4.0):
        with Noise(0, ulps=ulps):
            got = x.exp()
        off.append(float((got - right).abs().max()))
    assert off[1] == pytest.approx(4 * off[0])


def test_what_is_composed_of_operations_is_noisy_in_inference_mode() -> None:
    a, b = torch.randn(4, 8), torch.randn(8, 4)
    with Noise(0), torch.inference_mode():
        got = torch.matmul(a, b), torch.log_softmax(a, -1)
    assert not torch.equal(got[0], a @ b)
    assert not torch.equal(got[1], a.log_softmax(-1))


def test_an_optimizer_is_noisy() -> None:
    found = []
    for noise in (None, Noise(0)):
        layer = nn.Linear(3, 2)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.fill_(0.3)
                parameter.grad = torch.full_like(parameter, 0.7)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
        if noise is None:
            optimizer.step()
        else:
            with noise:
                optimizer.step()
        found.append(layer.weight.detach())
    assert not torch.equal(*found)
    torch.testing.assert_close(*found)


def test_only_the_submission_is_noisy() -> None:
    noisy = Noisy(LocalSubmission({"f": lambda x: x.exp()}), Noise(0))
    x = torch.rand(50)
    first = noisy.function("f").call([x]).value
    assert not torch.equal(first, x.exp())
    assert torch.equal(x.exp(), x.exp())
