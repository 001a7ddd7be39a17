"""Mistakes in what counts as padding, and on which axis it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.api import ASKED_FOR
from grader.exercises.masks.mistakes.collection import PADDING, in_decoder, in_padding, mistake
from grader.exercises.masks.reference import Steps, padding


def tokens_kept(steps: Steps, keep: Callable[[Tensor, int], Tensor]) -> Steps:
    """A padding mask made of another bool [B, T] than tokens != pad."""
    return replace(steps, padding=lambda tokens, pad: keep(tokens, pad)[:, None, None, :])


def only_in_decoder(steps: Steps, changed: Callable[[Tensor, int], Any]) -> Steps:
    """The decoder mask made with a padding mask of its own."""
    return replace(
        steps,
        finish=lambda tokens, pad, _mask: steps.finish(
            tokens, pad, steps.join(steps.causal(tokens.size(1), tokens.device), changed(tokens, pad))
        ),
    )


@mistake(
    "padding-inverted",
    "The padding mask is inverted: it is True at padding. Here True means 'may be attended to', so the "
    "model would attend to padding only.",
    formula=PADDING,
    hint="Other libraries use the opposite convention. What does True mean here?",
    source="rasbt/LLMs-from-scratch#1061",
)
def padding_inverted(steps: Steps) -> Steps:
    return in_padding(steps, lambda m: ~m)


@mistake(
    "pad-argument-ignored",
    "The argument `pad` is ignored: PAD is always taken to be 0. Other vocabularies have other ids for "
    "padding, and 0 is an ordinary token there.",
    formula=PADDING,
    hint="Try pad=7. Is `pad` used in the function, and passed on where one function calls another?",
    source="hyunwoongko/transformer#11",
)
def pad_argument_ignored(steps: Steps) -> list[Steps]:
    return [
        tokens_kept(steps, lambda tokens, _pad: tokens != 0),
        only_in_decoder(steps, lambda tokens, _pad: steps.padding(tokens, 0)),
    ]


@mistake(
    "pad-as-threshold",
    "Ids below `pad` are masked too: the comparison is 'greater than'. That works only if PAD is the "
    "smallest id; ids below it are ordinary tokens.",
    formula=PADDING,
    hint="Is a token with a smaller id than PAD padding?",
)
def pad_as_threshold(steps: Steps) -> Steps:
    return tokens_kept(steps, lambda tokens, pad: tokens > pad)


@mistake(
    "special-tokens-hidden",
    "SOS or EOS (ids 1 and 2) are masked like padding. They are ordinary tokens: the decoder starts from "
    "SOS, and EOS marks the end of a sentence.",
    formula=PADDING,
    hint="Which ids must be masked? Only one.",
)
def special_tokens_hidden(steps: Steps) -> list[Steps]:
    return [
        tokens_kept(steps, lambda tokens, pad: (tokens != pad) & (tokens != 2)),
        tokens_kept(steps, lambda tokens, pad: (tokens != pad) & (tokens != 1)),
        tokens_kept(steps, lambda tokens, pad: (tokens != pad) & (tokens > 2)),
        tokens_kept(steps, lambda tokens, _pad: tokens > 2),
    ]


@mistake(
    "padding-only-at-end",
    "PAD is assumed to be at the end only: the mask is computed from the number of tokens, or masks "
    "everything after the first PAD (or allows everything up to the last token). PAD may be anywhere.",
    formula=PADDING,
    hint="Try [[0, 5, 8]]: which position is masked?",
    source="bentrevett/pytorch-seq2seq#96",
)
def padding_only_at_end(steps: Steps) -> list[Steps]:
    def by_length(tokens: Tensor, pad: int) -> Tensor:
        return torch.arange(tokens.size(1), device=ASKED_FOR) < (tokens != pad).sum(1, keepdim=True)

    def to_first_pad(tokens: Tensor, pad: int) -> Tensor:
        return (tokens == pad).cumsum(1) == 0

    def to_last_token(tokens: Tensor, pad: int) -> Tensor:
        return (tokens != pad).flip(1).cumsum(1).flip(1) > 0

    return [tokens_kept(steps, keep) for keep in (by_length, to_first_pad, to_last_token)]


@mistake(
    "padding-off-by-one",
    "The padding mask is off by one: it masks the last token, or allows the first PAD.",
    formula=PADDING,
    hint="Is it < or <= in the comparison of positions with a length?",
)
def padding_off_by_one(steps: Steps) -> list[Steps]:
    def by_length(extra: int) -> Callable[[Tensor, int], Tensor]:
        return lambda tokens, pad: (
            torch.arange(tokens.size(1), device=ASKED_FOR) < (tokens != pad).sum(1, keepdim=True) + extra
        )

    def shifted(by: int) -> Callable[[Tensor, int], Tensor]:
        return lambda tokens, pad: (tokens != pad).roll(by, 1)

    return [tokens_kept(steps, keep) for keep in (by_length(1), by_length(-1), shifted(1), shifted(-1))]


@mistake(
    "padding-on-query-axis",
    "The padding mask is along the queries (the third dimension), not along the keys (the last). It masks "
    "the rows of the padded queries, and all other queries still attend to the padded keys.",
    formula="padding_mask [B, 1, 1, T]: the last dimension is the keys",
    hint="Which dimension of [B, H, Tq, Tk] is the keys?",
    source="bentrevett/pytorch-seq2seq#96",
)
def padding_on_query_axis(steps: Steps) -> list[Steps]:
    return [
        in_padding(steps, lambda m: m.mT),
        only_in_decoder(steps, lambda tokens, pad: steps.padding(tokens, pad).mT),
    ]


@mistake(
    "padded-queries-hidden",
    "The rows of padded queries are masked. Padding masks only keys: a PAD that is a query keeps its row, "
    "and its output is ignored later.",
    formula="decoder_mask [B, 1, T, T]: causal AND key padding",
    hint="For tokens [[5, 8, 0]], which keys may the third query attend to?",
    source="hyunwoongko/transformer#40",
)
def padded_queries_hidden(steps: Steps) -> list[Steps]:
    return [
        in_padding(steps, lambda m: m & m.mT),
        only_in_decoder(steps, lambda tokens, pad: steps.padding(tokens, pad) & padding(tokens, pad).mT),
    ]


@mistake(
    "sentences-mixed-up",
    "One sentence's padding is used for the whole batch. Sentences differ in length, so each needs its own "
    "mask.",
    formula="padding_mask [B, 1, 1, T]",
    hint="Try two sentences of different length. Does each get its own mask?",
)
def sentences_mixed_up(steps: Steps) -> list[Steps]:
    ways: tuple[Callable[[Tensor], Tensor], ...] = (
        lambda m: m[:1],
        lambda m: m[:1].expand_as(m),
        lambda m: m.all(0, keepdim=True),
        lambda m: m.any(0, keepdim=True),
        lambda m: m.all(0, keepdim=True).expand_as(m),
        lambda m: m.any(0, keepdim=True).expand_as(m),
    )
    return [*(in_padding(steps, way) for way in ways), in_decoder(steps, lambda m: m[:1])]


@mistake(
    "padding-missing",
    "Padding is not masked at all: every key may be attended to, including PAD.",
    formula="padding_mask = (tokens != pad); decoder_mask = causal AND padding",
    hint="If PAD is appended to a sentence, should the result for its tokens change?",
    source="DaoyuanLi2816/Molecule-Generator#22",
)
def padding_missing(steps: Steps) -> list[Steps]:
    return [
        in_padding(steps, torch.ones_like),
        only_in_decoder(steps, lambda tokens, pad: torch.ones_like(padding(tokens, pad))),
        replace(steps, join=lambda causal, _padding: causal),
    ]
