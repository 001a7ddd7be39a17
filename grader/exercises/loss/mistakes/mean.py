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
    "Padding is counted in the loss like any token, so the model is trained to predict PAD, and the mean "
    "says little about real tokens. (By default, cross_entropy ignores -100, not 0.)",
    formula=MEAN,
    hint="If PAD is appended to a sentence, should its loss change? See ignore_index.",
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
    "Tokens other than PAD are ignored too: EOS, SOS, or all ids below `pad`. A model that is not trained "
    "to predict EOS does not know when to stop.",
    formula=MEAN,
    hint="Which targets are ignored? Only one id should be.",
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
    hint="Is the comparison == or != ?",
)
def only_pad_counted(steps: Steps) -> list[Steps]:
    return counting(steps, lambda call: call.target == call.pad)


@mistake(
    "divided-by-all-places",
    "The sum ignores PAD, but is divided by the number of all positions, PAD included: the more padding, "
    "the smaller the loss.",
    formula=MEAN,
    hint="What do you divide by? mean() also counts the zeros at PAD.",
    source="huggingface/transformers#7546",
)
def divided_by_all_places(steps: Steps) -> list[Steps]:
    return reduced(steps, lambda _call, each, keep: each[keep].sum() / keep.numel())


@mistake(
    "pad-in-sum-only",
    "The losses of padding are part of the sum, which is divided by the number of tokens that are not PAD: "
    "the more padding, the larger the loss. Ignore PAD in both.",
    formula=MEAN,
    hint="If PAD is appended to a sentence, should its loss change? What is summed, and what is counted?",
)
def pad_in_sum_only(steps: Steps) -> list[Steps]:
    return reduced(steps, lambda _call, each, keep: each.sum() / keep.sum())


@mistake(
    "divided-by-sentences",
    "The sum is divided by the number of sentences (or of columns), not by the number of tokens, so long "
    "sentences make it larger.",
    formula=MEAN,
    hint="What do you divide by?",
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
    "The mean is taken for each sentence (or column) and then over those means. If sentences differ in "
    "length, a token of a short sentence gets more weight.",
    formula=MEAN,
    hint="In a batch of two sentences of 1 and 3 tokens, what weight does each token get?",
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
    "Only one position of each sentence is used (the last, or the first). The model predicts a token at "
    "every position.",
    formula=MEAN,
    hint="How many positions does the loss use?",
)
def last_place_only(steps: Steps) -> list[Steps]:
    return [
        replace(steps, align=lambda logits, target: (logits[:, -1:], target[:, -1:])),
        replace(steps, align=lambda logits, target: (logits[:, :1], target[:, :1])),
    ]


@mistake(
    "divided-by-vocabulary-too",
    "The sum is also divided by V: the mean is taken over the vocabulary too, where a sum belongs "
    "(KLDivLoss with reduction 'mean').",
    formula=MEAN,
    hint="Over which dimensions is the mean taken?",
    source="PyTorch, torch.nn.KLDivLoss",
)
def divided_by_vocabulary_too(steps: Steps) -> Steps:
    return replace(
        steps,
        smooth=lambda call, logs, right: steps.smooth(call, logs, right) / logs.size(-1),
    )
