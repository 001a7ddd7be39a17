"""Padding left out: the same results at real positions, and when it is left out at all."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.zoo.support import fitting
from zoo.accelerate import accelerate, restore, tricks
from zoo.accelerate.padding import Layout, UnpaddedTransformer, layout_of
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.rules import problems
from zoo.models.builder import build
from zoo.models.transformer import Transformer

SIZES = {
    "d_model": 16, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 2, "num_decoder_layers": 2, "dropout": 0.0,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 16,
}  # fmt: skip
CASES = [
    (axis, variant.name)
    for axis in ("attention", "encoding", "norm", "mask", "masking", "head", "embedding")
    for variant in get_registry().variants(axis)
]


def tokens(rows: int, length: int, hidden: float, seed: int) -> Tensor:
    """[B, T] with padding anywhere, but not at every place of a row."""
    generator = torch.Generator().manual_seed(seed)
    found = torch.randint(1, 11, (rows, length), generator=generator)
    drop = torch.rand(rows, length, generator=generator) < hidden
    drop[:, length // 2] = False
    return found.masked_fill(drop, 0)


def model(axis: str, name: str) -> Transformer:
    blueprint = fitting({axis: name}, **SIZES)
    if problems(make_plan(blueprint)):
        pytest.skip("a rule refuses it")
    return build(blueprint, seed=0).double()


def run(one: Transformer, src: Tensor, tgt: Tensor) -> tuple[Tensor, dict[str, Tensor | None]]:
    """Output at real positions, and the gradients of a weighted sum of it."""
    one.zero_grad()
    out = one(src, tgt)
    if one.masking.real(tgt) is not None:
        out = out[tgt != 0]
    generator = torch.Generator().manual_seed(3)
    (out * torch.randn(out.shape, generator=generator, dtype=out.dtype)).sum().backward()
    return out.detach(), {n: p.grad for n, p in one.named_parameters()}


HIDDEN = {"in both": (0.5, 0.5), "in the source": (0.5, 0.0), "in the target": (0.0, 0.5)}


@pytest.mark.parametrize(("axis", "name"), CASES, ids=lambda one: one)
@pytest.mark.sampled(4)
def test_leaving_padding_out_changes_nothing_at_real_positions(axis: str, name: str) -> None:
    one = model(axis, name)
    given = {
        where: (tokens(4, 6, hidden[0], 1), tokens(4, 7, hidden[1], 2)) for where, hidden in HIDDEN.items()
    }
    if name == "lengths":  # padding at the end
        given = {
            where: (src.sort(dim=1, descending=True).values, tgt.sort(dim=1, descending=True).values)
            for where, (src, tgt) in given.items()
        }
    padded = {where: run(one, *both) for where, both in given.items()}
    accelerate(one)
    packed = {where: run(one, *both) for where, both in given.items()}
    torch.testing.assert_close(packed, padded, rtol=1e-9, atol=1e-10)
    restore(one)
    again = {where: run(one, *both) for where, both in given.items()}
    torch.testing.assert_close(again, padded, rtol=0, atol=0)


def test_the_attention_is_all_that_sees_padding() -> None:
    one, shapes = accelerate(build(fitting({}, **SIZES), seed=0)), []
    for layer in (*one.encoder.layers, *one.decoder.layers):
        layer.feed_forward.register_forward_pre_hook(
            lambda _module, args: shapes.append(tuple(args[0].shape))
        )
    src, tgt = tokens(4, 6, 0.5, 1), tokens(4, 7, 0.5, 2)
    out = one(src, tgt)
    kept = [(1, int((side != 0).sum()), 16) for side in (src, tgt)]
    assert shapes == [kept[0]] * 2 + [kept[1]] * 2
    assert out.shape == (4, 7, 11)
    assert not out[tgt == 0].any()


def test_a_layout_goes_there_and_back() -> None:
    real = torch.tensor([[True, False, True], [False, False, False], [False, True, True]])
    x = torch.randn(3, 3, 5)
    layout = Layout(real)
    packed = layout.pack(x)
    assert torch.equal(packed, x[real][None])
    assert torch.equal(layout.unpack(packed), x * real[..., None])
    heads = layout.heads(packed[:, None])  # one head as wide as the model
    assert torch.equal(heads[:, 0][real], x[real])
    assert heads.shape == (3, 1, 3, 5)


@pytest.mark.parametrize(
    ("padding", "left_out"), [(0, False), (1, False), (2, True), (15, True), (16, False)]
)
def test_it_is_left_out_where_that_is_worth_it_and_something_is_left(padding: int, left_out: bool) -> None:
    real = (torch.arange(16) >= padding).view(2, 8)
    assert (layout_of(real) is not None) == left_out


def test_nothing_is_left_out_where_padding_is_attended_to() -> None:
    assert layout_of(None) is None
    for name in ("causal-only", "blank-rows"):
        masking = get_registry().get("masking", name).load()(0)
        assert masking.real(torch.tensor([[1, 0]])) is None


def test_a_part_that_does_not_declare_it_is_given_padded_batches() -> None:
    assert make_plan(fitting({}, **SIZES)).packable
    assert not make_plan(fitting({"attention": "torch"}, **SIZES)).packable
    for attention, left_out in (("eager", True), ("torch", False)):
        one = accelerate(build(fitting({"attention": attention}, **SIZES), seed=0))
        assert (UnpaddedTransformer.title in tricks(one)) == left_out


def test_a_model_whose_parts_were_replaced_stays_padded() -> None:
    one = build(fitting({}, **SIZES), seed=0)
    one.encoder = torch.nn.Identity()
    assert UnpaddedTransformer.title not in tricks(accelerate(one))


class Contract(torch.nn.Module):
    """An attention of one's own that takes what its axis says, in any order of words."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner, self.given = inner, []  # type: ignore[var-annotated]

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: object = None,
        positions: object = None, cache: object = None, packing: object = None,
    ) -> Tensor:  # fmt: skip
        """Hands it on, and notes what it was given."""
        named = {"positions": positions, "cache": cache, "packing": packing}
        named = {name: value for name, value in named.items() if value is not None}
        self.given.append(set(named))
        return self.inner(query, key, value, mask, **named)  # type: ignore[no-any-return]


def test_a_part_that_takes_what_its_axis_says_is_given_it_by_name() -> None:
    one = build(fitting({"encoding": "rotary"}, **SIZES), seed=0).double()
    src, tgt = tokens(4, 6, 0.5, 1), tokens(4, 7, 0.5, 2)
    expected = run(one, src, tgt)[0]
    layer = one.encoder.layers[0]
    layer.self_attention = Contract(layer.self_attention)
    torch.testing.assert_close(run(one, src, tgt)[0], expected)
    torch.testing.assert_close(run(accelerate(one), src, tgt)[0], expected)
    assert layer.self_attention.given == [{"positions"}, {"positions", "packing"}]
