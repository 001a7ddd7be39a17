"""Properties that an attention declares: equal to eager, returns its weights, cached, takes positions."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.accelerate.padding import Layout, Packing, UnpaddedAttention, can_pack
from zoo.accelerate.trick import with_trick
from zoo.analysis.checks.attention import BATCH, inputs, leaves, masked, run
from zoo.analysis.checks.attention_masks import causal, closed, padding, queries_of, some
from zoo.analysis.checks.base import DoesNotApply, DoesNotHold, Properties
from zoo.analysis.checks.common import moved, same, tensor
from zoo.analysis.checks.part import Part, stirred
from zoo.parts.attention.cache import KeyValueCache
from zoo.parts.attention.eager import EagerAttention
from zoo.parts.encoding.base import Positions

PROPERTIES = holds = Properties()


@holds("equals eager with the same weights")
def exact(part: Part) -> None:
    """Outputs and gradients of the inputs, without a mask and under masks by key, by query and of blank rows."""
    part.must("exact")
    oracle = stirred(EagerAttention(part.sizes.d_model, part.sizes.num_heads, **_bias(part)).to(part.dtype))
    attention, expected = part.module(), set(oracle.state_dict())
    if (names := set(attention.state_dict())) != expected:
        what = ", ".join(sorted(names ^ expected))
        raise DoesNotHold(f"Its state_dict must have the names of eager's; they differ in {what}.")
    attention.load_state_dict(oracle.state_dict())
    for keep in (None, padding(), some(part), closed(part)):
        given, results = inputs(part), []
        for one in (attention, oracle):
            own = leaves(given)
            out = run(part, one, own, keep)
            results.append([out, *torch.autograd.grad((out**2).sum(), own)])
        for got, other in zip(*results, strict=True):
            same(got, other, "With the same weights, it differs from eager")


def _bias(part: Part) -> dict[str, bool]:
    return {"bias": part.options["bias"]} if "bias" in part.options else {}


@holds("returns the weights that it uses")
def weights(part: Part) -> None:
    """[B, H, Tq, Tk], 0 where masked, with the output of a plain call; if exact, they sum to 1 in every open row."""
    part.must("returns_weights")
    attention, given = part.module().eval(), inputs(part)
    shape = (BATCH, part.sizes.num_heads, queries_of(part), given[1].size(1))
    for keep in (None, padding(), closed(part)):
        mask = masked(part, keep)
        out, shown = attention.forward_with_weights(*given, mask)
        same(out, run(part, attention, given, keep), "With weights shown, the output is another")
        if tuple(shown.shape) != shape:
            raise DoesNotHold(f"Expected weights of shape {list(shape)}, got {list(shown.shape)}.")
        open_ = torch.ones(shape, dtype=torch.bool) if keep is None else keep.expand(shape)
        if part.can("blanks_rows") and not torch.all(shown.masked_select(~open_) == 0):
            raise DoesNotHold("Weights at masked places are not 0.")
        if part.can("exact"):
            sums = shown.sum(-1)
            same(sums, open_.any(-1).to(sums), "The weights of a row do not sum to 1")


@holds("cached decoding matches the full forward pass")
def cached_self(part: Part) -> None:
    """In self-attention, keys and values of earlier positions come from the cache; with and without a mask."""
    part.must("cacheable")
    if "self" not in part.can("roles"):
        raise DoesNotApply("It is not used for self-attention.")
    attention, length = part.module().eval(), 6
    x = part.randn(BATCH, length, part.sizes.d_model)
    lengths = torch.tensor([[length], [4], [2]])
    keep = (torch.arange(length) < lengths)[:, None, None, :] & causal(length)  # [B, 1, T, T]
    for mask in (causal(length), keep):
        whole, cache = run(part, attention, [x, x, x], mask), KeyValueCache(grows=True)
        for place in range(length):
            one = x[:, place : place + 1]
            row = mask[:, :, place : place + 1, : place + 1]
            step = attention(one, one, one, None if row.all() else masked(part, row), cache=cache)
            expected = whole[:, place : place + 1]
            same(tensor(step, part), expected, f"With a cache, position {place} is another")


@holds("in cross-attention, reads keys and values from the cache")
def cached_cross(part: Part) -> None:
    """After the first call the memory is not looked at again."""
    part.must("cacheable")
    if "cross" not in part.can("roles"):
        raise DoesNotApply("It is not used in cross-attention.")
    attention, (query, key, _) = part.module().eval(), inputs(part)
    whole, cache = run(part, attention, [query, key, key], padding()), KeyValueCache(grows=False)
    for place in range(query.size(1)):
        memory = torch.full_like(key, float("nan")) if place else key
        one, mask = query[:, place : place + 1], masked(part, padding())
        step = tensor(attention(one, memory, memory, mask, cache=cache), part)
        same(step, whole[:, place : place + 1], f"With a cached memory, query {place} is answered otherwise")


@holds("a batch without its padding gives the same results")
def packed(part: Part) -> None:
    """Real positions one after the other, of queries and keys in self-attention, of keys alone in cross-attention."""
    part.must("packs")
    attention, keep, length = part.module().eval(), padding(), padding().size(-1)
    layout = Layout(keep[:, 0, 0])
    if can_pack(attention):  # otherwise it takes `packing` itself
        attention.__class__ = with_trick(UnpaddedAttention, type(attention))
    for role in part.can("roles"):
        key = part.randn(BATCH, length, part.sizes.d_model)
        query = key if role == "self" else part.randn(BATCH, 4, part.sizes.d_model)
        whole, short = run(part, attention, [query, key, key], keep), layout.pack(key)
        packing, given = Packing(None, layout), [query, short, short]
        if role == "self":
            whole, packing, given = layout.pack(whole), Packing(layout, layout), [short, short, short]
        got = tensor(attention(*given, masked(part, keep), packing=packing), part)
        same(got, whole, f"The packed result differs in {role}-attention")


class _Turned(Positions):
    """Turns queries and keys by half a turn, each dimension by itself where its sign says so."""

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Every second position has its signs changed."""
        return q * self._signs(q), k * self._signs(k)

    def _signs(self, x: Tensor) -> Tensor:
        return 1 - 2 * (torch.arange(x.size(-2)) % 2)[:, None].to(x)  # [T, 1]


class _Pushed(Positions):
    """A bias on the scores that all but hides the first key."""

    def bias(self, q: Tensor) -> Tensor:
        """[1, 1, 1, Tk], for as many keys as queries."""
        return torch.where(torch.arange(q.size(-2)) == 0, -1e4, 0.0).to(q)[None, None, None, :]


def _positions(part: Part, place: str) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs without positions, with positions that do nothing, and with those that act at `place`."""
    if place not in part.can("positions"):
        raise DoesNotApply(f"It does not declare positions={place}.")
    attention = part.module().eval()
    x = part.randn(BATCH, 5, part.sizes.d_model)
    acting = _Turned() if place == "queries-keys" else _Pushed()
    without, idle, acted = (
        tensor(attention(x, x, x, masked(part, causal(5)), **more), part)
        for more in ({}, {"positions": Positions()}, {"positions": acting})
    )
    same(idle, without, "Positions that do nothing changed the output")
    if not moved(acted, without):
        raise DoesNotHold("Positions have no influence on the output.")
    return without, idle, acted


@holds("works with an encoding that rotates queries and keys")
def queries_and_keys(part: Part) -> None:
    """`positions.rotate` acts, and positions that do nothing change nothing."""
    _positions(part, "queries-keys")


@holds("works with an encoding that adds to the scores")
def scores(part: Part) -> None:
    """`positions.bias` acts beside the mask, and positions that do nothing change nothing."""
    _positions(part, "scores")
