"""Mistakes in the decoder's input, and in which logits are compared with which ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.loss.mistakes.collection import SHIFT, mistake
from grader.exercises.loss.reference import Steps


def shifts(steps: Steps, *ways: Callable[[Tensor, int], Tensor]) -> list[Steps]:
    """Other inputs of the decoder."""
    return [replace(steps, shift=way) for way in ways]


def first(target: Tensor, id: int) -> Tensor:
    """A column [B, 1] of one id."""
    return torch.full_like(target[:, :1], id)


@mistake(
    "not-shifted",
    "The tokens are not shifted (the first may be replaced by SOS). A decoder that sees the token it "
    "should predict learns to copy it: the loss goes to 0, and it cannot generate text.",
    formula=SHIFT,
    hint="What is the decoder's input at position 0?",
    source="Project-MONAI/GenerativeModels#314",
)
def not_shifted(steps: Steps) -> list[Steps]:
    def sos_over_first(target: Tensor, sos: int) -> Tensor:
        return torch.cat([first(target, sos), target[:, 1:]], 1)

    return shifts(steps, lambda target, _sos: target.clone(), sos_over_first)


@mistake(
    "shifted-left",
    "The target is shifted to the left: each position sees the token after the one that it should predict.",
    formula=SHIFT,
    hint="Which token may position 1 see: the one before token 1, or the one after it?",
    source="Kyubyong/transformer#94",
)
def shifted_left(steps: Steps) -> list[Steps]:
    return shifts(
        steps,
        lambda target, sos: torch.cat([target[:, 1:], first(target, sos)], 1),
        lambda target, _sos: torch.cat([target[:, 1:], first(target, 0)], 1),
        lambda target, _sos: torch.cat([target[:, 1:], first(target, 2)], 1),
        lambda target, _sos: target.roll(-1, 1),
        lambda target, _sos: target[:, 1:],
    )


@mistake(
    "shifted-twice",
    "The target is shifted two positions to the right; one is right.",
    formula=SHIFT,
    hint="Where is the first token of the target?",
    source="bentrevett/pytorch-seq2seq#178",
)
def shifted_twice(steps: Steps) -> Steps:
    return replace(steps, shift=lambda target, sos: steps.shift(steps.shift(target, sos), sos))


@mistake(
    "last-token-wraps",
    "The last token moves to the front (roll), where SOS belongs.",
    formula=SHIFT,
    hint="What is in the first column?",
)
def last_token_wraps(steps: Steps) -> list[Steps]:
    return shifts(steps, lambda target, _sos: target.roll(1, 1))


@mistake(
    "sos-missing",
    "The first id is PAD (or another id), not SOS.",
    formula=SHIFT,
    hint="What is in the first column?",
)
def sos_missing(steps: Steps) -> list[Steps]:
    return shifts(
        steps,
        lambda target, _sos: torch.cat([first(target, 0), target[:, :-1]], 1),
        lambda target, _sos: torch.cat([first(target, 2), target[:, :-1]], 1),
    )


@mistake(
    "input-longer-than-target",
    "The decoder's input is one token longer than the target: the last column must be dropped, since no "
    "token follows it.",
    formula=SHIFT,
    hint="Compare the shapes of the input and the output.",
)
def input_longer_than_target(steps: Steps) -> list[Steps]:
    return shifts(steps, lambda target, sos: torch.cat([first(target, sos), target], 1))


@mistake(
    "input-shorter-than-target",
    "The decoder's input is one token shorter than the target: SOS is missing at the start.",
    formula=SHIFT,
    hint="Compare the shapes of the input and the output.",
    source="bentrevett/pytorch-seq2seq#178",
)
def input_shorter_than_target(steps: Steps) -> list[Steps]:
    return shifts(
        steps,
        lambda target, _sos: target[:, :-1],
        lambda target, sos: torch.cat([first(target, sos), target[:, 1:-1]], 1),
    )


@mistake(
    "sos-argument-ignored",
    "The argument `sos` is ignored: the first id is always 1.",
    formula=SHIFT,
    hint="Try sos=5.",
)
def sos_argument_ignored(steps: Steps) -> Steps:
    return replace(steps, shift=lambda target, _sos: steps.shift(target, 1))


@mistake(
    "last-real-token-dropped",
    "EOS (or the last token that is not PAD) is removed from the decoder's input. Drop only the last "
    "column; all other ids stay, including EOS and PAD.",
    formula=SHIFT,
    hint="Write down the result for [[4, 3, 2, 0]].",
)
def last_real_token_dropped(steps: Steps) -> list[Steps]:
    def without_eos(target: Tensor, sos: int) -> Tensor:
        return steps.shift(target.masked_fill(target == 2, 0), sos)  # type: ignore[no-any-return]

    def without_last(target: Tensor, sos: int) -> Tensor:
        later = (target != 0).flip(1).cumsum(1).flip(1)
        return steps.shift(target.masked_fill(later == 1, 0), sos)  # type: ignore[no-any-return]

    return shifts(steps, without_eos, without_last)


@mistake(
    "shifted-along-batch",
    "The rows are shifted instead of the columns: sentences move to the next row, where tokens must move "
    "one position to the right.",
    formula=SHIFT,
    hint="Which dimension of [B, L] is the length?",
)
def shifted_along_batch(steps: Steps) -> list[Steps]:
    return shifts(
        steps,
        lambda target, sos: torch.cat([torch.full_like(target[:1], sos), target[:-1]], 0),
        lambda target, _sos: target.roll(1, 0),
    )


@mistake(
    "wraps-over-sentences",
    "The ids are shifted as one long row, so the last token of a sentence becomes the first of the next.",
    formula=SHIFT,
    hint="Try a batch of two sentences. What is in the first column of the second?",
)
def wraps_over_sentences(steps: Steps) -> list[Steps]:
    def rolled(target: Tensor, sos: int) -> Tensor:
        moved = target.flatten().roll(1)
        moved[0] = sos
        return moved.view_as(target)

    return shifts(steps, rolled, lambda target, _sos: target.roll(1))


@mistake(
    "ids-of-another-dtype",
    "The dtype of the ids differs from that of the target; it must stay the same, since embeddings need "
    "integers.",
    formula="same dtype and device as the target",
    hint="What dtype does torch.ones have, and what is the result of concatenating it with int64?",
)
def ids_of_another_dtype(steps: Steps) -> list[Steps]:
    return shifts(
        steps,
        lambda target, sos: steps.shift(target, sos).float(),
        lambda target, sos: steps.shift(target, sos).long(),
        lambda target, sos: steps.shift(target, sos).int(),
    )


@mistake(
    "loss-shifts-again",
    "The loss shifts again: it drops a column and compares neighbors. The decoder's input is shifted "
    "already, so the logits at position i belong to token i.",
    formula="logits [B, L, V] against target [B, L], position by position",
    hint="How many tokens are compared, and how many are there?",
    source="huggingface/transformers, models that shift inside the loss",
)
def loss_shifts_again(steps: Steps) -> list[Steps]:
    return [
        replace(steps, align=lambda logits, target: (logits[:, :-1], target[:, 1:])),
        replace(steps, align=lambda logits, target: (logits[:, 1:], target[:, :-1])),
        replace(steps, align=lambda logits, target: (logits[:, 1:], target[:, 1:])),
        replace(steps, align=lambda logits, target: (logits[:, :-1], target[:, :-1])),
        replace(steps, align=lambda logits, target: (logits, steps.shift(target, 1))),
    ]


@mistake(
    "places-mixed-up",
    "Logits and target are not in the same order: a reshape makes the sizes fit but mixes positions and "
    "vocabulary (view to [B, V, L], or a transpose of only one of the two).",
    formula="logits [B * L, V] and target [B * L], or [B, V, L] and [B, L]",
    hint="view and reshape keep the order of the elements in memory; transpose swaps dimensions.",
    source="PyTorch, torch.nn.functional.cross_entropy",
)
def places_mixed_up(steps: Steps) -> list[Steps]:
    def as_ids_second(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        batch, length, vocab = logits.shape
        return logits.reshape(batch, vocab, length).transpose(1, 2), target

    def batch_and_length(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return logits.transpose(0, 1).reshape(logits.shape), target

    def target_turned(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return logits, target.T.reshape(target.shape)

    def ids_first(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return logits.transpose(1, 2).reshape(logits.shape), target

    return [replace(steps, align=way) for way in (as_ids_second, batch_and_length, target_turned, ids_first)]
