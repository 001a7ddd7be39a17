"""What the tests of attentions share: the live registry's attentions, masks, and runs with gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.parts.attention.eager import EagerAttention

ATTENTIONS = get_registry().variants("attention")
OURS = [variant for variant in ATTENTIONS if variant.origin.startswith("zoo.")]
"""Without those of plugins, whose own tests know their formulas."""
EXACT = [variant for variant in ATTENTIONS if variant.capabilities["exact"]]
SHOWING = [variant for variant in ATTENTIONS if variant.capabilities["returns_weights"]]

BLANKING = [variant for variant in ATTENTIONS if variant.capabilities["blanks_rows"]]
PER_HEAD = ("per-head", "per-item-and-head", "one-query")
"""Of the `MASKS`, those that hide other places from one head than from another."""


def with_forms(variants: list[Variant]) -> pytest.MarkDecorator:
    """Each variant once with every form of mask that it takes."""
    return pytest.mark.parametrize(
        ("variant", "form"),
        [(variant, form) for variant in variants for form in variant.capabilities["mask_forms"]],
        ids=lambda one: one if isinstance(one, str) else one.name,
    )


every_one_of_ours = pytest.mark.parametrize("variant", OURS, ids=lambda v: v.name)
every_attention = pytest.mark.parametrize("variant", ATTENTIONS, ids=lambda v: v.name)
every_exact = pytest.mark.parametrize("variant", EXACT, ids=lambda v: v.name)
every_showing = pytest.mark.parametrize("variant", SHOWING, ids=lambda v: v.name)
every_attention_and_form = with_forms(ATTENTIONS)
every_exact_and_form = with_forms(EXACT)
every_blanking_and_form = with_forms(BLANKING)

BATCH, HEADS, WIDTH = 3, 2, 8
MASKS = [
    "none",
    "causal",
    "padding",
    "per-batch",
    "per-head",
    "per-item-and-head",
    "two-dimensional",
    "one-query",
    "one-key",
    "closed-rows",
    "closed-item",
    "all-closed",
]


def make(
    variant: Variant, d_model: int = WIDTH, heads: int = HEADS, dropout: float = 0.0, **options: Any
) -> Any:
    """An attention of the registry, float64, in train mode."""
    return variant.load()(d_model, heads, dropout, **options).double()


def make_pair(variant: Variant, d_model: int = WIDTH, heads: int = HEADS, **options: Any) -> tuple[Any, Any]:
    """The oracle and an attention with the same weights, float64."""
    oracle = EagerAttention(d_model, heads, **options).double()
    attention = make(variant, d_model, heads, **options)
    attention.load_state_dict(oracle.state_dict())
    return oracle, attention


def keep_mask(kind: str, queries: int, keys: int, batch: int = BATCH, heads: int = HEADS) -> Tensor | None:
    """A bool mask, True = may be attended to, of one of the `MASKS`."""

    def some(*shape: int) -> Tensor:
        keep = torch.rand(*shape) < 0.5
        keep[..., -1] = True  # no row is closed by chance
        return keep

    closed = some(batch, 1, queries, keys)
    closed[0, :, 0] = False
    closed[-1, :, queries // 2 :] = False
    return {
        "none": None,
        "causal": torch.ones(queries, keys, dtype=torch.bool).tril()[None, None],
        "padding": torch.arange(keys) < torch.arange(1, batch + 1)[:, None, None, None].clamp(max=keys),
        "per-batch": some(batch, 1, queries, keys),
        "per-head": some(1, heads, queries, keys),
        "per-item-and-head": some(batch, heads, queries, keys),
        "two-dimensional": some(queries, keys),
        "one-query": some(batch, heads, 1, keys),
        "one-key": torch.ones(batch, 1, queries, 1, dtype=torch.bool),
        "closed-rows": closed,
        "closed-item": (torch.arange(batch) > 0)[:, None, None, None].expand(batch, 1, 1, keys),
        "all-closed": torch.zeros(1, 1, queries, keys, dtype=torch.bool),
    }[kind]


def in_form(keep: Tensor | None, form: str, dtype: torch.dtype = torch.float64) -> Tensor | None:
    """`keep` in the form in which an attention takes it."""
    return None if keep is None else get_registry().get("mask", form).load()().encode(keep, dtype)  # type: ignore[no-any-return]


def takes(variant: Variant, kind: str) -> bool:
    """Whether an attention takes this one of the `MASKS`."""
    return variant.name != "talking" or kind not in PER_HEAD  # it refuses them: see test_talking


@dataclass
class Inputs:
    """Query, key and value, each a leaf that collects a gradient; in self-attention they are one tensor."""

    query: Tensor
    key: Tensor
    value: Tensor

    def leaves(self) -> list[Tensor]:
        return list({id(x): x for x in (self.query, self.key, self.value)}.values())


def make_inputs(
    queries: int, keys: int, role: str = "separate", batch: int = BATCH, d_model: int = WIDTH
) -> Inputs:
    """Random inputs in one of the roles "self" (one tensor), "cross" (key is value), "separate"."""

    def leaf(length: int) -> Tensor:
        return torch.randn(batch, length, d_model, dtype=torch.float64, requires_grad=True)

    query = leaf(queries)
    if role == "self":
        assert queries == keys
        return Inputs(query, query, query)
    key = leaf(keys)
    return Inputs(query, key, key if role == "cross" else leaf(keys))


def run(
    attention: nn.Module, inputs: Inputs, mask: Tensor | None
) -> tuple[Tensor, list[Tensor], dict[str, Tensor]]:
    """Output, gradients of the inputs, and gradients of the parameters under their canonical names.

    The gradients are those of a random weighted sum of the output, the same at every call.
    """
    for leaf in inputs.leaves():
        leaf.grad = None
    attention.zero_grad()
    out = attention(inputs.query, inputs.key, inputs.value, mask)
    generator = torch.Generator(out.device).manual_seed(1)
    cotangent = torch.randn(out.shape, generator=generator, dtype=out.dtype, device=out.device)
    (out * cotangent).sum().backward()
    return out.detach(), [leaf.grad for leaf in inputs.leaves()], canonical_gradients(attention)  # type: ignore[misc]


def canonical_gradients(attention: nn.Module) -> dict[str, Tensor]:
    """Gradients as `state_dict` would name the parameters, however they are stored."""
    values = [p.detach().clone() for p in attention.parameters()]
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
        gradients = {name: value.clone() for name, value in attention.state_dict().items()}
        for parameter, value in zip(attention.parameters(), values, strict=True):
            parameter.copy_(value)
    return gradients


def assert_same(got: Any, expected: Any, tolerance: float = 1e-11) -> None:
    """Equal up to rounding: a tensor, or the triple that `run` returns."""
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)
