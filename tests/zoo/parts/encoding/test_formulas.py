"""Each encoding against its formula, written out."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from zoo.core.blueprint import make_blueprint
from zoo.core.errors import CombinationError
from zoo.models.builder import build
from zoo.parts.encoding.alibi import AlibiPositions, alibi_slopes
from zoo.parts.encoding.learned import LearnedPositions
from zoo.parts.encoding.rotary import RotaryPositions, scaled
from zoo.parts.encoding.shaw import ShawPositions
from zoo.parts.encoding.sinusoidal import SinusoidalPositions
from zoo.parts.encoding.sinusoidal_concat import ConcatSinusoidalPositions
from zoo.parts.encoding.t5 import T5Positions

LIKE = torch.zeros(1, dtype=torch.float64)


@pytest.mark.parametrize("d_model", [1, 2, 5, 6])
@pytest.mark.parametrize("base", [10000.0, 100.0])
def test_sinusoidal(d_model: int, base: float) -> None:
    got = SinusoidalPositions(d_model, 50, base)(torch.zeros(1, 50, d_model))[0]
    for t in (0, 1, 7, 49):
        for column in range(d_model):
            angle = t / base ** ((column - column % 2) / d_model)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert got[t, column].item() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("d_model", [1, 2, 5, 6])
def test_sinusoidal_concat(d_model: int) -> None:
    got = ConcatSinusoidalPositions(d_model, 50, 100.0)(torch.zeros(1, 50, d_model))[0]
    sines = (d_model + 1) // 2
    for t in (0, 1, 7, 49):
        angles = [t / 100.0 ** (2 * i / d_model) for i in range(sines)]
        expected = [math.sin(a) for a in angles] + [math.cos(a) for a in angles[: d_model - sines]]
        assert got[t].tolist() == pytest.approx(expected, abs=1e-6)


def test_sinusoidal_is_computed_in_double_precision() -> None:
    """In float32, the angle at late positions would be off by a multiple of what is allowed here."""
    got = SinusoidalPositions(4, 100_001)(torch.zeros(1, 100_001, 4))[0, -1]
    expected = [math.sin(1e5), math.cos(1e5), math.sin(1e3), math.cos(1e3)]
    assert got.tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "encoding", [SinusoidalPositions(6, 10), RotaryPositions(8, 10, 4), AlibiPositions(8, 10, 2)]
)
def test_what_is_fixed_has_nothing_to_train_or_save(encoding: torch.nn.Module) -> None:
    assert not list(encoding.parameters())
    assert not encoding.state_dict()


@pytest.mark.parametrize("causal", [True, False])
def test_of_t5_and_shaw_the_table_alone_is_saved(causal: bool) -> None:
    """So that a checkpoint does not depend on how distances are found."""
    for encoding in (T5Positions(8, 10, 2, causal), ShawPositions(8, 10, 4)):
        assert list(encoding.state_dict()) == ["table"]


def test_learned() -> None:
    torch.manual_seed(0)
    encoding = LearnedPositions(64, 100, std=0.5)
    (table,) = encoding.parameters()
    assert table.shape == (100, 64)
    assert table.std().item() == pytest.approx(0.5, rel=0.05)
    x = torch.randn(2, 7, 64)
    torch.testing.assert_close(encoding(x), x + table[:7])
    encoding(x).sum().backward()
    assert torch.equal(table.grad, torch.cat((torch.full((7, 64), 2.0), torch.zeros(93, 64))))  # type: ignore[arg-type]


def complex_turn(x: Tensor, base: float) -> Tensor:
    """Pairs as complex numbers, times e^(i t base^(-2i/d))."""
    turned = torch.empty_like(x)
    width = x.size(-1)
    for t in range(x.size(-2)):
        for i in range(width // 2):
            factor = complex(math.cos(t * base ** (-2 * i / width)), math.sin(t * base ** (-2 * i / width)))
            turned[..., t, 2 * i] = factor.real * x[..., t, 2 * i] - factor.imag * x[..., t, 2 * i + 1]
            turned[..., t, 2 * i + 1] = factor.imag * x[..., t, 2 * i] + factor.real * x[..., t, 2 * i + 1]
    return turned


@pytest.mark.parametrize("base", [10000.0, 50.0])
def test_rotary(base: float) -> None:
    encoding = RotaryPositions(12, 9, head_dim=6, base=base).double()
    q, k = torch.randn(3, 2, 5, 6, dtype=torch.float64), torch.randn(3, 1, 5, 6, dtype=torch.float64)
    got = encoding.positions(5, 5, LIKE).rotate(q, k)
    torch.testing.assert_close(got, (complex_turn(q, base), complex_turn(k, base)), rtol=0, atol=1e-6)
    torch.testing.assert_close(got[0].norm(dim=-1), q.norm(dim=-1), rtol=1e-6, atol=0)
    assert torch.equal(got[0][:, :, 0], q[:, :, 0])


def test_rotary_turns_a_part_of_each_head() -> None:
    encoding = RotaryPositions(16, 9, head_dim=8, fraction=0.5).double()
    q, k = torch.randn(3, 2, 5, 8, dtype=torch.float64), torch.randn(3, 1, 5, 8, dtype=torch.float64)
    for got, given in zip(encoding.positions(5, 5, LIKE).rotate(q, k), (q, k), strict=True):
        turned = complex_turn(given[..., :4], 10000.0)
        torch.testing.assert_close(got[..., :4], turned, rtol=0, atol=1e-6)
        assert torch.equal(got[..., 4:], given[..., 4:])
    with pytest.raises(ValueError, match=r"fraction=0.4 of head_dim=8 is 3, .* such as fraction=0.25"):
        RotaryPositions(16, 9, head_dim=8, fraction=0.4)


def test_the_scalings_of_rotary_frequencies() -> None:
    """As the papers write them; Llama 3 as the published code does, in wavelengths."""
    width, base, factor, original = 64, 10000.0, 8.0, 1024
    plain = scaled(width, base, "none", 1.0, original)
    torch.testing.assert_close(plain[1:] / plain[:-1], torch.full((31,), base ** (-1 / 32)).double())
    torch.testing.assert_close(scaled(width, base, "linear", factor, original), plain / factor)
    ntk = scaled(width, base, "ntk", factor, original)
    assert ntk[0] == plain[0]  # the fastest as it was, the slowest as with linear
    assert ntk[-1].item() == pytest.approx(plain[-1].item() / factor)
    yarn, llama = (scaled(width, base, name, factor, original) for name in ("yarn", "llama3"))
    for i, frequency in enumerate(plain.tolist()):
        wavelength = 2 * math.pi / frequency
        share = min(max((original / wavelength - 1) / 31, 0), 1)
        assert yarn[i].item() == pytest.approx((1 - share) * frequency / factor + share * frequency)
        if wavelength < original / 4:
            expected = frequency
        elif wavelength > original / 1:
            expected = frequency / factor
        else:
            smooth = (original / wavelength - 1) / (4 - 1)
            expected = (1 - smooth) * frequency / factor + smooth * frequency
        assert llama[i].item() == pytest.approx(expected)


@pytest.mark.parametrize("scaling", ["none", "linear", "ntk", "yarn", "llama3"])
def test_a_factor_of_one_scales_nothing(scaling: str) -> None:
    one, plain = RotaryPositions(8, 20, 4, scaling=scaling, original=5), RotaryPositions(8, 20, 4)
    torch.testing.assert_close((one.cos, one.sin), (plain.cos, plain.sin))


def test_yarn_makes_scores_larger() -> None:
    encoding = RotaryPositions(8, 64, 4, scaling="yarn", factor=4)
    norm = encoding.cos.square() + encoding.sin.square()
    torch.testing.assert_close(norm, torch.full_like(norm, (0.1 * math.log(4) + 1) ** 2))


def test_rotary_needs_pairs() -> None:
    with pytest.raises(ValueError, match="head_dim=3, but pairs are rotated: expected an even head_dim"):
        RotaryPositions(6, 9, head_dim=3)
    with pytest.raises(
        CombinationError, match=r"encoding=rotary needs a head_dim .* Use d_model=8. \(rule head-width"
    ):
        build(make_blueprint(encoding="rotary", d_model=6, num_heads=2))


@pytest.mark.parametrize(
    ("heads", "exponents"),
    [
        (1, [8]),
        (2, [4, 8]),
        (8, [1, 2, 3, 4, 5, 6, 7, 8]),
        (3, [4, 8, 2]),
        (12, [1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5]),
    ],
)
def test_alibis_slopes(heads: int, exponents: list[float]) -> None:
    assert alibi_slopes(heads) == pytest.approx([2**-e for e in exponents])


def test_alibi() -> None:
    bias = AlibiPositions(8, 9, num_heads=2).double().positions(3, 5, LIKE).bias(LIKE)
    assert bias is not None
    assert bias.shape == (1, 2, 3, 5)
    for h, slope in enumerate((2**-4, 2**-8)):
        for row, i in enumerate((2, 3, 4)):
            assert bias[0, h, row].tolist() == pytest.approx([-slope * abs(i - j) for j in range(5)])


def buckets_of(offsets: list[int], causal: bool, buckets: int = 32, max_distance: int = 128) -> list[int]:
    """The bucket of each offset j - i, read off a bias whose every number is its bucket's."""
    size = max(abs(offset) for offset in offsets) + 1
    encoding = T5Positions(1, 2 * size, 1, causal, buckets, max_distance).double()
    with torch.no_grad():
        encoding.table.copy_(torch.arange(buckets)[:, None])
        bias = encoding.positions(2 * size, 2 * size, LIKE).bias(LIKE)
    assert bias is not None
    return [int(bias[0, 0, size, size + offset]) for offset in offsets]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 20), (4, 5), (6, 9), (20, 160), (64, 200)])
def test_t5s_buckets(causal: bool, buckets: int, farthest: int) -> None:
    offsets = list(range(1 - 2 * farthest, 2 * farthest))
    got = buckets_of(offsets, causal, buckets, farthest)
    assert got == [slow_bucket(offset, causal, buckets, farthest) for offset in offsets]
    assert max(got) == buckets - 1


@pytest.mark.parametrize("causal", [True, False])
def test_t5s_buckets_are_those_of_the_published_code(causal: bool) -> None:
    """Mesh TensorFlow's, for 32 buckets up to 128."""
    offsets = torch.arange(-600, 601)
    side, n = (32, (-offsets).clamp(min=0)) if causal else (16, offsets.abs())
    exact = side // 2
    steps = torch.log(n.double() / exact) / math.log(128 / exact) * (side - exact)
    # It is published in float32 and cut off: what a logarithm rounds must not decide about a whole number.
    steps = torch.where((steps - steps.round()).abs() < 1e-5, steps.round(), steps)
    expected = torch.where(n < exact, n, (exact + steps.nan_to_num().int()).clamp(max=side - 1))
    expected = expected if causal else expected + (offsets > 0) * side
    assert buckets_of(offsets.tolist(), causal) == expected.tolist()


def test_t5s_buckets_are_the_same_in_a_process_that_computes_in_float64() -> None:
    """There 10 buckets a side up to 160 come out wrong if they are computed by logarithms and cut off."""
    expected = buckets_of(list(range(-170, 171)), False, 20, 160)
    torch.set_default_dtype(torch.float64)
    try:
        assert buckets_of(list(range(-170, 171)), False, 20, 160) == expected
    finally:
        torch.set_default_dtype(torch.float32)


def slow_bucket(offset: int, causal: bool, buckets: int, farthest: int) -> int:
    """One offset, in words of the paper: half of the buckets exact, the rest logarithmic."""
    first = 0
    if causal:
        distance = max(-offset, 0)
    else:
        buckets //= 2
        first, distance = (buckets, offset) if offset > 0 else (0, -offset)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    step = math.log(distance / exact) / math.log(farthest / exact) * (buckets - exact)
    return first + min(exact + int(step + 1e-9), buckets - 1)


def test_t5s_known_buckets() -> None:
    """32 buckets up to 128, as published: the first 8 distances of each side stand alone."""
    both = buckets_of([0, -1, -7, -8, -127, -500, 1, 7, 8, 500], causal=False)
    assert both == [0, 1, 7, 8, 15, 15, 17, 23, 24, 31]
    left = buckets_of([5, 0, -1, -15, -16, -127, -128], causal=True)
    assert left == [0, 0, 1, 15, 16, 31, 31]


@pytest.mark.parametrize("causal", [True, False])
def test_t5(causal: bool) -> None:
    encoding = T5Positions(8, 40, num_heads=2, causal=causal, buckets=8, max_distance=20)
    bias = encoding.positions(2, 30, LIKE).bias(LIKE)
    assert bias is not None
    assert bias.shape == (1, 2, 2, 30)
    for row, i in enumerate((28, 29)):
        for j in range(30):
            bucket = slow_bucket(j - i, causal, 8, 20)
            assert torch.equal(bias[0, :, row, j].float(), encoding.table[bucket])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"buckets": 7}, "buckets=7: expected an even number of at least 4"),
        ({"buckets": 2}, "buckets=2: expected an even number"),
        ({"max_distance": 32}, "max_distance=32: expected more than buckets=32"),
    ],
)
def test_t5_refuses_what_makes_no_buckets(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        T5Positions(8, 40, num_heads=2, causal=True, **options)  # type: ignore[arg-type]


def test_shaw() -> None:
    encoding = ShawPositions(8, 20, head_dim=4, clip=3).double()
    q = torch.randn(2, 2, 5, 4, dtype=torch.float64)
    bias = encoding.positions(5, 9, LIKE).bias(q)
    assert bias is not None
    assert bias.shape == (2, 2, 5, 9)
    for row in range(5):
        for j in range(9):
            distance = max(-3, min(3, j - (row + 4)))
            expected = (q[:, :, row] * encoding.table[distance + 3]).sum(-1) / 2
            torch.testing.assert_close(bias[:, :, row, j], expected)


@pytest.mark.parametrize(
    "make",  # in the test, where random numbers are the same in each run
    [
        lambda: T5Positions(64, 9, num_heads=16, causal=True, buckets=64, max_distance=128, std=0.5),
        lambda: ShawPositions(64, 9, head_dim=32, clip=20, std=0.5),
    ],
    ids=["t5", "shaw"],
)
def test_learned_tables_start_with_the_deviation_asked_for(make: Callable[[], torch.nn.Module]) -> None:
    (table,) = make().parameters()
    assert table.std().item() == pytest.approx(0.5, rel=0.1)
    assert table.mean().item() == pytest.approx(0, abs=0.05)


def test_one_head_and_heads_of_width_two() -> None:
    """The narrowest there are."""
    turned, _ = (
        RotaryPositions(2, 4, head_dim=2)
        .double()
        .positions(4, 4, LIKE)
        .rotate(*torch.ones(2, 1, 1, 4, 2, dtype=torch.float64))
    )
    for t in range(4):
        expected = [math.cos(t) - math.sin(t), math.sin(t) + math.cos(t)]
        assert turned[0, 0, t].tolist() == pytest.approx(expected, abs=1e-6)
    assert alibi_slopes(1) == [2**-8]


@pytest.mark.parametrize("encoding", ["rotary", "alibi", "t5", "shaw"])
def test_cross_attention_is_told_no_positions(encoding: str) -> None:
    blueprint = make_blueprint(
        encoding=encoding, d_model=8, num_heads=2, d_ff=8, num_encoder_layers=1, num_decoder_layers=1
    )
    model, told = build(blueprint, seed=0), {}
    layer = model.decoder.layers[0]
    for name in ("self_attention", "cross_attention"):
        getattr(layer, name).register_forward_pre_hook(
            lambda _module, _args, named, name=name: told.update({name: named.get("positions")}),
            with_kwargs=True,
        )
    model(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]]))
    assert told["cross_attention"] is None
    assert told["self_attention"] is not None


@pytest.mark.parametrize("name", ["t5", "shaw"])
def test_one_table_serves_all_layers_of_a_stack(name: str) -> None:
    model = build(make_blueprint(encoding=name, d_model=8, num_heads=2, d_ff=8), seed=0)
    tables = [key for key, _ in model.named_parameters() if key.endswith("positions.table")]
    assert tables == ["src_positions.table", "tgt_positions.table"]
