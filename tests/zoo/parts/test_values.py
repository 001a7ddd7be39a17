"""Where values cannot be looked at: gradients of each sample by torch.func equal those of one after the other."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from tests.zoo.support import accepted, fitting
from zoo.core.plan import make_plan
from zoo.core.registry import Variant
from zoo.core.rules import problems
from zoo.models.builder import build
from zoo.models.transformer import Transformer
from zoo.parts.attention.flex import FlexAttention
from zoo.parts.mask.lengths import LengthsMask
from zoo.parts.values import has_memory, readable, require

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 9, "tgt_vocab": 9, "max_len": 16,
}  # fmt: skip
PARTS = [
    variant
    for axis in (
        "attention",
        "encoding",
        "norm",
        "norm-type",
        "feedforward",
        "mask",
        "masking",
        "head",
        "embedding",
    )
    for variant in accepted(axis)
]
SRC = torch.tensor([[3, 4, 0, 0, 0], [3, 4, 5, 0, 0], [1, 2, 3, 4, 5]])
TGT = torch.tensor([[1, 5, 6, 0, 0, 0], [1, 2, 3, 4, 5, 6], [1, 2, 0, 0, 0, 0]])

slow_rules = pytest.mark.filterwarnings("ignore:There is a performance drop")  # torch's, of its own kernels


def model(variant: Variant, dropout: float) -> Transformer:
    blueprint = fitting({variant.axis: variant.name}, **SIZES, dropout=dropout)
    if problems(make_plan(blueprint)):
        pytest.skip("a rule refuses it")
    return build(blueprint, seed=0).double()


def of_each(one: Transformer, randomness: str = "error") -> dict[str, Tensor]:
    """Gradients of every sample's loss, [samples, ..] each."""

    def loss(parameters: dict[str, Tensor], src: Tensor, tgt: Tensor) -> Tensor:
        out = functional_call(one, parameters, (src[None], tgt[None]))
        return (out[0] * (tgt != 0)[:, None]).square().sum()  # padding is of no use, and may differ

    parameters = dict(one.named_parameters())
    return vmap(grad(loss), in_dims=(None, 0, 0), randomness=randomness)(parameters, SRC, TGT)  # type: ignore[no-any-return]


@slow_rules
@pytest.mark.parametrize("variant", PARTS, ids=lambda v: f"{v.axis}/{v.name}")
@pytest.mark.sampled(4)
def test_gradients_of_each_sample_are_those_of_one_after_the_other(variant: Variant) -> None:
    one = model(variant, dropout=0.0)
    got = of_each(one)
    for sample in range(len(SRC)):
        one.zero_grad()
        src, tgt = SRC[sample : sample + 1], TGT[sample : sample + 1]
        (one(src, tgt) * (tgt != 0)[..., None]).square().sum().backward()
        for name, parameter in one.named_parameters():
            expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            torch.testing.assert_close(got[name][sample], expected, rtol=1e-9, atol=1e-10)


@slow_rules
@pytest.mark.parametrize("variant", accepted("attention"), ids=lambda v: v.name)
def test_with_dropout_each_sample_may_have_its_own(variant: Variant) -> None:
    got = of_each(model(variant, dropout=0.3), randomness="different")
    assert all(gradient.isfinite().all() for gradient in got.values())


def test_flex_goes_through_vmap_without_gradients() -> None:
    part = FlexAttention(8, 2).eval()
    x = torch.randn(3, 2, 4, 8)
    with torch.no_grad():
        torch.testing.assert_close(
            vmap(lambda one: part(one, one, one))(x), torch.stack([part(a, a, a) for a in x])
        )


def test_what_can_be_read() -> None:
    seen = []

    def look(x: Tensor) -> Tensor:
        seen.append((has_memory(x), readable(x)))
        return x.sum()

    x = torch.ones(2, 3)
    look(x), vmap(look)(x), grad(look)(x)
    assert seen == [(True, True), (False, False), (False, False)]


def test_what_is_required_is_looked_at_where_that_can_be_done() -> None:
    require(torch.tensor(True), "never")
    with pytest.raises(ValueError, match="said so"):
        require(torch.tensor(False), "said so")
    keep = torch.tensor([[False, True]])  # padding in front, which no length says
    with pytest.raises(ValueError, match="mask=lengths counts visible keys"):
        LengthsMask().encode(keep, torch.float32)
    assert vmap(lambda one: LengthsMask().encode(one, torch.float32))(keep).tolist() == [[1]]
