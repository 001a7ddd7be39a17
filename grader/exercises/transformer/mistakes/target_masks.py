"""Mistakes in the decoder's mask over its own words."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.api import ASKED_FOR
from grader.exercises.transformer.mistakes.collection import MASKS, PAPER_MASKS, mistake
from grader.exercises.transformer.reference import Call, Steps


@mistake(
    "target-mask-missing",
    "The decoder gets no tgt_mask, so each position sees the words that it should predict.",
    formula=MASKS,
    hint="What must the decoder not see?",
    source=f"{PAPER_MASKS}; jadore801120/attention-is-all-you-need-pytorch#19",
)
def target_mask_missing(steps: Steps) -> Steps:
    return replace(steps, tgt_mask=lambda *_: None)


@mistake(
    "target-mask-padding-only",
    "tgt_mask masks PAD, but not later positions, so each position sees the words that it should predict.",
    formula=MASKS,
    hint="tgt_mask combines two masks.",
    source=PAPER_MASKS,
)
def target_padding_only(steps: Steps) -> Steps:
    return replace(steps, tgt_mask=lambda inner, call, tgt: inner.padding(call, tgt, call.pad))


@mistake(
    "target-mask-causal-only",
    "tgt_mask masks later positions, but not PAD.",
    formula=MASKS,
    hint="tgt_mask combines two masks.",
)
def target_causal_only(steps: Steps) -> Steps:
    return replace(steps, tgt_mask=lambda inner, _call, tgt: inner.causal(tgt.size(1))[None, None])


@mistake(
    "target-mask-or",
    "Causal mask and padding mask are combined by OR. A key must be allowed by both: use AND.",
    formula=MASKS,
    hint="May a later word be attended to because it is not PAD?",
)
def target_or(steps: Steps) -> Steps:
    return replace(
        steps,
        tgt_mask=lambda inner, call, tgt: inner.causal(tgt.size(1)) | inner.padding(call, tgt, call.pad),
    )


@mistake(
    "causal-flipped",
    "The wrong triangle is used (triu instead of tril): later positions are allowed, and earlier ones are "
    "masked.",
    formula=MASKS,
    hint="Print it for three words: the first row is that of the first word.",
    source="pytorch/pytorch#28272, #29546",
)
def causal_flipped(steps: Steps) -> Steps:
    return replace(steps, causal=lambda length: steps.causal(length).T)


@mistake(
    "causal-inverted",
    "The causal mask is inverted: only later positions are allowed. (torch.triu(..., 1) is True for what "
    "must be masked; here True means allowed.)",
    formula=MASKS,
    hint="True means that a key may be attended to.",
    source="rasbt/LLMs-from-scratch#1061",
)
def causal_inverted(steps: Steps) -> Steps:
    return replace(steps, causal=lambda length: ~steps.causal(length))


@mistake(
    "target-mask-inverted",
    "tgt_mask is inverted: allowed keys are masked, and masked keys are attended to.",
    formula=MASKS,
    hint="Print it: is the diagonal True?",
    source="rasbt/LLMs-from-scratch#1061",
)
def target_inverted(steps: Steps) -> Steps:
    def inverted(inner: Steps, call: Call, tgt: Tensor) -> Tensor:
        return ~(inner.causal(tgt.size(1)) & inner.padding(call, tgt, call.pad))

    return replace(steps, tgt_mask=inverted)


@mistake(
    "causal-sees-next",
    "The causal mask is off by one: each word sees the next one, which it should predict.",
    formula=MASKS,
    hint="Print it for three words: which words may the first one attend to?",
    source="pytorch/tutorials#2250",
)
def causal_sees_next(steps: Steps) -> Steps:
    return replace(
        steps, causal=lambda length: torch.ones(length, length, dtype=torch.bool, device=ASKED_FOR).tril(1)
    )


@mistake(
    "causal-hides-itself",
    "The causal mask is off by one: a word may not attend to itself, and the first one attends to nothing.",
    formula=MASKS,
    hint="Print it for three words: which words may the first one attend to?",
    source="pytorch/tutorials#2250",
)
def causal_hides_itself(steps: Steps) -> Steps:
    return replace(
        steps, causal=lambda length: torch.ones(length, length, dtype=torch.bool, device=ASKED_FOR).tril(-1)
    )
