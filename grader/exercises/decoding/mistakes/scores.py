"""Mistakes of beam search: its scores, the length penalty, and what comes back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from grader.api import Collection
from grader.exercises.decoding.reference import Beam, Request, Steps, penalty

mistake: Collection[Steps] = Collection(("beam_search",))
SCORE = "score = sum of log p(y_t | y_<t) / ((5 + n) / 6)^length_penalty"
PAPER = "Wu et al. 2016, section 7"


@mistake(
    "logits-summed",
    "The logits themselves are added up. They are no log-probabilities until log_softmax has been applied, and differ "
    "by an unknown amount from prefix to prefix.",
    formula=SCORE,
    hint="Do the exponentials of what you add up sum to 1?",
    source=PAPER,
)
def logits_summed(steps: Steps) -> Steps:
    return replace(steps, rate=lambda logits: logits)


@mistake(
    "probabilities-summed",
    "Probabilities are added up; what is added up are their logarithms.",
    formula=SCORE,
    hint="Is the probability of two ids in a row the sum of theirs?",
    source=PAPER,
)
def probabilities_summed(steps: Steps) -> Steps:
    return replace(steps, rate=lambda logits: logits.softmax(-1))


@mistake(
    "probabilities-multiplied",
    "The probabilities are multiplied and their product is divided by the length penalty. That is another order than "
    "that of the logarithms: a log-probability is negative, so that dividing it favours long results.",
    formula=SCORE,
    hint="What does dividing by a number above 1 do to 0.2, and what to -1.6?",
    source=PAPER,
)
def probabilities_multiplied(steps: Steps) -> Steps:
    return replace(steps, final=lambda divisor, score: math.exp(score) / divisor)


@mistake(
    "length-penalty-missing",
    "The sum is not divided by the length penalty, so that short results win: every further id makes a sum of "
    "log-probabilities smaller.",
    formula=SCORE,
    hint="Where is length_penalty used?",
    source=PAPER,
)
def length_penalty_missing(steps: Steps) -> Steps:
    return replace(steps, penalty=lambda _request, _n: 1.0)


@mistake(
    "length-penalty-multiplied",
    "The sum is multiplied by the length penalty (or divided by it with the opposite exponent), which "
    "favours short results even more.",
    formula=SCORE,
    hint="Is a longer result to gain or to lose?",
    source=PAPER,
)
def length_penalty_multiplied(steps: Steps) -> Steps:
    return replace(steps, penalty=lambda request, n: 1 / steps.penalty(request, n))


@mistake(
    "length-penalty-fixed",
    "The argument length_penalty is not used: it is fixed in the code (0.6 or 1).",
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
    "n in the length penalty is off by one: it counts the generated ids, EOS included and SOS not.",
    formula=SCORE,
    hint="What is n for the result 'EOS' alone?",
    source=PAPER,
)
def length_counted_wrong(steps: Steps) -> list[Steps]:
    return [
        replace(steps, penalty=lambda request, n: steps.penalty(request, n - 1)),
        replace(steps, penalty=lambda request, n: steps.penalty(request, n + 1)),
    ]


@mistake(
    "other-length-penalty",
    "The length penalty has another formula: n^length_penalty, n * length_penalty, or one that does not fit "
    "((5 + n) / 6)^length_penalty.",
    formula=SCORE,
    hint="What is the penalty of n=1, whatever the exponent?",
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
    "At every step the hypotheses with the lowest sums are kept (sorted the wrong way, or topk with largest=False).",
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


MISTAKES = tuple(mistake.mistakes)
