"""FlexAttention: the kernel where torch has one, the same function without it where it has not."""

from __future__ import annotations

import sys
import warnings

import pytest
import torch

from tests.zoo.parts.attention.support import MASKS, assert_same, in_form, keep_mask, make_inputs, run
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import CombinationError
from zoo.models.builder import build
from zoo.parts.attention.eager import EagerAttention
from zoo.parts.attention.flex import FlexAttention


def pair() -> tuple[EagerAttention, FlexAttention]:
    eager, attention = EagerAttention(8, 2).double(), FlexAttention(8, 2).double()
    attention.load_state_dict(eager.state_dict())
    return eager, attention


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        pytest.param(kind, ("bool", "additive")[i % 2], marks=[] if i % 6 == 0 else [pytest.mark.slow])
        for i, kind in enumerate(MASKS)
    ],
)
def test_the_kernel_equals_eager(kind: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without gradients, so that it runs on the CPU too; never the way round it."""
    monkeypatch.delattr(FlexAttention, "written_out")
    eager, attention = pair()
    inputs, mask = make_inputs(4, 5), in_form(keep_mask(kind, 4, 5), form)
    with torch.no_grad():
        assert_same(
            attention(inputs.query, inputs.key, inputs.value, mask),
            eager(inputs.query, inputs.key, inputs.value, mask),
        )


def test_the_kernel_warns_of_nothing() -> None:
    _, attention = pair()
    flex = sys.modules["torch.nn.attention.flex_attention"]
    getattr(flex, "_WARNINGS_SHOWN", set()).clear()  # as in a new process
    inputs = make_inputs(4, 5)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        attention(inputs.query, inputs.key, inputs.value)


@pytest.mark.parametrize("training", [True, False])
def test_without_dropout_modes_make_no_difference(training: bool) -> None:
    eager, attention = pair()
    inputs, mask = make_inputs(4, 5), keep_mask("closed-rows", 4, 5)
    assert_same(run(attention.train(training), inputs, mask), run(eager, inputs, mask))


def test_a_learned_bias_gets_its_gradient() -> None:
    inputs, results = make_inputs(4, 7), []
    bias = torch.randn(1, 2, 4, 7, dtype=torch.float64, requires_grad=True)
    for attention in pair():
        attention.requires_grad_(False)
        bias.grad = None
        query, key, value = (x.detach() for x in (inputs.query, inputs.key, inputs.value))
        attention(query, key, value, bias).square().sum().backward()
        assert bias.grad is not None
        results.append(bias.grad)
    assert_same(results[0], results[1])


@pytest.mark.parametrize("gradients", [True, False])
def test_it_can_be_compiled_without_a_break(gradients: bool) -> None:
    """On the CPU without the kernel, which torch 2.13 cannot compile there as part of a model."""
    _, attention = pair()
    inputs, mask = make_inputs(4, 5), keep_mask("closed-rows", 4, 5)
    with torch.set_grad_enabled(gradients):
        expected = attention(inputs.query, inputs.key, inputs.value, mask)
        attention.kernel = None
        compiled = torch.compile(attention, fullgraph=True, backend="eager")
        assert_same(compiled(inputs.query, inputs.key, inputs.value, mask), expected)


def test_a_torch_without_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.nn.attention.flex_attention", None)  # makes its import fail
    with pytest.raises(ValueError, match=r"has no torch\.nn\.attention\.flex_attention"):
        FlexAttention(8, 2)
    with pytest.raises(CombinationError, match=r"attention=flex: torch .* or attention=fused"):
        build(make_blueprint(attention="flex", d_model=8, num_heads=2))
