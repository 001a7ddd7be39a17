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
MISTAKES = mistake.mistakes


def whole(_request: Request, ids: Sequence[int]) -> list[int]:
    """Everything after SOS, what comes after EOS too."""
    return list(ids)[1:]


@mistake(
    "eos-not-obeyed",
    "EOS is ignored: every row continues to max_len, with ids after its EOS (or until all rows happen to "
    "generate EOS in the same step).",
    formula=RESULT,
    hint="What do you store about a row that has generated EOS?",
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
    "The batch stops when all rows have ended, but a row that ended earlier is continued until then: its "
    "EOS is followed by ids instead of PAD.",
    formula=RESULT,
    hint="What is appended to a row that has ended while others continue?",
)
def ids_after_eos(steps: Steps) -> Steps:
    return replace(steps, cut=whole)


@mistake(
    "ended-flag-forgotten",
    "A row counts as ended for one step only: whether it has ended is computed from the newest ids alone, "
    "so it continues after a single PAD. Once ended, a row stays ended.",
    formula="ended = ended | (chosen == eos)",
    hint="What does your code know, in the second step after EOS, about that row?",
)
def ended_flag_forgotten(steps: Steps) -> Steps:
    def fill(request: Request, tokens: Tensor, chosen: Tensor) -> Tensor:
        return chosen.masked_fill(tokens[:, -1] == request.eos, request.pad)

    def together(request: Request, tokens: Tensor) -> bool:
        return bool((tokens[:, -1] == request.eos).all())

    return replace(steps, fill=fill, cut=whole, over=together)


@mistake(
    "stops-with-first-row",
    "Decoding stops for the whole batch as soon as one row (any, or the first) generates EOS: rows that "
    "have not ended are cut off, and a row that ended earlier may continue after its EOS.",
    formula="stop when every row has ended, or at max_len",
    hint="any or all? And which rows are checked?",
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
    "The least probable id is chosen (argmin); the most probable one has the largest logit.",
    formula="next id = argmax over V of logits[:, -1]",
    hint="Does a larger logit mean more or less probable?",
)
def argmin(steps: Steps) -> Steps:
    return replace(steps, pick=lambda logits: logits.argmin(-1))


@mistake(
    "sampled-in-place-of-argmax",
    "The next id is sampled (multinomial), so equal calls give different results. Greedy decoding chooses "
    "the most probable id.",
    formula="next id = argmax over V of logits[:, -1]",
    hint="Call it twice.",
    source="karpathy/minGPT#10",
)
def sampled(steps: Steps) -> Steps:
    return replace(steps, pick=lambda logits: torch.multinomial(logits.double().softmax(-1), 1)[:, 0])


@mistake(
    "second-best-taken",
    "The second most probable id is chosen instead of the most probable one (topk or sort with the wrong "
    "index).",
    formula="next id = argmax over V of logits[:, -1]",
    hint="At which index of the sorted logits is the largest?",
)
def second_best(steps: Steps) -> Steps:
    return replace(steps, pick=lambda logits: logits.topk(2).indices[:, 1])


@mistake(
    "pad-excluded-wrongly",
    "The first columns of the logits are removed before the argmax, so every id is too small.",
    formula="next id = argmax over V of logits[:, -1]",
    hint="If column 0 is removed, which id is at index 0?",
)
def pad_excluded(steps: Steps) -> list[Steps]:
    return [
        replace(steps, pick=lambda logits: logits[:, 1:].argmax(-1)),
        replace(steps, pick=lambda logits: logits[:, 2:].argmax(-1)),
    ]


@mistake(
    "one-pass-only",
    "The model is run once, on the source instead of the prefix, and the most probable id of every "
    "position is taken. Decoding must go step by step: each id depends on those before it.",
    formula="y_t = argmax of decode(SOS y_1 ... y_{t-1}, memory, src)[:, -1]",
    hint="What does the model know about the first id when it chooses the second?",
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
