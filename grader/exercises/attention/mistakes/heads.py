"""Mistakes in splitting into heads, in merging them, and in what a head attends over."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.attention.mistakes.collection import CLASS, HEADS, PAPER_HEADS, mistake
from grader.exercises.attention.mistakes.projections import without
from grader.exercises.attention.reference import Call, Steps, linear

MIXES = "Numbers of different positions end up in one vector, and a position sees what it must not see."


def _reshaped(_call: Call, x: Tensor) -> Tensor:
    return x.reshape(x.size(0), x.size(-2), -1)


@mistake(
    "merge-without-transpose",
    "The heads are merged without moving them next to their position first: [B, H, T, d] goes straight into "
    f"[B, T, D]. {MIXES}",
    formula=HEADS,
    hint="Which two dimensions must be adjacent before they are merged?",
    source="jsbaan/transformer-from-scratch#6; xieenze/Trans2Seg#4",
    parts=CLASS,
)
def merge_without_transpose(steps: Steps) -> list[Steps]:
    def by_query(call: Call, x: Tensor) -> Tensor:
        return x.reshape(x.size(0), call.query.size(1), -1)

    def other_axes(_call: Call, x: Tensor) -> Tensor:
        return x.transpose(2, 3).reshape(x.size(0), x.size(2), -1)

    def backwards(_call: Call, x: Tensor) -> Tensor:
        return x.permute(0, 3, 1, 2).reshape(x.size(0), x.size(2), -1)

    return [replace(steps, merge=way) for way in (_reshaped, by_query, other_axes, backwards)]


@mistake(
    "merge-interleaves-heads",
    "The heads are merged with their channels interleaved ([B, T, d, H] becomes [B, T, D]): head h belongs in the "
    "columns h*d .. (h+1)*d.",
    formula=HEADS,
    hint="Which of heads and channels runs faster in the merged vector?",
    parts=CLASS,
)
def merge_interleaves_heads(steps: Steps) -> Steps:
    def interleave(_call: Call, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1).reshape(x.size(0), x.size(2), -1)

    return replace(steps, merge=interleave)


@mistake(
    "view-after-transpose",
    "`.view` is called on a transposed tensor, whose memory is not in that order any more: PyTorch raises an error. "
    "`.reshape`, or `.contiguous()` before `.view`, does it.",
    hint="Read the last line of PyTorch's message.",
    parts=CLASS,
)
def view_after_transpose(steps: Steps) -> Steps:
    def viewed(_call: Call, x: Tensor) -> Tensor:
        return x.transpose(1, 2).view(x.size(0), x.size(2), -1)

    return replace(steps, merge=viewed)


@mistake(
    "split-without-transpose",
    "The heads are split with view(B, H, T, d) directly: the vector of one position is spread over several. It takes "
    f"view(B, T, H, d) and then transpose(1, 2). {MIXES}",
    formula=HEADS,
    hint="After the split, which numbers belong to position 0?",
    source="hyunwoongko/transformer#15",
    parts=CLASS,
)
def split_without_transpose(steps: Steps) -> list[Steps]:
    def direct(call: Call, _role: str, x: Tensor) -> Tensor:
        return x.reshape(x.size(0), call.heads, x.size(1), -1)

    wrong = replace(steps, split=direct)
    return [wrong, replace(wrong, merge=_reshaped)]


@mistake(
    "heads-interleaved",
    "The heads are split as (d, H): the channels of all heads are interleaved. Head h must get the "
    "contiguous columns h*d .. (h+1)*d. Harmless when trained from scratch, wrong with weights from "
    "elsewhere.",
    formula=HEADS,
    hint="view(B, T, H, d) or view(B, T, d, H)?",
    parts=CLASS,
)
def heads_interleaved(steps: Steps) -> list[Steps]:
    def interleaved(call: Call, _role: str, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), -1, call.heads).permute(0, 3, 1, 2)  # [B, H, T, d]

    def back(_call: Call, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1).reshape(x.size(0), x.size(2), -1)  # [B, T, D]

    wrong = replace(steps, split=interleaved)
    return [replace(wrong, merge=back), wrong]


@mistake(
    "heads-and-width-swapped",
    "The number of heads and the width of a head are swapped: there are d_k heads of width num_heads.",
    formula="d_k = d_model / num_heads",
    hint="Which of the two does your `view` put first?",
    parts=CLASS,
)
def heads_and_width_swapped(steps: Steps) -> Steps:
    def swapped(call: Call, role: str, x: Tensor) -> Tensor:
        return steps.split(replace(call, heads=x.size(-1) // call.heads), role, x)

    return replace(steps, split=swapped)


@mistake(
    "single-head",
    "num_heads has no effect: one attention runs over the full width, as if there were a single head.",
    formula=HEADS,
    hint="Where is the tensor split into heads?",
    source=PAPER_HEADS,
    parts=CLASS,
)
def single_head(steps: Steps) -> list[Steps]:
    def whole(call: Call, role: str, x: Tensor) -> Tensor:
        return steps.split(replace(call, heads=1), role, x)

    def by_head_width(call: Call, scores: Tensor, _q: Tensor, k: Tensor) -> Tensor:
        return scores / math.sqrt(k.size(-1) // call.heads)

    return [replace(steps, split=whole), replace(steps, split=whole, scale=by_head_width)]


def _combined(combine: Callable[[Tensor], Tensor], steps: Steps) -> Steps:
    return replace(steps, merge=lambda call, x: steps.merge(call, combine(x)))


@mistake(
    "one-head-kept",
    "Only one head's result is used; the others are computed and lost (a loop that overwrites its result, or an index "
    "that is always the same).",
    formula=HEADS,
    hint="How many heads' results does the output depend on?",
    parts=CLASS,
)
def one_head_kept(steps: Steps) -> list[Steps]:
    def keep(index: int) -> Callable[[Tensor], Tensor]:
        def only_one(x: Tensor) -> Tensor:
            only = torch.zeros_like(x)
            only[:, index] = x[:, index]
            return only

        return only_one

    def spread(index: int) -> Callable[[Tensor], Tensor]:
        return lambda x: x[:, index].unsqueeze(1).expand_as(x)

    return [_combined(way(index), steps) for way in (spread, keep) for index in (-1, 0)]


@mistake(
    "heads-averaged",
    "The heads are averaged or summed, not concatenated, so their separate results are lost.",
    formula=HEADS,
    hint="What does Concat do?",
    source="awf/functional-transformer#8",
    parts=CLASS,
)
def heads_averaged(steps: Steps) -> list[Steps]:
    return [
        _combined(lambda x: x.mean(1, keepdim=True).expand_as(x), steps),
        _combined(lambda x: x.sum(1, keepdim=True).expand_as(x), steps),
    ]


@mistake(
    "heads-share-weights",
    "All heads use the attention weights of one head (or their average): each head has to compute its own.",
    formula=HEADS,
    hint="Do the weights have a dimension for the heads, and does each head use its own?",
    parts=CLASS,
)
def heads_share_weights(steps: Steps) -> list[Steps]:
    return [
        replace(steps, reweigh=lambda _call, w: w[:, :1].expand_as(w)),
        replace(steps, reweigh=lambda _call, w: w.mean(1, keepdim=True).expand_as(w)),
    ]


@mistake(
    "heads-reversed",
    "The heads are concatenated in the wrong order.",
    formula=HEADS,
    hint="Head 1 belongs first.",
    parts=CLASS,
)
def heads_reversed(steps: Steps) -> Steps:
    return _combined(lambda x: x.flip(1), steps)


@mistake(
    "heads-and-batch-mixed",
    "Batch and heads are folded into one dimension and unfolded in the other order: the heads of different sentences "
    "are mixed up.",
    formula=HEADS,
    hint="Fold [B, H] and unfold [H, B]: does it fit?",
    source="gazelle93/Transformer-Various-Positional-Encoding#1",
    parts=CLASS,
)
def heads_and_batch_mixed(steps: Steps) -> Steps:
    def mixed(x: Tensor) -> Tensor:
        return x.reshape(x.size(1), x.size(0), *x.shape[2:]).transpose(0, 1)

    return _combined(mixed, steps)


@mistake(
    "attends-over-heads",
    "The dimension of the heads was not moved before the positions ([B, T, H, d] goes into the attention): every "
    "position attends over its own heads, and never sees another position.",
    formula=HEADS,
    hint="Attention acts on the last two dimensions: which ones are they?",
    parts=CLASS,
)
def attends_over_heads(steps: Steps) -> list[Steps]:
    def unmoved(call: Call, _role: str, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), call.heads, -1)

    wrong = replace(steps, split=unmoved)
    return [
        replace(wrong, merge=lambda _call, x: x.reshape(x.size(0), x.size(1), -1)),
        replace(wrong, merge=lambda call, x: x.transpose(1, 2).reshape(x.size(0), call.query.size(1), -1)),
        wrong,
    ]


@mistake(
    "attends-over-batch",
    "The attention runs along the batch, not along the sequence ([batch, length, d_model] is read as "
    "[length, batch, d_model]): the sentences of a batch see each other, the words of a sentence do not.",
    formula=HEADS,
    hint="Which dimension is the batch here: the first.",
    source="rish-16/tokenlearner-pytorch#1",
    parts=CLASS,
)
def attends_over_batch(steps: Steps) -> Steps:
    def turned(call: Call) -> Call:
        query, key, value = (x.transpose(0, 1) for x in call.inputs)
        return replace(call, query=query, key=key, value=value)

    def split(call: Call, role: str, x: Tensor) -> Tensor:
        return steps.split(call, role, x.contiguous())

    return replace(
        steps, prepare=turned, split=split, finish=lambda call, x: steps.finish(call, x).transpose(0, 1)
    )


@mistake(
    "projection-per-head-shared",
    "The projections are d_head x d_head and shared by all heads, applied after the split: each head needs its own "
    "columns of a d_model x d_model projection.",
    formula="head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i), each W_i of d_model x d_k",
    hint="Project first, split afterwards.",
    source="aladdinpersson/Machine-Learning-Collection#3",
    parts=CLASS,
)
def projection_per_head_shared(steps: Steps) -> Steps:
    def shapes(d_model: int, num_heads: int) -> dict[str, tuple[int, ...]]:
        made = without(steps, "q", "k", "v")(d_model, num_heads)
        depth = d_model // num_heads
        return made | {f"{r}.weight": (depth, depth) for r in "qkv"} | {f"{r}.bias": (depth,) for r in "qkv"}

    def raw(call: Call, role: str) -> Tensor:
        return call.inputs[("q", "k", "v").index(role)]

    def late(call: Call, role: str, x: Tensor) -> Tensor:
        return linear(call, role, steps.split(call, role, x))

    return replace(steps, shapes=shapes, project=raw, split=late)


@mistake(
    "heads-full-width",
    "Every head is as wide as the whole model: the projections have num_heads * d_model rows. A head is d_model / "
    "num_heads wide, so that all heads together cost as much as one.",
    formula="d_k = d_v = d_model / num_heads",
    hint="How wide is one head?",
    source=PAPER_HEADS,
    parts=CLASS,
)
def heads_full_width(steps: Steps) -> Steps:
    def shapes(d_model: int, num_heads: int) -> dict[str, tuple[int, ...]]:
        wide = num_heads * d_model
        made: dict[str, tuple[int, ...]] = {}
        for role in "qkv":
            made |= {f"{role}.weight": (wide, d_model), f"{role}.bias": (wide,)}
        return made | {"out.weight": (d_model, wide), "out.bias": (d_model,)}

    return replace(steps, shapes=shapes)


@mistake(
    "head-count-unchecked",
    "A d_model that num_heads does not divide is accepted: the constructor has to raise ValueError, with both numbers "
    "in its message.",
    formula="d_k = d_model / num_heads",
    hint="What should happen for d_model = 10 and num_heads = 4?",
    parts=CLASS,
)
def head_count_unchecked(steps: Steps) -> Steps:
    return replace(steps, check=lambda _d_model, _num_heads: None)


@mistake(
    "head-count-wrong-error",
    "A d_model that num_heads does not divide raises an error, but not a ValueError (`assert` raises AssertionError, "
    "and vanishes under `python -O`).",
    hint="raise ValueError(...)",
    parts=CLASS,
)
def head_count_wrong_error(steps: Steps) -> Steps:
    def refuse(d_model: int, num_heads: int) -> None:
        if d_model % num_heads:
            raise AssertionError(f"{d_model} % {num_heads}")

    return replace(steps, check=refuse)
