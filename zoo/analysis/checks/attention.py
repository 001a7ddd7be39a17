"""Properties of every attention: shapes, independence, gradients, dropout. Masks are in files of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from zoo.analysis.checks.base import DoesNotApply, DoesNotHold, Properties
from zoo.analysis.checks.common import (
    drops_in_train_mode_only,
    finite,
    gradients,
    in_dtypes,
    refuses,
    same,
    shaped,
    steady,
    tensor,
)
from zoo.analysis.checks.part import Part

PROPERTIES = holds = Properties()
BATCH, QUERIES, KEYS = 3, 4, 5


def inputs(part: Part, batch: int = BATCH, queries: int = QUERIES, keys: int = KEYS) -> list[Tensor]:
    """Query [B, Tq, D], key and value [B, Tk, D]; one tensor [B, Tk, D] for an attention in self-attention only."""
    key = part.randn(batch, keys, part.sizes.d_model)
    if "cross" not in part.can("roles"):
        return [key, key, key]
    return [part.randn(batch, queries, part.sizes.d_model), key, torch.randn_like(key)]


def each(given: list[Tensor], change: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """Each of them changed; what was one tensor stays one."""
    made = {id(x): change(x) for x in given}
    return [made[id(x)] for x in given]


def leaves(given: list[Tensor]) -> list[Tensor]:
    """The same as leaves that collect gradients."""
    return each(given, lambda x: x.detach().clone().requires_grad_())


def masked(part: Part, keep: Tensor | None, form: str = "") -> Tensor | None:
    """`keep` (True = may be attended to) in the form that the attention prefers, or in `form`."""
    if keep is None:
        return None
    form = form or part.can("mask_forms")[0]
    return part.registry.get("mask", form).load()().encode(keep, part.dtype)  # type: ignore[no-any-return]


def run(part: Part, attention: Any, given: list[Tensor], keep: Tensor | None = None) -> Tensor:
    """The output [B, Tq, D]."""
    return tensor(attention(*given, masked(part, keep)), part)


@holds("keeps the query's shape and dtype, in float32, float64 and bfloat16")
def shapes(part: Part) -> None:
    """Lengths that differ where it may stand in cross-attention; one query, one key; with a mask and without."""

    def attempt(dtype: torch.dtype) -> None:
        attention = part.make().to(dtype)
        for batch, queries, keys in ((3, 4, 5), (2, 1, 6), (1, 1, 1), (2, 6, 1)):
            given = each(inputs(part, batch, queries, keys), lambda x: x.to(dtype))
            for mask in (None, _mask(part, keys, dtype)):
                shaped(attention(*given, mask), given[0].shape, dtype, part)

    in_dtypes(part, attempt)


def _mask(part: Part, keys: int, dtype: torch.dtype) -> Tensor:
    keep = torch.arange(keys)[None, None, None, :] < max(1, keys - 1)  # [1, 1, 1, Tk]
    return part.registry.get("mask", part.can("mask_forms")[0]).load()().encode(keep, dtype)  # type: ignore[no-any-return]


@holds("rejects a d_model that num_heads does not divide")
def width(part: Part) -> None:
    """ValueError from the constructor."""
    heads = part.sizes.num_heads
    odd = part.sizes.d_model + 1
    refuses(lambda: part.make(d_model=odd), f"d_model={odd} with num_heads={heads}")


@holds("rows of a batch are independent")
def rows(part: Part) -> None:
    """Each item alone gives what it gives in the batch."""
    attention, given = part.module().eval(), inputs(part)
    keep = torch.arange(KEYS)[None, :] < torch.tensor([[KEYS], [KEYS - 1], [2]])
    keep = keep[:, None, None, :]  # [B, 1, 1, Tk]
    together = run(part, attention, given, keep)
    for row in range(BATCH):
        one = torch.tensor([row])
        got = run(part, attention, each(given, partial(torch.index_select, dim=0, index=one)), keep[one])
        same(got, together[one], "A row alone gives another result than in a batch")


@holds("the order of the keys does not matter")
def order(part: Part) -> None:
    """Keys and values in another order give the same; queries in another order, their outputs in that order."""
    if "cross" not in part.can("roles"):
        raise DoesNotApply("It is for self-attention only, where keys have positions.")
    attention, (query, key, value) = part.module().eval(), inputs(part)
    out = run(part, attention, [query, key, value])
    shuffled = torch.tensor([3, 0, 4, 1, 2])
    got = run(part, attention, [query, key[:, shuffled], value[:, shuffled]])
    same(got, out, "Keys and values in another order change the output")
    shuffled = torch.tensor([2, 0, 3, 1])
    got = run(part, attention, [query[:, shuffled], key, value])
    same(got, out[:, shuffled], "Queries in another order do not give their outputs in that order")


@holds("gradients are finite and reach every parameter, query, key and value")
def reach(part: Part) -> None:
    """A parameter that nothing depends on, and a detached input, are mistakes."""
    attention, given = part.module(), leaves(inputs(part))
    names = {id(x): name for x, name in zip(given, ("the query", "the key", "the value"), strict=True)}
    if len(names) == 1:
        names = {id(given[0]): "the input"}
    gradients(attention, run(part, attention, given), [(names[id(x)], x) for x in given])


@holds("large inputs give finite outputs")
def large(part: Part) -> None:
    """A thousand times the usual size, in float32: a softmax must take its maximum off first."""
    attention = part.make().to(torch.float32)
    out = tensor(attention(*each(inputs(part), lambda x: 1000 * x.to(torch.float32))), part)
    finite(out, "For inputs of size 1000, the output")


@holds("dropout is active in train mode only")
def dropout(part: Part) -> None:
    """And eval mode with dropout is what it would be without."""
    given = inputs(part)
    drops_in_train_mode_only(part, lambda attention: run(part, attention, given))


@holds("does not modify its inputs and masks")
def untouched(part: Part) -> None:
    """Nothing is changed in place."""
    attention, given = part.module(), inputs(part)
    mask = masked(part, torch.arange(KEYS)[None, None, None, :] < KEYS - 1)
    assert mask is not None
    before = [x.clone() for x in (*given, mask)]
    with torch.no_grad():
        attention(*given, mask)
    for name, now, then in zip(("query", "key", "value", "mask"), (*given, mask), before, strict=True):
        if not torch.equal(now, then):
            raise DoesNotHold(f"The {name} was changed in place.")


@holds("is deterministic in eval mode")
def eval_mode(part: Part) -> None:
    """Also after a call with other inputs, of another length."""
    given, other = inputs(part), inputs(part, 2, 6, 7)
    steady(lambda attention: run(part, attention, given), part.module(), lambda a: run(part, a, other))
