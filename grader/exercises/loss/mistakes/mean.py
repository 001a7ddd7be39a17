"""Mistakes in what counts, and what the sum is divided by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.loss.mistakes.collection import MEAN, mistake
from grader.exercises.loss.reference import Call, Steps

Reduce = Callable[[Call, Tensor, Tensor], Any]


def reduced(steps: Steps, *ways: Reduce) -> list[Steps]:
    """Something else than the mean over what counts."""
    return [replace(steps, reduce=way) for way in ways]


def counting(steps: Steps, *ways: Callable[[Call], Tensor]) -> list[Steps]:
    """Other places count."""
    return [replace(steps, keep=way) for way in ways]


@mistake(
    "pad-counted",
    "Padding is counted in the loss like any token. The model is then trained to predict PAD, and the mean "
    "says little about real tokens. (By default, cross_entropy ignores -100, not 0.)",
    formula=MEAN,
    hint="Add PADs to a sentence: may its loss change? See ignore_index.",
    source="lukas-blecher/LaTeX-OCR#305, huggingface/transformers#2759",
)
def pad_counted(steps: Steps) -> list[Steps]:
    return counting(
        steps,
        lambda call: torch.ones_like(call.target, dtype=torch.bool),
        lambda call: call.target != -100,
    )


@mistake(
    "pad-argument-ignored",
    "The argument `pad` is ignored: PAD is always taken to be 0.",
    formula=MEAN,
    hint="Try pad=3.",
    source="hyunwoongko/transformer#11",
)
def pad_argument_ignored(steps: Steps) -> list[Steps]:
    return counting(steps, lambda call: call.target != 0)


@mistake(
    "real-tokens-left-out",
    "Tokens that are not PAD are left out too: EOS, SOS, or all ids below `pad`. A model that is not trained "
    "to predict EOS does not know when to stop.",
    formula=MEAN,
    hint="Which targets are ignored? Only one id.",
)
def real_tokens_left_out(steps: Steps) -> list[Steps]:
    return counting(
        steps,
        lambda call: (call.target != call.pad) & (call.target != 2),
        lambda call: (call.target != call.pad) & (call.target != 1),
        lambda call: (call.target != call.pad) & (call.target > 2),
        lambda call: call.target > call.pad,
    )


@mistake(
    "only-pad-counted",
    "The mask is inverted: padding is counted, and tokens are not.",
    formula=MEAN,
    hint="Is it == or != ?",
)
def only_pad_counted(steps: Steps) -> list[Steps]:
    return counting(steps, lambda call: call.target == call.pad)


@mistake(
    "divided-by-all-places",
    "The sum leaves PAD out, but is divided by all places, PAD among them: the more padding, the smaller the loss.",
    formula=MEAN,
    hint="By how many numbers do you divide? mean() also counts the zeros at PAD.",
    source="huggingface/transformers#7546",
)
def divided_by_all_places(steps: Steps) -> list[Steps]:
    return reduced(steps, lambda _call, each, keep: each[keep].sum() / keep.numel())


@mistake(
    "pad-in-sum-only",
    "The losses of padding are in the sum, which is divided by the number of tokens that are not PAD: the more "
    "padding, the larger the loss. PAD must be left out of both.",
    formula=MEAN,
    hint="Add PADs to a sentence: may its loss change? What is summed, and what is counted?",
)
def pad_in_sum_only(steps: Steps) -> list[Steps]:
    return reduced(steps, lambda _call, each, keep: each.sum() / keep.sum())


@mistake(
    "divided-by-sentences",
    "The sum is divided by the number of sentences (or of columns), not by the number of tokens: long sentences make "
    "it larger.",
    formula=MEAN,
    hint="By how many numbers do you divide?",
    source="harvardnlp/annotated-transformer#109",
)
def divided_by_sentences(steps: Steps) -> list[Steps]:
    return reduced(
        steps,
        lambda _call, each, keep: each[keep].sum() / keep.size(0),
        lambda _call, each, keep: each[keep].sum() / keep.size(1),
    )


@mistake(
    "not-averaged",
    "The sum is returned; divide it by the number of tokens that are not PAD.",
    formula=MEAN,
    hint="See the argument `reduction`.",
    source="huggingface/transformers#7546",
)
def not_averaged(steps: Steps) -> list[Steps]:
    return reduced(steps, lambda _call, each, keep: each[keep].sum())


@mistake(
    "not-reduced",
    "One loss per token is returned; return a single number.",
    formula=MEAN,
    hint="What is the shape of the result? See the argument `reduction`.",
)
def not_reduced(steps: Steps) -> list[Steps]:
    return reduced(
        steps,
        lambda _call, each, keep: each * keep,
        lambda _call, each, keep: (each * keep).flatten(),
        lambda _call, each, keep: each[keep],
        lambda _call, each, keep: (each * keep).sum(1) / keep.sum(1),
        lambda _call, each, keep: each[keep].mean().reshape(1),
    )


@mistake(
    "mean-of-sentence-means",
    "The mean is taken sentence by sentence (or column by column) and then over those. That gives another number "
    "where sentences differ in length: a short sentence's token weighs more.",
    formula=MEAN,
    hint="Two sentences of 1 and 3 tokens: what share of the mean has each token?",
    source="huggingface/transformers, gradient accumulation",
)
def mean_of_sentence_means(steps: Steps) -> list[Steps]:
    def over(dim: int) -> Reduce:
        def reduce(_call: Call, each: Tensor, keep: Tensor) -> Tensor:
            counts = keep.sum(dim).clamp(min=1)
            return ((each * keep).sum(dim) / counts).mean()

        return reduce

    return reduced(steps, over(1), over(0))


@mistake(
    "last-place-only",
    "Only one place of each sentence is judged (the last, or the first). The model predicts a token at every "
    "position.",
    formula=MEAN,
    hint="How many logits does the loss look at?",
)
def last_place_only(steps: Steps) -> list[Steps]:
    return [
        replace(steps, align=lambda logits, target: (logits[:, -1:], target[:, -1:])),
        replace(steps, align=lambda logits, target: (logits[:, :1], target[:, :1])),
    ]


@mistake(
    "divided-by-vocabulary-too",
    "The sum is divided by V as well: a mean over all numbers, where the numbers of one token must be added up "
    "(KLDivLoss with reduction 'mean').",
    formula=MEAN,
    hint="Over which dimensions is your mean?",
    source="PyTorch, torch.nn.KLDivLoss",
)
def divided_by_vocabulary_too(steps: Steps) -> Steps:
    return replace(
        steps,
        smooth=lambda call, logs, right: steps.smooth(call, logs, right) / logs.size(-1),
    )
