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

MIXES = (
    "Features of different positions end up in one vector, so a position gets information it must not have."
)


def _reshaped(_call: Call, x: Tensor) -> Tensor:
    return x.reshape(x.size(0), x.size(-2), -1)


@mistake(
    "merge-without-transpose",
    "The heads are merged without transposing them back first: [B, H, T, d] is reshaped directly to [B, T, "
    f"D]. {MIXES}",
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
    "The heads are merged with their features interleaved: [B, T, d, H] is reshaped to [B, T, D]. Head h "
    "must fill the columns h*d .. (h+1)*d.",
    formula=HEADS,
    hint="Of heads and features, which index changes faster in the merged vector?",
    parts=CLASS,
)
def merge_interleaves_heads(steps: Steps) -> Steps:
    def interleave(_call: Call, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1).reshape(x.size(0), x.size(2), -1)

    return replace(steps, merge=interleave)


@mistake(
    "view-after-transpose",
    "`.view` is called on a transposed tensor, which is not contiguous in memory, so PyTorch raises an "
    "error. Use `.reshape`, or call `.contiguous()` before `.view`.",
    hint="Read the last line of PyTorch's message.",
    parts=CLASS,
)
def view_after_transpose(steps: Steps) -> Steps:
    def viewed(_call: Call, x: Tensor) -> Tensor:
        return x.transpose(1, 2).view(x.size(0), x.size(2), -1)

    return replace(steps, merge=viewed)


@mistake(
    "split-without-transpose",
    "The heads are split with view(B, H, T, d), which spreads the vector of one position over several. Use "
    f"view(B, T, H, d), then transpose(1, 2). {MIXES}",
    formula=HEADS,
    hint="After the split, which features belong to position 0?",
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
    "The heads are split as (d, H), which interleaves their features. Head h must get the contiguous "
    "columns h*d .. (h+1)*d; otherwise weights of another implementation give other results.",
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
    "The number of heads and the size of a head are swapped: there are d_k heads of size num_heads.",
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
    "num_heads has no effect: there is a single attention over all d_model features.",
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
    "Only one head's result is used; the others are computed and lost (a loop that overwrites its result, "
    "or an index that is always the same).",
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
    "The heads are averaged or summed; they must be concatenated, so that no head's result is lost.",
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
    "All heads use the attention weights of one head (or their average); each head must compute its own.",
    formula=HEADS,
    hint="Do the weights have a head dimension, and does each head use its own weights?",
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
    hint="Head 1 comes first.",
    parts=CLASS,
)
def heads_reversed(steps: Steps) -> Steps:
    return _combined(lambda x: x.flip(1), steps)


@mistake(
    "heads-and-batch-mixed",
    "Batch and heads are folded into one dimension and unfolded in the other order, so heads of different "
    "sentences are mixed.",
    formula=HEADS,
    hint="If [B, H] was folded, is [B, H] unfolded?",
    source="gazelle93/Transformer-Various-Positional-Encoding#1",
    parts=CLASS,
)
def heads_and_batch_mixed(steps: Steps) -> Steps:
    def mixed(x: Tensor) -> Tensor:
        return x.reshape(x.size(1), x.size(0), *x.shape[2:]).transpose(0, 1)

    return _combined(mixed, steps)


@mistake(
    "attends-over-heads",
    "The head dimension is not moved in front of the positions: attention gets [B, T, H, d] instead of [B, "
    "H, T, d]. Each position attends over its own heads, and never sees another position.",
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
    "Attention runs along the batch, not along the sequence: [batch, length, d_model] is read as [length, "
    "batch, d_model]. Sentences of a batch attend to each other, and words of a sentence do not.",
    formula=HEADS,
    hint="Which dimension is the batch? Here it is the first.",
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
    "The projections are d_k x d_k, shared by all heads and applied after the split. Each head needs its "
    "own columns of a d_model x d_model projection.",
    formula="head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i), W_i: d_model x d_k",
    hint="Project first, then split.",
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
    "Each head has d_model features: the projections have num_heads * d_model rows. A head has d_model / "
    "num_heads features, so that all heads together cost as much as one.",
    formula="d_k = d_v = d_model / num_heads",
    hint="How many features has one head?",
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
    "A d_model that is not divisible by num_heads is accepted. The constructor must raise ValueError, with "
    "both numbers in its message.",
    formula="d_k = d_model / num_heads",
    hint="What should happen for d_model = 10 and num_heads = 4?",
    parts=CLASS,
)
def head_count_unchecked(steps: Steps) -> Steps:
    return replace(steps, check=lambda _d_model, _num_heads: None)


@mistake(
    "head-count-wrong-error",
    "If num_heads does not divide d_model, an error other than ValueError is raised. (`assert` raises "
    "AssertionError, and is removed by `python -O`.)",
    hint="Which exception does the exercise ask for?",
    parts=CLASS,
)
def head_count_wrong_error(steps: Steps) -> Steps:
    def refuse(d_model: int, num_heads: int) -> None:
        if d_model % num_heads:
            raise AssertionError(f"{d_model} % {num_heads}")

    return replace(steps, check=refuse)
