"""Mistakes in where a mask applies: ignored, inverted, transposed, or taken from the wrong place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.attention.mistakes.collection import CLASS, mistake
from grader.exercises.attention.reference import Call, Steps

CONVENTION = (
    "Here True means that a key may be attended to, as in F.scaled_dot_product_attention; "
    "nn.MultiheadAttention uses the opposite convention."
)


def only(kind: str, steps: Steps, way: Callable[[Call, Tensor], Tensor]) -> Steps:
    """`way` replaces the mask step, for masks of one kind only ("bool", "additive")."""

    def masked(call: Call, scores: Tensor) -> Tensor:
        if call.mask is None or (call.mask.dtype == torch.bool) != (kind == "bool"):
            return steps.mask(call, scores)
        return way(call, scores)

    return replace(steps, mask=masked)


def with_mask(steps: Steps, change: Callable[[Call, Tensor], Tensor]) -> Steps:
    """The mask is changed before it is applied."""

    def changed(call: Call, scores: Tensor) -> Tensor:
        if call.mask is None:
            return steps.mask(call, scores)
        return steps.mask(replace(call, mask=change(call, call.mask)), scores)

    return replace(steps, mask=changed)


def as_bool(mask: Tensor) -> Tensor:
    return mask if mask.dtype == torch.bool else mask == 0


@mistake(
    "mask-ignored",
    "The mask has no effect: every query attends to every key. Perhaps `masked_fill` (without underscore) "
    "is called and its result is not used, or the mask is never passed on.",
    hint="Follow the mask from the argument to the scores.",
    source="opendilab/DI-engine#333",
)
def mask_ignored(steps: Steps) -> Steps:
    return replace(steps, mask=lambda _call, scores: scores)


@mistake(
    "mask-bool-ignored",
    "A bool mask has no effect; only additive (float) masks are applied.",
    hint="What does your code do with a mask whose dtype is torch.bool?",
)
def mask_bool_ignored(steps: Steps) -> Steps:
    return only("bool", steps, lambda _call, scores: scores)


@mistake(
    "mask-additive-ignored",
    "An additive (float) mask has no effect; only bool masks are applied.",
    formula="scores + mask, where mask is 0 (allowed) or -inf (masked)",
    hint="What does your code do with a mask whose dtype is float?",
)
def mask_additive_ignored(steps: Steps) -> Steps:
    return only("additive", steps, lambda _call, scores: scores)


@mistake(
    "mask-inverted",
    "The bool mask is inverted: keys that may be attended to are masked, and the others are used. "
    f"{CONVENTION}",
    formula="scores.masked_fill(~mask, -inf)",
    hint="What does True mean in this exercise?",
    source="rasbt/LLMs-from-scratch#1061; pytorch/pytorch#170415",
)
def mask_inverted(steps: Steps) -> list[Steps]:
    def added(call: Call, scores: Tensor) -> Tensor:
        return scores + torch.where(_mask(call), -1e9, 0.0).to(scores.dtype)

    return [
        with_mask(steps, lambda _call, m: ~m if m.dtype == torch.bool else m),
        only("bool", steps, added),
        with_mask(steps, lambda _call, m: ~as_bool(m)),
    ]


@mistake(
    "mask-additive-as-keep",
    "An additive mask is read as if 0 meant masked. In an additive mask 0 means allowed and -inf means "
    "masked; it must be added to the scores.",
    formula="scores + mask",
    hint="In an additive mask, 0 is for what may be attended to, and -inf for what may not.",
)
def mask_additive_as_keep(steps: Steps) -> list[Steps]:
    return [
        only("additive", steps, lambda call, s: s.masked_fill(_mask(call) == 0, -math.inf)),
        only("additive", steps, lambda call, s: s.masked_fill(_mask(call) <= 0, -math.inf)),
        only("additive", steps, lambda call, s: s.masked_fill(_mask(call) == 0, -1e9)),
    ]


def _mask(call: Call) -> Tensor:
    if call.mask is None:
        raise AssertionError("asked for a mask that is not there")
    return call.mask


@mistake(
    "mask-additive-subtracted",
    "The additive mask is subtracted; it must be added. Subtracting -inf gives +inf, and the softmax of "
    "+inf is NaN.",
    formula="scores + mask",
    hint="Check the sign in front of the mask.",
)
def mask_additive_subtracted(steps: Steps) -> Steps:
    return only("additive", steps, lambda call, s: s - _mask(call))


@mistake(
    "mask-transposed",
    "Queries and keys are swapped in the mask, so rows are masked where columns should be. A padding mask "
    "then masks the padded queries, and the padded keys are still attended to.",
    formula="mask[..., query, key]",
    hint="The last dimension of a mask is the keys.",
    source="bentrevett/pytorch-seq2seq#96; hyunwoongko/transformer#40",
)
def mask_transposed(steps: Steps) -> list[Steps]:
    """Always, or only where the shapes allow it: square masks, padding masks [..., 1, Tk]."""

    def turned(when: Callable[[Call, Tensor], bool]) -> Steps:
        return with_mask(steps, lambda call, m: m.transpose(-2, -1) if when(call, m) else m)

    def even(call: Call) -> bool:
        return call.query.size(-2) == call.key.size(-2)

    return [
        with_mask(steps, lambda _call, m: m.transpose(-2, -1)),
        turned(lambda call, _m: even(call)),
        turned(lambda _call, m: m.size(-2) == 1),
        turned(lambda call, m: even(call) and m.size(-2) == 1),
        turned(lambda _call, m: m.size(-2) == m.size(-1)),
    ]


@mistake(
    "mask-first-batch-row",
    "The first sentence's mask is used for the whole batch.",
    formula="mask[b, h, query, key]",
    hint="Is the mask indexed or sliced in its first dimension?",
)
def mask_first_batch_row(steps: Steps) -> Steps:
    return with_mask(steps, lambda _call, m: m[:1] if m.dim() > 2 else m)


@mistake(
    "mask-first-query-row",
    "The first query's row of the mask is used for all queries. With a causal mask, every query then "
    "attends to the first key only.",
    formula="mask[..., query, key]",
    hint="Is the mask indexed in its second-to-last dimension?",
)
def mask_first_query_row(steps: Steps) -> list[Steps]:
    return [
        with_mask(steps, lambda _call, m: m[..., :1, :]),
        with_mask(steps, lambda _call, m: m[..., -1:, :]),
    ]


@mistake(
    "mask-first-head",
    "The first head's mask is used for all heads.",
    formula="mask[b, h, query, key]",
    hint="Is the mask indexed in its second dimension?",
)
def mask_first_head(steps: Steps) -> Steps:
    return with_mask(steps, lambda _call, m: m[:, :1] if m.dim() == 4 else m)


@mistake(
    "mask-heads-and-batch-mixed",
    "The mask is repeated for the heads in another order than the tensors, so a sentence gets the mask of "
    "another one (`repeat` instead of `repeat_interleave`, or vice versa).",
    formula="mask[b, h, query, key]",
    hint="After folding batch and heads into one dimension, which index changes faster?",
    source="lsdefine/attention-is-all-you-need-keras#36",
    parts=CLASS,
)
def mask_heads_and_batch_mixed(steps: Steps) -> Steps:
    def shuffled(call: Call, mask: Tensor) -> Tensor:
        if mask.dim() < 4 or mask.size(0) == 1:
            return mask
        batch, heads = mask.size(0), call.heads
        folded = mask[:, 0].repeat(heads, 1, 1)  # [H*B, ., .], the batch runs faster
        return folded.view(batch, heads, *mask.shape[-2:])

    return with_mask(steps, shuffled)


def _causal(scores: Tensor, diagonal: int = 0) -> Tensor:
    return torch.ones_like(scores, dtype=torch.bool).tril(diagonal)


@mistake(
    "always-causal",
    "A causal mask is always applied: a query never attends to later keys, even without a mask. Only the "
    "mask argument determines what is masked.",
    hint="Is there a `tril`, `triu` or `is_causal=True`?",
)
def always_causal(steps: Steps) -> list[Steps]:
    def also(call: Call, scores: Tensor) -> Tensor:
        return steps.mask(call, scores).masked_fill(~_causal(scores), -math.inf)

    def instead(_call: Call, scores: Tensor) -> Tensor:
        return scores.masked_fill(~_causal(scores), -math.inf)

    def without_mask(call: Call, scores: Tensor) -> Tensor:
        return also(call, scores) if call.mask is None else steps.mask(call, scores)

    def aligned_right(call: Call, scores: Tensor) -> Tensor:
        seen = _causal(scores, scores.size(-1) - scores.size(-2))
        return steps.mask(call, scores).masked_fill(~seen, -math.inf)

    return [replace(steps, mask=way) for way in (also, instead, without_mask, aligned_right)]


@mistake(
    "mask-replaced-by-causal",
    "The mask argument is ignored, and a causal mask is applied instead.",
    formula="scores + mask",
    hint="Use the mask that is passed in; do not create one.",
)
def mask_replaced_by_causal(steps: Steps) -> list[Steps]:
    def causal(call: Call, scores: Tensor) -> Tensor:
        return scores if call.mask is None else scores.masked_fill(~_causal(scores), -math.inf)

    def flipped(call: Call, scores: Tensor) -> Tensor:
        return scores if call.mask is None else scores.masked_fill(_causal(scores, -1), -math.inf)

    return [replace(steps, mask=causal), replace(steps, mask=flipped)]


@mistake(
    "diagonal-blocked",
    "The diagonal is masked: no position may attend to itself.",
    hint="Is a mask built with `triu(0)` or `tril(-1)`, or an identity subtracted?",
)
def diagonal_blocked(steps: Steps) -> list[Steps]:
    def blocked(call: Call, scores: Tensor) -> Tensor:
        itself = torch.eye(*scores.shape[-2:], dtype=torch.bool, device=scores.device)
        return steps.mask(call, scores).masked_fill(itself, -math.inf)

    def with_a_mask(call: Call, scores: Tensor) -> Tensor:
        return scores if call.mask is None else blocked(call, scores)

    return [replace(steps, mask=blocked), replace(steps, mask=with_a_mask)]
