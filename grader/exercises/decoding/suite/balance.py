"""Sentences with two ways to go, a short and a long one, between which the length penalty decides.

At random such a case is rare, so its probabilities are drawn first, and the model's table is written accordingly.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import count

import torch
from torch import Tensor

from grader.api import Draws
from grader.exercises.decoding.mistakes import scores
from grader.exercises.decoding.reference import REFERENCE, Request, Steps
from grader.exercises.decoding.suite.cases import (
    NEVER,
    PATIENCE,
    USUAL,
    VOCAB,
    Weights,
    agreed,
    doubtful,
    sentences,
    speller,
)

LONGEST, SENTENCES, DRAWN = 6, 8, 500
OTHERS = VOCAB - 3 - 1  # ids that are neither special nor the first of the long way
CLEARLY = 0.03  # between the two scores
KINDS = ("length-", "other-length-penalty", "probabilities-multiplied")


class _Way:
    """EOS at once with probability p, or an id with probability q that surely leads to EOS after n ids in all.

    Every other id is clearly less likely than either, so that no beam of two holds one: they tie with each other.
    """

    def __init__(self, draws: Draws) -> None:
        while True:
            p, q = torch.rand(2, generator=draws.generator, dtype=torch.float64).mul(0.75).add(0.13).tolist()
            total = max(1.0, (p + q) / 0.92)
            self.short, self.long = p / total, q / total
            self.others = (1 - self.short - self.long) / OTHERS
            if self.others < 0.7 * min(self.short, self.long):
                break
        self.n = draws.integer(3, LONGEST)

    def lead(self, steps: Steps, request: Request) -> float:
        """By how much the short one's score is above the long one's."""
        ways = ((1, self.short), (self.n, self.long))
        one, other = (steps.final(steps.penalty(request, n), math.log(p)) for n, p in ways)
        return one - other


@lru_cache(maxsize=64)
def balanced(seed: int, length_penalty: float) -> tuple[Weights, Tensor]:
    """Weights, and sentences that tell a wrong length penalty from the right one, and most wrong ones apart."""
    draws = Draws(seed)
    nothing = torch.zeros(1, 1, dtype=torch.long)
    request = Request(None, nothing, LONGEST + 1, USUAL.sos, USUAL.eos, USUAL.pad, 2, length_penalty)
    for tried in count():
        if tried % PATIENCE == 0:  # with some ways there is no sentence on which all readings agree
            ways = _ways(draws, request)
        table = doubtful(draws, USUAL)["table"]
        weights = {**doubtful(draws, USUAL), "table": table}
        src = sentences(draws, USUAL, len(ways), 4)
        used: set[int] = set()
        if all(_write(table, used, draws, sentence, way) for sentence, way in zip(src, ways, strict=True)):
            model = speller(weights)
            full = Request(model, src, LONGEST + 1, USUAL.sos, USUAL.eos, USUAL.pad, 2, length_penalty)
            if all(agreed(full, draws)[1]):
                return weights, src
    raise AssertionError("unreachable")


def _ways(draws: Draws, request: Request) -> list[_Way]:
    """Each of them shows a difference that those before do not show."""
    wrong = [(m.id, s) for m in scores.MISTAKES if m.id.startswith(KINDS) for s in m.variants(REFERENCE)]
    names, codes = zip(("", REFERENCE), *wrong, strict=True)
    unseen = {(a, b) for a in range(len(codes)) for b in range(a) if names[a] != names[b]}
    chosen: list[_Way] = []
    drawn = [_Way(draws) for _ in range(DRAWN)]
    leads = [[way.lead(steps, request) for steps in codes] for way in drawn]
    while len(chosen) < SENTENCES:
        told = [
            {(a, b) for a, b in unseen if (lead[a] > 0) != (lead[b] > 0)} if abs(lead[0]) > CLEARLY else set()
            for lead in leads
        ]
        best = max(range(len(drawn)), key=lambda i: len(told[i]))
        if chosen and not told[best]:
            break
        chosen.append(drawn[best])
        unseen -= told[best]
    return chosen


def _write(table: Tensor, used: set[int], draws: Draws, src: Tensor, way: _Way) -> bool:
    """Write a sentence's two ways into the table; False if a row is taken already."""
    ordinary = [i for i in range(VOCAB) if i not in (USUAL.sos, USUAL.eos, USUAL.pad)]
    path = [ordinary[draws.integer(0, len(ordinary) - 1)] for _ in range(way.n - 1)]
    model = speller(_blank())
    places = model.rows(torch.tensor([[USUAL.sos, *path]]), model.encode(src[None]), src[None])[0].tolist()
    if used & set(places) or len(set(places)) < len(places):
        return False
    used.update(places)
    table[places[0], ordinary] = torch.tensor(way.others, dtype=table.dtype).log()
    table[places[0], path[0]] = torch.tensor(way.long, dtype=table.dtype).log()
    table[places[0], USUAL.eos] = torch.tensor(way.short, dtype=table.dtype).log()
    for place, after in zip(places[1:], [*path[1:], USUAL.eos], strict=True):
        table[place] = NEVER
        table[place, after] = 0.0
    return True


def _blank() -> Weights:
    return doubtful(Draws(0), USUAL)
