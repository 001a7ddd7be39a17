"""Properties of a positional encoding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from zoo.analysis.checks.base import DoesNotApply, DoesNotHold, Properties
from zoo.analysis.checks.common import (
    finite,
    gradients,
    in_dtypes,
    inputs_kept,
    keeps_dtype,
    moved,
    refuses,
    same,
    steady,
    tensor,
)
from zoo.analysis.checks.part import Part
from zoo.parts.encoding.base import Positions

PROPERTIES = holds = Properties()
BATCH, LENGTH = 3, 6


def embedded(part: Part, length: int = LENGTH) -> Tensor:
    """[B, T, D]."""
    return part.randn(BATCH, length, part.sizes.d_model)


def inside(part: Part, encoding: Any, num_queries: int, num_keys: int) -> Positions:
    """Return how it acts inside the attention. Raises DoesNotApply for one that acts at the embedding."""
    if part.can("acts_on") == "embedding":
        raise DoesNotApply("It acts on the embedding.")
    found = encoding.positions(num_queries, num_keys, part.randn(1, num_queries, part.sizes.d_model))
    if not isinstance(found, Positions):
        raise DoesNotHold(
            f"It declares acts_on={part.can('acts_on')}, but positions() gives {type(found).__name__}, "
            "not zoo.parts.encoding.base.Positions."
        )
    return found


def queries(part: Part, length: int) -> tuple[Tensor, Tensor]:
    """Queries and keys [B, H, T, d], the same vectors at every position."""
    shape = (BATCH, part.sizes.num_heads, 1, part.sizes.d_model // part.sizes.num_heads)
    q, k = part.randn(*shape), part.randn(*shape)
    wide = (*shape[:2], length, shape[3])
    return q.expand(wide).contiguous(), k.expand(wide).contiguous()


def both_sides(part: Part) -> list[Any]:
    """One for the encoder, and where it asks which side it is on, one for the decoder."""
    sides = (False, True) if "causal" in part.can("needs") else (False,)
    return [part.module(causal=causal).eval() for causal in sides]


@holds("keeps shape and dtype, in float32, float64 and bfloat16")
def shapes(part: Part) -> None:
    """[B, T, D] for one position, some, and max_len of them."""
    width = part.sizes.d_model
    keeps_dtype(part, [(3, LENGTH, width), (1, 1, width), (2, part.sizes.max_len, width)])


@holds("rejects more than max_len positions")
def too_long(part: Part) -> None:
    """ValueError from forward."""
    if not part.can("positional"):
        raise DoesNotApply("It does not tell positions apart, and takes any number of them.")
    encoding, length = part.module(), part.sizes.max_len + 1
    what = f"A sequence of {length} positions with max_len={part.sizes.max_len}"
    refuses(lambda: encoding(embedded(part, length)), what)


@holds("distinguishes positions, if it declares positional")
def positional(part: Part) -> None:
    """One that does not (positional=False) gives permuted outputs for permuted inputs."""
    for encoding in both_sides(part):
        if not part.can("positional"):
            x, order = embedded(part), torch.tensor([3, 0, 5, 1, 4, 2])
            got, expected = tensor(encoding(x[:, order]), part), tensor(encoding(x), part)[:, order]
            same(got, expected, "It declares positional=False, but positions change the output")
        elif part.can("acts_on") == "embedding":
            x = embedded(part, 1).expand(BATCH, LENGTH, part.sizes.d_model).contiguous()
            _all_differ(tensor(encoding(x), part)[0])
        else:
            _scores_differ(part, inside(part, encoding, LENGTH, LENGTH))


def _all_differ(rows: Tensor) -> None:
    for one in range(rows.size(0)):
        for other in range(one):
            if not moved(rows[one], rows[other]):
                raise DoesNotHold(f"The positions {other} and {one} get the same.")


def _scores_differ(part: Part, positions: Positions) -> None:
    q, k = positions.rotate(*queries(part, LENGTH))
    scores = q @ k.transpose(-2, -1)  # [B, H, Tq, Tk]
    if (bias := positions.bias(q)) is not None:
        scores = scores + bias
    if not moved(scores[..., -1, 1:], scores[..., -1, :-1]):
        raise DoesNotHold("Keys at different positions get the same scores.")


@holds("acts where it declares")
def place(part: Part) -> None:
    """At the embedding, or through positions(): rotating queries and keys, or with a bias on the scores."""
    encoding, acts_on = part.module().eval(), part.can("acts_on")
    if acts_on == "embedding":
        found = encoding.positions(4, 4, embedded(part)) if hasattr(encoding, "positions") else None
        if found is not None:
            raise DoesNotHold("It declares acts_on=embedding, but positions() gives something.")
        return
    positions, (q, k) = inside(part, encoding, LENGTH, LENGTH), queries(part, LENGTH)
    turned, bias = positions.rotate(q, k), positions.bias(q)
    if turned[0].shape != q.shape or turned[1].shape != k.shape or turned[0].dtype != q.dtype:
        raise DoesNotHold("rotate() changes the shape or the dtype of queries or keys.")
    if acts_on == "queries-keys" and bias is not None:
        raise DoesNotHold("It declares acts_on=queries-keys, but bias() gives something.")
    if acts_on == "scores":
        if bias is None:
            raise DoesNotHold("It declares acts_on=scores, but bias() gives None.")
        torch.broadcast_to(bias, (*q.shape[:3], LENGTH))  # raises where it does not fit [B, H, Tq, Tk]
        finite(bias, "The bias")


@holds("works in float32, float64 and bfloat16")
def dtypes(part: Part) -> None:
    """Return what positions() gives has the dtype of the queries."""

    if part.can("acts_on") == "embedding":
        raise DoesNotApply("It acts on the embedding.")

    def attempt(dtype: torch.dtype) -> None:
        encoding, (q, k) = part.make().to(dtype), queries(part, 4)
        q, k = q.to(dtype), k.to(dtype)
        positions = encoding.positions(4, 4, q[:, 0])
        bias = positions.bias(q)
        for one in (*positions.rotate(q, k), *([] if bias is None else [bias])):
            if one.dtype != dtype:
                raise DoesNotHold(f"Expected {dtype}, got {one.dtype}.")

    in_dtypes(part, attempt)


@holds("a single further position is encoded as in the full sequence")
def start(part: Part) -> None:
    """With `start`, and for the last queries alone: what decoding with a cache needs."""
    part.must("cacheable")
    for encoding in both_sides(part):
        x = embedded(part)
        for place in range(1, LENGTH):
            got, expected = tensor(encoding(x[:, place:], place), part), tensor(encoding(x), part)[:, place:]
            same(got, expected, f"With start={place}, positions are placed otherwise")
        if part.can("acts_on") == "embedding":
            continue
        one, all_ = inside(part, encoding, 1, LENGTH), inside(part, encoding, LENGTH, LENGTH)
        q, k = queries(part, LENGTH)
        for got, expected in zip(one.rotate(q[:, :, -1:], k[:, :, -1:]), all_.rotate(q, k), strict=True):
            same(got, expected[:, :, -1:], "The last position alone is rotated differently")
        bias, last = all_.bias(q), one.bias(q[:, :, -1:])
        if bias is not None and last is not None:
            shape = (*q.shape[:2], LENGTH, LENGTH)
            same(
                last.expand(*shape[:2], 1, LENGTH),
                bias.expand(shape)[:, :, -1:],
                "The last query alone gets another bias",
            )


@holds("rows of a batch are independent")
def rows(part: Part) -> None:
    """Each item alone gives what it gives in the batch."""
    encoding, x = part.module().eval(), embedded(part)
    together = tensor(encoding(x), part)
    for row in range(BATCH):
        one = slice(row, row + 1)
        same(
            tensor(encoding(x[one]), part), together[one], "A row alone gives another result than in a batch"
        )


@holds("gradients are finite and reach the embedding and every parameter")
def reach(part: Part) -> None:
    """Through forward, and where it acts inside the attention, through the scores."""
    encoding, x = part.module(), embedded(part).requires_grad_()
    out = tensor(encoding(x), part)
    if part.can("acts_on") != "embedding":
        positions, (q, k) = inside(part, encoding, LENGTH, LENGTH), queries(part, LENGTH)
        q, k = positions.rotate(q.requires_grad_(), k.requires_grad_())
        bias = positions.bias(q)
        scores = q @ k.transpose(-2, -1)  # [B, H, Tq, Tk]
        out = out.sum() + (scores if bias is None else scores + bias).softmax(-1)[..., 0].sum()
    gradients(encoding, out, [("the embedding", x)])


@holds("does not modify its inputs")
def untouched(part: Part) -> None:
    """Nothing is changed in place."""
    inputs_kept(part.module().eval(), [embedded(part)])


@holds("is deterministic in eval mode")
def eval_mode(part: Part) -> None:
    """Also after a call with another length."""
    x = embedded(part)
    steady(lambda e: tensor(e(x), part), part.module(), lambda e: e(embedded(part, 9)))
