"""Mistakes that can be made in greedy decoding and in beam search."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import Tensor

from grader.api import Collection
from grader.exercises.decoding.reference import Request, Rows, Steps, padded

mistake: Collection[Steps] = Collection()
MISTAKES = mistake.mistakes
RESULT = "result: the generated ids without SOS, with EOS, then PAD"


@mistake(
    "sos-in-result",
    "The result starts with SOS, which is the decoder's first input and not generated. Leave it out.",
    formula=RESULT,
    hint="Which column was not chosen by the model?",
)
def sos_in_result(steps: Steps) -> list[Steps]:
    def give(request: Request, rows: Rows) -> object:
        return steps.give(request, [[request.sos, *row] for row in rows])

    def give_all(request: Request, rows: Rows) -> object:
        """Columns for `max_len` ids were made at the beginning."""
        return give(request, [[*row, *[request.pad] * (request.max_len - len(row))] for row in rows])

    return [
        replace(steps, give=give),
        replace(steps, give=give, request=lambda r: replace(r, max_len=r.max_len - 1)),
        replace(steps, give=give_all),
    ]


@mistake(
    "eos-cut-off",
    "EOS is missing from the result: it is removed, or replaced by PAD. A row must end with its EOS.",
    formula=RESULT,
    hint="In which order do you mark a row as ended and fill in PAD?",
)
def eos_cut_off(steps: Steps) -> Steps:
    def give(request: Request, rows: Rows) -> object:
        return steps.give(request, [[i for i in row if i != request.eos] for row in rows])

    return replace(steps, give=give)


@mistake(
    "eos-in-place-of-pad",
    "After its EOS, a row is filled with EOS; it must be filled with PAD.",
    formula=RESULT,
    hint="Which id fills a row that has ended?",
)
def eos_in_place_of_pad(steps: Steps) -> Steps:
    return replace(steps, give=lambda request, rows: padded(request, rows, request.eos))


@mistake(
    "max-len-off-by-one",
    "A row that never ends has one id too many or too few. max_len counts the generated ids, without SOS.",
    formula="at most max_len generated ids",
    hint="How often does the loop run, and what does the tensor contain before it starts?",
)
def max_len_off_by_one(steps: Steps) -> list[Steps]:
    return [
        replace(steps, request=lambda r: replace(r, max_len=r.max_len - 1)),
        replace(steps, request=lambda r: replace(r, max_len=r.max_len + 1)),
    ]


@mistake(
    "special-ids-hard-coded",
    "The ids of SOS, EOS and PAD are hard-coded as 1, 2 and 0; the arguments sos, eos and pad are not used "
    "everywhere.",
    hint="Search the function for the digits 0, 1 and 2.",
)
def special_ids_hard_coded(steps: Steps) -> list[Steps]:
    def fixed(**ids: int) -> Steps:
        return replace(steps, request=lambda r: replace(r, **ids))  # type: ignore[arg-type]

    return [fixed(sos=1), fixed(eos=2), fixed(pad=0), fixed(sos=1, eos=2), fixed(sos=1, eos=2, pad=0)]


@mistake(
    "logits-of-first-position",
    "The next id is chosen from the logits of the first position, or the model gets SOS alone at every "
    "step. The logits at position t predict the token after t, so use those of the last position.",
    formula="next id from logits[:, -1]",
    hint="Which of the L rows of logits depends on the whole prefix?",
)
def logits_of_first_position(steps: Steps) -> Steps:
    return replace(steps, look=lambda logits: logits[:, 0])


@mistake(
    "low-precision",
    "Logits or log-probabilities are rounded, to half precision for example: ids with almost equal "
    "probabilities become equal, and the wrong one is chosen.",
    hint="Search for half, bfloat16, float16, autocast and round.",
)
def low_precision(steps: Steps) -> list[Steps]:
    def half(x: Tensor) -> Tensor:
        return x.half().to(x.dtype)

    def short(x: Tensor) -> Tensor:
        return x.bfloat16().to(x.dtype)

    return [
        replace(steps, look=lambda logits: half(steps.look(logits))),
        replace(steps, look=lambda logits: short(steps.look(logits))),
        replace(steps, rate=lambda logits: half(steps.rate(logits))),
        replace(steps, rate=lambda logits: short(steps.rate(logits))),
        replace(steps, pick=lambda logits: steps.pick(half(logits.softmax(-1)))),
    ]


@mistake(
    "prefix-not-handed-over",
    "The model gets the last id alone, not all ids generated so far. Without a cache it needs the whole "
    "prefix at each step.",
    formula="decode(SOS y1 ... yt, memory, src)",
    hint="Print the shape of the ids that decode gets at each step.",
)
def prefix_not_handed_over(steps: Steps) -> list[Steps]:
    def only(part: slice) -> Steps:
        def ask(request: Request, tokens: Tensor, memory: Tensor, src: Tensor) -> Tensor:
            return steps.ask(request, tokens[:, part], memory, src)

        return replace(steps, ask=ask)

    return [only(slice(-1, None)), only(slice(-2, None))]


@mistake(
    "source-and-target-swapped",
    "The model is called with source and target swapped: forward is model(src, tgt), decode is "
    "model.decode(tgt, memory, src).",
    formula="logits = model(src, tgt)",
    hint="Compare the order of the arguments with the model's own signature.",
)
def source_and_target_swapped(steps: Steps) -> Steps:
    def ask(request: Request, tokens: Tensor, _memory: Tensor, src: Tensor) -> Tensor:
        logits: Tensor = request.model(tokens, src)
        return logits

    return replace(steps, ask=ask)


@mistake(
    "gradients-recorded",
    "Gradients are recorded during decoding, which needs none and pays for them in memory and time. Use "
    "torch.no_grad() for the whole call.",
    hint="encode runs the model too.",
)
def gradients_recorded(steps: Steps) -> Steps:
    return replace(steps, recording=nullcontext)


@mistake(
    "mode-left-changed",
    "The model is in train mode after the call, although it was in eval mode before: later decoding or "
    "evaluation runs with dropout.",
    hint="Store model.training before, and restore it afterwards.",
    source="ipolharvard/ethos-ares#20",
)
def mode_left_changed(steps: Steps) -> Steps:
    return replace(steps, leave=lambda request: request.model.train())


@mistake(
    "one-sentence-only",
    "The code works for a batch of one sentence only: a tensor of B values is used as a single value "
    "(.item(), int(...), or `if` on it).",
    formula="src [B, S] -> ids [B, <= max_len]",
    hint="Which line works for a single value only?",
)
def one_sentence_only(steps: Steps) -> Steps:
    def give(request: Request, rows: Rows) -> object:
        if len(rows) > 1:
            raise RuntimeError("a Tensor with several elements cannot be converted to Scalar")
        return steps.give(request, rows)

    return replace(steps, give=give)


@mistake(
    "first-sentence-only",
    "Only the first sentence of the batch is decoded: the result has one row, or every row is that of the "
    "first sentence.",
    formula="src [B, S] -> ids [B, <= max_len]",
    hint="Which index do you use for the batch?",
)
def first_sentence_only(steps: Steps) -> list[Steps]:
    return [
        replace(steps, give=lambda request, rows: steps.give(request, rows[:1])),
        replace(steps, give=lambda request, rows: steps.give(request, rows[:1]).squeeze(0)),
        replace(steps, give=lambda request, rows: steps.give(request, [rows[0]] * len(rows))),
        replace(steps, look=lambda logits: steps.look(logits)[:1].expand(logits.size(0), -1)),
    ]


@mistake(
    "list-returned",
    "A Python list is returned; return one tensor of ids [B, <= max_len].",
    formula="src [B, S] -> ids [B, <= max_len]",
    hint="Fill rows of different lengths with PAD to make one tensor.",
)
def list_returned(steps: Steps) -> list[Steps]:
    return [
        replace(steps, give=lambda request, rows: steps.give(request, rows).tolist()),
        replace(steps, give=lambda request, rows: list(steps.give(request, rows))),
    ]


@mistake(
    "result-transposed",
    "The result is [L, B]: the steps are stacked along the first dimension, which must be the batch.",
    formula="src [B, S] -> ids [B, <= max_len]",
    hint="torch.stack(ids, dim=?)",
    source="batch_first confusion: DaoyuanLi2816/Molecule-Generator#22",
)
def result_transposed(steps: Steps) -> Steps:
    return replace(steps, give=lambda request, rows: steps.give(request, rows).T)


@mistake(
    "ids-not-int64",
    "The ids are floats or another integer dtype; they must be int64, like src.",
    formula="src [B, S] -> ids [B, <= max_len]",
    hint="torch.zeros and torch.ones make floats unless a dtype is given.",
)
def ids_not_int64(steps: Steps) -> list[Steps]:
    return [
        replace(steps, give=lambda request, rows: steps.give(request, rows).float()),
        replace(steps, give=lambda request, rows: steps.give(request, rows).int()),
        replace(steps, give=lambda request, rows: steps.give(request, rows).double()),
    ]


@mistake(
    "source-changed",
    "src is modified in place; the caller still uses it.",
    hint="Operators such as += and methods that end in _ work in place, and so do assignments to src[...].",
)
def source_changed(steps: Steps) -> list[Steps]:
    def give(request: Request, rows: Rows) -> object:
        request.src.fill_(request.pad)
        return steps.give(request, rows)

    def last(request: Request, rows: Rows) -> object:
        request.src[:, -1] = request.eos
        return steps.give(request, rows)

    return [replace(steps, give=give), replace(steps, give=last)]


@mistake.fixed_device()
def device_hard_coded(steps: Steps) -> list[Steps]:
    def give(request: Request, rows: Rows) -> object:
        return torch.tensor(steps.give(request, rows).tolist())

    def ask(request: Request, tokens: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        return steps.ask(request, torch.tensor(tokens.tolist()), memory, src)

    return [replace(steps, give=give), replace(steps, ask=ask)]
