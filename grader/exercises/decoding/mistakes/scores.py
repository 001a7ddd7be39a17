"""Mistakes of beam search: its scores, the length penalty, and what comes back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from grader.api import Collection
from grader.exercises.decoding.reference import Beam, Request, Steps, penalty

mistake: Collection[Steps] = Collection(("beam_search",))
MISTAKES = mistake.mistakes
SCORE = "score = sum of log p(y_t | y_<t) / ((5 + n) / 6)^length_penalty"
PAPER = "Wu et al. 2016, section 7"


@mistake(
    "logits-summed",
    "The logits are summed instead of log-probabilities. Logits are not normalized (log_softmax does "
    "that), so sums of different prefixes cannot be compared.",
    formula=SCORE,
    hint="Do the exponentials of what you sum add up to 1 in each step?",
    source=PAPER,
)
def logits_summed(steps: Steps) -> Steps:
    return replace(steps, rate=lambda logits: logits)


@mistake(
    "probabilities-summed",
    "Probabilities are summed; their logarithms must be.",
    formula=SCORE,
    hint="Is the probability of two ids in sequence the sum of their probabilities?",
    source=PAPER,
)
def probabilities_summed(steps: Steps) -> Steps:
    return replace(steps, rate=lambda logits: logits.softmax(-1))


@mistake(
    "probabilities-multiplied",
    "The product of the probabilities is divided by the length penalty, not the sum of their logarithms. "
    "The order differs: a log-probability is negative, so the penalty makes long results better; it makes "
    "a probability smaller.",
    formula=SCORE,
    hint="What does dividing by a number above 1 do to 0.2, and what to -1.6?",
    source=PAPER,
)
def probabilities_multiplied(steps: Steps) -> Steps:
    return replace(steps, final=lambda divisor, score: math.exp(score) / divisor)


@mistake(
    "length-penalty-missing",
    "The sum is not divided by the length penalty, so short results win: every further id makes a sum of "
    "log-probabilities smaller.",
    formula=SCORE,
    hint="Where is length_penalty used?",
    source=PAPER,
)
def length_penalty_missing(steps: Steps) -> Steps:
    return replace(steps, penalty=lambda _request, _n: 1.0)


@mistake(
    "length-penalty-repeated",
    "The score after the length penalty is kept and added to, so that a result is divided at every step. Keep the "
    "sum of log-probabilities; divide it only to choose.",
    formula=SCORE,
    hint="By what is the first log-probability of a result of three ids divided in the end?",
    source=PAPER,
)
def length_penalty_repeated(steps: Steps) -> Steps:
    def extend(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
        return [
            one
            if one.ended and one in beam
            else one._replace(score=one.score / steps.penalty(request, len(one.ids) - 1))
            for one in steps.extend(request, beam, chances)
        ]

    return replace(steps, extend=extend, final=lambda _divisor, score: score)


@mistake(
    "length-penalty-multiplied",
    "The sum is multiplied by the length penalty (or divided by it with the opposite exponent), which "
    "favors short results even more.",
    formula=SCORE,
    hint="Should the penalty make a longer result better or worse?",
    source=PAPER,
)
def length_penalty_multiplied(steps: Steps) -> Steps:
    return replace(steps, penalty=lambda request, n: 1 / steps.penalty(request, n))


@mistake(
    "length-penalty-fixed",
    "The argument length_penalty is ignored: a fixed value is used (0.6 or 1).",
    formula=SCORE,
    hint="What changes with length_penalty=2?",
    source=PAPER,
)
def length_penalty_fixed(steps: Steps) -> list[Steps]:
    return [
        replace(steps, penalty=lambda request, n: steps.penalty(replace(request, length_penalty=0.6), n)),
        replace(steps, penalty=lambda request, n: steps.penalty(replace(request, length_penalty=1.0), n)),
    ]


@mistake(
    "length-counted-wrong",
    "n in the length penalty is off by one: it is the number of generated ids, with EOS and without SOS.",
    formula=SCORE,
    hint="What is n for a result of EOS alone?",
    source=PAPER,
)
def length_counted_wrong(steps: Steps) -> list[Steps]:
    return [
        replace(steps, penalty=lambda request, n: steps.penalty(request, n - 1)),
        replace(steps, penalty=lambda request, n: steps.penalty(request, n + 1)),
    ]


@mistake(
    "other-length-penalty",
    "The length penalty has another formula, such as n^length_penalty or n * length_penalty; it must be "
    "((5 + n) / 6)^length_penalty.",
    formula=SCORE,
    hint="What is the penalty for n=1, whatever the exponent?",
    source=PAPER,
)
def other_length_penalty(steps: Steps) -> list[Steps]:
    formulas: tuple[Callable[[Request, int], float], ...] = (
        lambda request, n: float(n**request.length_penalty),
        lambda _request, n: float(n),
        lambda request, n: n * request.length_penalty or 1.0,
        lambda request, n: (5 + n) / 6 * request.length_penalty or 1.0,
        lambda request, n: penalty(request, n) + n,
    )
    return [replace(steps, penalty=formula) for formula in formulas]


@mistake(
    "worst-returned",
    "The worst hypothesis of the beam is returned; return the one with the highest score.",
    formula=SCORE,
    hint="Log-probabilities are negative: is the best the largest or the smallest?",
)
def worst_returned(steps: Steps) -> list[Steps]:
    def last(beam: Beam, finished: Beam) -> Beam:
        return steps.candidates(beam, finished)[-1:]

    return [replace(steps, choose=lambda scores: scores.index(min(scores))), replace(steps, candidates=last)]


@mistake(
    "worst-kept",
    "At every step the hypotheses with the lowest sums are kept (sorted in the wrong order, or topk with "
    "largest=False).",
    formula="keep the `beam` best",
    hint="Log-probabilities are negative: is the best the largest or the smallest?",
    source="karpathy/minGPT#10",
)
def worst_kept(steps: Steps) -> Steps:
    def prune(_request: Request, hypotheses: Beam, count: int) -> Beam:
        return sorted(hypotheses, key=lambda one: one.score)[:count]

    return replace(steps, prune=prune)


@mistake(
    "all-hypotheses-returned",
    "The whole beam of each sentence is returned; return only the best hypothesis.",
    formula="src [B, S] -> ids [B, <= max_len]",
    hint="How many rows does the result have for a batch of one?",
)
def all_hypotheses_returned(steps: Steps) -> list[Steps]:
    return [
        replace(steps, present=lambda request, ids: ids[:, None].expand(-1, request.beam, -1).clone()),
        replace(steps, present=lambda request, ids: ids.repeat_interleave(request.beam, 0)),
    ]
