"""Every attention against its formula, written out once more: one item, one head, one query at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.zoo.parts.attention.support import (
    HEADS,
    MASKS,
    OURS,
    WIDTH,
    assert_same,
    every_one_of_ours,
    keep_mask,
    make,
    make_inputs,
    takes,
)
from zoo.core.registry import Variant

State = dict[str, Tensor]
Formula = Callable[[Tensor, Tensor, Tensor, Tensor, State], Tensor]
"""q [H, Tq, d], k and v [Hk, Tk, d], keep [H, Tq, Tk] and the attention's parameters -> heads [H, Tq, d]."""


def closed_is_zero(head_of: Callable[[int, int], Tensor], keep: Tensor, width: int) -> Tensor:
    """heads [H, Tq, d], computed one by one where something may be attended to, and 0 elsewhere."""
    heads = torch.zeros(*keep.shape[:2], width, dtype=torch.float64)
    for h, i in keep.any(-1).nonzero().tolist():
        heads[h, i] = head_of(h, i)
    return heads


def by_scores(score: Callable[[int, int, int], Tensor], v: Tensor, keep: Tensor) -> Tensor:
    """heads from scores of head, query and key, by the softmax over the keys that are not hidden."""

    def head(h: int, i: int) -> Tensor:
        seen = keep[h, i].nonzero()[:, 0].tolist()
        powers = [score(h, i, j).exp() for j in seen]
        group = h * v.size(0) // keep.size(0)
        return sum(p * v[group, j] for p, j in zip(powers, seen, strict=True)) / sum(powers)  # type: ignore[return-value]

    return closed_is_zero(head, keep, v.size(-1))


def product(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, state: State) -> Tensor:
    d, heads = q.size(-1), q.size(0)
    return by_scores(lambda h, i, j: q[h, i] @ k[h * k.size(0) // heads, j] / math.sqrt(d), v, keep)


def sliding(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, state: State) -> Tensor:
    return product(q, k, v, keep, state)  # the default window is wider than these inputs; see test_sliding


def filled(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, state: State) -> Tensor:
    heads = product(q, k, v, keep, state)
    for h, i in (~keep.any(-1)).nonzero().tolist():
        heads[h, i] = v[h].mean(0)
    return heads


def qknorm(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, state: State) -> Tensor:
    g = state["scale"]
    return by_scores(lambda h, i, j: g * torch.cosine_similarity(q[h, i], k[h, j], dim=0), v, keep)


def additive(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, state: State) -> Tensor:
    return by_scores(lambda h, i, j: state["energy"][h] @ torch.tanh(q[h, i] + k[h, j]), v, keep)


def linear(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, state: State) -> Tensor:
    f_q, f_k = (torch.nn.functional.elu(x) + 1 for x in (q, k))
    return by_scores(lambda h, i, j: (f_q[h, i] @ f_k[h, j]).log(), v, keep)


def talking(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, state: State) -> Tensor:
    heads, d = q.size(0), q.size(-1)
    scores = torch.stack(
        [
            sum(state["mix_scores"][h, g] * q[h] @ k[h].T / math.sqrt(d) for h in range(heads))
            for g in range(heads)
        ]  # type: ignore[misc]
    )
    weights = scores.masked_fill(~keep, -math.inf).softmax(-1).nan_to_num(0.0)
    return torch.stack(
        [sum(state["mix_weights"][h, g] * weights[h] for h in range(heads)) @ v[g] for g in range(heads)]  # type: ignore[operator]
    )


def differential(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, state: State) -> Tensor:
    half = q.size(-1) // 2  # two features: a pair for each of the maps
    first, second = (
        by_scores(lambda h, i, j, p=p: q[h, i, p] @ k[h, j, p] / math.sqrt(half), v, keep)  # type: ignore[misc]
        for p in (slice(half), slice(half, None))
    )
    l_q, l_k = state["lambda_q"], state["lambda_k"]
    lam = math.exp(l_q[0] @ l_k[0]) - math.exp(l_q[1] @ l_k[1]) + 0.8
    heads = first - lam * second
    root = heads.square().mean(-1, keepdim=True).add(1e-5).sqrt()
    return (1 - 0.8) * heads / root * state["head_norm.weight"]


def sinks(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, state: State) -> Tensor:
    def head(h: int, i: int) -> Tensor:
        seen = keep[h, i].nonzero()[:, 0].tolist()
        powers = [(q[h, i] @ k[h, j] / math.sqrt(q.size(-1))).exp() for j in seen]
        total = sum(powers) + state["sink"][h].exp()
        return sum(p * v[h, j] for p, j in zip(powers, seen, strict=True)) / total  # type: ignore[return-value]

    return closed_is_zero(head, keep, v.size(-1))


def softcap(q: Tensor, k: Tensor, v: Tensor, keep: Tensor, state: State) -> Tensor:
    d = q.size(-1)
    return by_scores(lambda h, i, j: 50 * torch.tanh(q[h, i] @ k[h, j] / math.sqrt(d) / 50), v, keep)


FORMULAS: dict[str, Formula] = {
    **dict.fromkeys(
        ("eager", "einsum", "loop", "fused", "torch", "chunked", "flex", "gqa", "mqa", "gated"), product
    ),
    "sliding": sliding,
    "filled": filled,
    "qknorm": qknorm,
    "additive": additive,
    "linear": linear,
    "talking": talking,
    "differential": differential,
    "sinks": sinks,
    "softcap": softcap,
}


def projected(state: State, letter: str, x: Tensor, width: int) -> Tensor:
    """[B, T, D] -> [B, Hk, T, d], by the canonical weights."""
    flat = x @ state[f"{letter}_proj.weight"].T + state[f"{letter}_proj.bias"]
    return torch.stack(flat.split(width, dim=-1), dim=1)


def expected(name: str, attention: Any, x: Any, keep: Tensor | None, heads: int, width: int) -> Tensor:
    state = {key: value.detach() for key, value in attention.state_dict().items()}
    q, k, v = (
        projected(state, letter, one.detach(), width)
        for letter, one in zip("qkv", (x.query, x.key, x.value), strict=True)
    )
    shape = (q.size(0), heads, q.size(2), k.size(2))
    full = torch.ones(shape, dtype=torch.bool) if keep is None else keep.expand(shape)
    each = [FORMULAS[name](*one, state) for one in zip(q, k, v, full, strict=True)]
    merged = torch.cat(torch.stack(each).unbind(1), dim=-1)  # [B, H, Tq, d] -> [B, Tq, D]
    if name == "gated":
        merged *= torch.sigmoid(x.query.detach() @ state["gate_proj.weight"].T + state["gate_proj.bias"])
    return merged @ state["out_proj.weight"].T + state["out_proj.bias"]


def stirred(attention: Any) -> Any:
    """The attention with all parameters drawn anew, also those that start as zeros, ones or the identity."""
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter += torch.randn_like(parameter) * 0.3
    return attention


@every_one_of_ours
@pytest.mark.parametrize("kind", MASKS)
def test_it_is_its_formula(variant: Variant, kind: str) -> None:
    if not takes(variant, kind):
        pytest.skip("refuses masks that differ between heads")
    attention, inputs, keep = stirred(make(variant)), make_inputs(4, 5), keep_mask(kind, 4, 5)
    out = attention(inputs.query, inputs.key, inputs.value, keep)
    assert_same(out, expected(variant.name, attention, inputs, keep, HEADS, WIDTH // HEADS), tolerance=1e-9)


def test_every_one_of_ours_has_a_formula_here() -> None:
    assert {v.name for v in OURS} == FORMULAS.keys()
