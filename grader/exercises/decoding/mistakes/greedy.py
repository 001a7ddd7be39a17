"""Mistakes of greedy decoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from grader.api import Collection
from grader.exercises.decoding.mistakes.common import RESULT
from grader.exercises.decoding.reference import Request, Rows, Steps

mistake: Collection[Steps] = Collection(("greedy_decode",))


def whole(_request: Request, ids: Sequence[int]) -> list[int]:
    """Everything after SOS, what comes after EOS too."""
    return list(ids)[1:]


@mistake(
    "eos-not-obeyed",
    "EOS is ignored: every row continues to max_len, with ids after its EOS (or until all rows happen to "
    "produce EOS in the same step).",
    formula=RESULT,
    hint="What must be remembered about a row that has brought EOS?",
)
def eos_not_obeyed(steps: Steps) -> list[Steps]:
    def together(request: Request, tokens: Tensor) -> bool:
        return bool((tokens[:, -1] == request.eos).all())

    return [
        replace(steps, cut=whole, over=lambda _request, _tokens: False),
        replace(steps, cut=whole, over=together),
    ]


@mistake(
    "ids-after-eos",
    "The batch stops when all rows have ended, but a row that ended before the others continues until then: "
    "its EOS is followed by ids, where PAD should be.",
    formula=RESULT,
    hint="What is appended to a row that has ended while others continue?",
)
def ids_after_eos(steps: Steps) -> Steps:
    return replace(steps, cut=whole)


@mistake(
    "ended-flag-forgotten",
    "A row counts as ended for one step only: the flag is computed from the newest ids only, and the row "
    "continues after a single PAD. Once ended, a row stays ended.",
    formula="ended = ended | (chosen == eos)",
    hint="What happens to the flag in the step after EOS?",
)
def ended_flag_forgotten(steps: Steps) -> Steps:
    def fill(request: Request, tokens: Tensor, chosen: Tensor) -> Tensor:
        return chosen.masked_fill(tokens[:, -1] == request.eos, request.pad)

    def together(request: Request, tokens: Tensor) -> bool:
        return bool((tokens[:, -1] == request.eos).all())

    return replace(steps, fill=fill, cut=whole, over=together)


@mistake(
    "stops-with-first-row",
    "Decoding stops for the whole batch as soon as one row (any, or the first) brings EOS: rows that have not ended by "
    "then are cut off, and a row that ended earlier may go on behind its EOS.",
    formula="stop when every row has ended, or at max_len",
    hint="any or all? And which rows are looked at?",
)
def stops_with_first_row(steps: Steps) -> list[Steps]:
    overs: tuple[Callable[[Request, Tensor], bool], ...] = (
        lambda request, tokens: bool((tokens[:, -1] == request.eos).any()),
        lambda request, tokens: bool(tokens[0, -1] == request.eos),
        lambda request, tokens: bool(tokens[-1, -1] == request.eos),
    )
    return [replace(steps, over=over, cut=cut) for over in overs for cut in (steps.cut, whole)]


@mistake(
    "argmin-in-place-of-argmax",
    "The least likely id is taken (argmin); the likeliest is the one with the largest logit.",
    formula="next id = argmax over V of logits[:, -1]",
    hint="Is a larger logit more or less likely?",
)
def argmin(steps: Steps) -> Steps:
    return replace(steps, pick=lambda logits: logits.argmin(-1))


@mistake(
    "sampled-in-place-of-argmax",
    "The next id is drawn by chance (multinomial): equal calls give different results. Greedy decoding takes the "
    "likeliest.",
    formula="next id = argmax over V of logits[:, -1]",
    hint="Call it twice.",
    source="karpathy/minGPT#10",
)
def sampled(steps: Steps) -> Steps:
    return replace(steps, pick=lambda logits: torch.multinomial(logits.double().softmax(-1), 1)[:, 0])


@mistake(
    "second-best-taken",
    "Not the likeliest id is taken but the next one (topk or sort with the wrong index).",
    formula="next id = argmax over V of logits[:, -1]",
    hint="At which place of the sorted logits is the largest?",
)
def second_best(steps: Steps) -> Steps:
    return replace(steps, pick=lambda logits: logits.topk(2).indices[:, 1])


@mistake(
    "pad-excluded-wrongly",
    "An id is found in logits from which the first columns were cut off, so that every id is too small.",
    formula="next id = argmax over V of logits[:, -1]",
    hint="If column 0 is cut off, which id does index 0 refer to?",
)
def pad_excluded(steps: Steps) -> list[Steps]:
    return [
        replace(steps, pick=lambda logits: logits[:, 1:].argmax(-1)),
        replace(steps, pick=lambda logits: logits[:, 2:].argmax(-1)),
    ]


@mistake(
    "one-pass-only",
    "The model is run once, over the source in place of the prefix, and the likeliest id of every position is taken. "
    "Decoding goes step by step: each id is chosen after those before it.",
    formula="y_t = argmax of decode(SOS y_1 ... y_{t-1}, memory, src)[:, -1]",
    hint="What does the model know of the first id when it gives the second?",
)
def one_pass_only(steps: Steps) -> list[Steps]:
    def give(
        *, start: bool, cut: Callable[[Request, Sequence[int]], list[int]]
    ) -> Callable[[Request, Rows], object]:
        @torch.no_grad()
        def once(request: Request, _rows: Rows) -> object:
            tokens = request.src
            if start:
                tokens = torch.cat([torch.full_like(tokens[:, :1], request.sos), tokens], 1)  # [B, S + 1]
            ids = request.model(request.src, tokens).argmax(-1)[:, : request.max_len]
            return steps.give(request, [cut(request, [request.sos, *row]) for row in ids.tolist()])

        return once

    return [
        replace(steps, give=give(start=start, cut=cut))
        for start in (False, True)
        for cut in (steps.cut, whole)
    ]


MISTAKES = tuple(mistake.mistakes)
