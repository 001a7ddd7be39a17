"""Sentences for the scenarios of decoding: drawn until what is asked of them holds.

Beam search may prune by raw or by normalised scores, may let an unfinished hypothesis win or not, and so on. The
sentences are those on which all these readings give the same ids, and which tell the known mistakes apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import torch
from torch import Tensor

from grader.api import MEMORY_WIDTH, Draws, Speller
from grader.exercises.decoding.mistakes import MISTAKES
from grader.exercises.decoding.reference import REFERENCE, Beam, Request, Steps, best, normalised

GREEDY, BEAM = "greedy_decode", "beam_search"
VOCAB, TABLE = 9, 499  # rows of the table; a prime number mixes the prefixes well
POOL = 24  # sentences drawn at a time
PATIENCE = 20  # how often, before other weights are drawn
ASKED = 12  # sentences that are put to every mistake; about as many of those drawn are ambiguous
CLEAR = 24.0  # by how much the likeliest id leads: no chance brings up another one
NEVER = -24.0  # PAD and SOS
NEARLY = 1e-4  # between the two likeliest ids, at least: float32 tells them apart, half precision does not


@dataclass(frozen=True)
class Ids:
    """The three special ids."""

    sos: int = 1
    eos: int = 2
    pad: int = 0


USUAL = Ids()
Weights = Mapping[str, Tensor]


def _table(draws: Draws, ids: Ids, spread: float) -> Tensor:
    table = draws.normal(TABLE, VOCAB) * spread
    table[:, [ids.sos, ids.pad]] += NEVER
    return table


def _weights(table: Tensor) -> Weights:
    return {"table": table, "memory": torch.arange(VOCAB).double()[:, None].expand(VOCAB, MEMORY_WIDTH)}


def clear(draws: Draws, ids: Ids, others: int = 4) -> Weights:
    """At every step one id leads by far: EOS in one of five, or of `others` + 1."""
    table = _table(draws, ids, 1.0)
    ordinary = [i for i in range(VOCAB) if i not in (ids.sos, ids.eos, ids.pad)]
    for row in table:
        row[ordinary[draws.integer(0, len(ordinary) - 1)] if draws.integer(0, others) else ids.eos] += CLEAR
    return _weights(table)


def nearly_equal(draws: Draws, ids: Ids) -> Weights:
    """At every step two ids lead, one of them by little; or EOS leads by far."""
    table = _table(draws, ids, 1.0)
    ordinary = [i for i in range(VOCAB) if i not in (ids.sos, ids.eos, ids.pad)]
    for row in table:
        if draws.integer(0, 4):
            first, second = torch.randperm(len(ordinary), generator=draws.generator)[:2].tolist()
            row[ordinary[first]] = 6.0
            row[ordinary[second]] = 6.0 - NEARLY * draws.integer(1, 9)
        else:
            row[ids.eos] += CLEAR
    return _weights(table)


def doubtful(draws: Draws, ids: Ids) -> Weights:
    """At every step several ids are likely."""
    return _weights(_table(draws, ids, 1.3))


def speller(weights: Weights) -> Speller:
    """The model, here."""
    model = Speller(VOCAB, TABLE).double().eval()
    with torch.no_grad():
        for name, value in weights.items():
            getattr(model, f"judge_{name}").copy_(value.float())
    return model


def sentences(draws: Draws, ids: Ids, count: int, length: int) -> Tensor:
    """[count, S] ids: ordinary ones, then PAD in some rows."""
    ordinary = torch.tensor([i for i in range(VOCAB) if i not in (ids.sos, ids.eos, ids.pad)])
    drawn = torch.randint(len(ordinary), (count, length), generator=draws.generator)
    ends = torch.randint(1, length + 1, (count, 1), generator=draws.generator)
    return ordinary[drawn].masked_fill(torch.arange(length) >= ends, ids.pad)


def rows(steps: Steps, request: Request, *, greedy: bool = False) -> list[tuple[int, ...]]:
    """The ids of each sentence, PAD at the end left out."""
    made: Tensor = (steps.greedy if greedy else steps.beam)(request)
    found = []
    for row in made.tolist():
        while row and row[-1] == request.pad:
            row.pop()
        found.append(tuple(row))
    return found


@lru_cache(maxsize=256)
def with_lengths(seed: int, lengths: tuple[int, ...], max_len: int, ids: Ids) -> tuple[Weights, Tensor]:
    """Weights, and sentences [B, S] whose greedy ids are of these lengths; more than max_len: they never end."""
    draws = Draws(seed)
    while True:  # with some weights there is no sentence of a length
        weights = clear(draws, ids)
        chosen = _of_lengths(draws, speller(weights), lengths, max_len, ids)
        if len(chosen) == len(lengths):
            return weights, torch.stack(chosen)


@lru_cache(maxsize=256)
def lasting(seed: int, longest: int, max_len: int, search: Search | None = None) -> tuple[Weights, Tensor]:
    """Weights, and three sentences whose ids are as likely as can be, the first of which has more than `longest`.

    Args:
        search: the beam search in which all readings agree on them; None for greedy decoding.
    """
    draws = Draws(seed)
    while True:
        weights = clear(draws, USUAL, others=longest)
        model, drawn = speller(weights), sentences(draws, USUAL, POOL, 4)
        request = Request(model, drawn, max_len, USUAL.sos, USUAL.eos, USUAL.pad)
        lengths = torch.tensor([len(row) for row in rows(REFERENCE, request, greedy=True)])
        order = lengths.argsort(descending=True)
        if not int(lengths.max()) > longest > int(lengths.min()):
            continue
        if search is not None:
            order = torch.cat([order[:1], order[-4:]])
            agree = agreed(search.request(model, drawn[order]), draws)[1]
            order = order[agree] if agree[0] else order[:0]
        if len(order) > 2:
            return weights, drawn[torch.cat([order[:1], order[-2:]])]


def _of_lengths(
    draws: Draws, model: Speller, lengths: tuple[int, ...], max_len: int, ids: Ids
) -> list[Tensor]:
    """As many of the sentences, in order, as are found in so many draws."""
    chosen: list[Tensor] = []
    for _ in range(PATIENCE):
        drawn = sentences(draws, ids, POOL, 4)
        request = Request(model, drawn, max_len + 1, ids.sos, ids.eos, ids.pad)
        for src, row in zip(drawn, rows(REFERENCE, request, greedy=True), strict=True):
            if len(chosen) == len(lengths):
                return chosen
            wanted, endless = lengths[len(chosen)], ids.eos not in row
            fits = wanted > max_len if endless else len(row) == wanted
            if fits and not _among(src, chosen):
                chosen.append(src)
    return chosen


def _among(src: Tensor, chosen: Sequence[Tensor]) -> bool:
    return any(torch.equal(src, other) for other in chosen)


def _by_normalised(steps: Steps) -> Steps:
    def prune(request: Request, hypotheses: Beam, count: int) -> Beam:
        return sorted(hypotheses, key=lambda one: normalised(steps, request, one), reverse=True)[:count]

    return replace(steps, prune=prune)


def _finished_first(steps: Steps) -> Steps:
    """An unfinished hypothesis does not compete with a finished one."""
    return replace(steps, candidates=lambda beam, _finished: [one for one in beam if one.ended] or beam)


def _all_finished(steps: Steps) -> Steps:
    """Return steps that keep every hypothesis that was ever finished."""
    return replace(steps, candidates=lambda beam, finished: [*beam, *finished])


def _reserved(steps: Steps) -> Steps:
    """No better hypothesis takes a finished one's place."""

    def prune(request: Request, hypotheses: Beam, count: int) -> Beam:
        kept = [one for one in hypotheses if one.ended and len(one.ids) < max(len(h.ids) for h in hypotheses)]
        others = [one for one in hypotheses if one not in kept]
        return [*kept, *steps.prune(request, others, count - len(kept))]

    return replace(steps, prune=prune)


def _set_aside(steps: Steps) -> Steps:
    """A finished hypothesis is put aside, and an unfinished one takes its place."""

    def extend(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
        live = [(one, row) for one, row in zip(beam, chances, strict=True) if not one.ended]
        return steps.extend(request, [one for one, _ in live], [row for _, row in live]) if live else beam

    def prune(request: Request, hypotheses: Beam, count: int) -> Beam:
        kept: Beam = []
        for place, one in enumerate(steps.prune(request, hypotheses, 2 * count)):
            live = sum(not other.ended for other in kept)
            if (one.ended and place < count) or (not one.ended and live < count):
                kept.append(one)
        return kept

    return replace(
        steps,
        extend=extend,
        prune=prune,
        candidates=lambda beam, finished: [*(one for one in beam if not one.ended), *finished],
    )


PRUNING: tuple[Callable[[Steps], Steps], ...] = (lambda steps: steps, _by_normalised)
FINAL: tuple[Callable[[Steps], Steps], ...] = (lambda steps: steps, _finished_first)
PLACES: tuple[Callable[[Steps], Steps], ...] = (lambda steps: steps, _reserved)
FORGETTING: tuple[Callable[[Steps], Steps], ...] = (_all_finished, _set_aside)
BASES = tuple(final(pruning(REFERENCE)) for pruning, final in product(PRUNING, FINAL))


def readings() -> list[Steps]:
    """Every way to read the contract where it is free, the reference first."""
    whole = [final(place(prune(REFERENCE))) for prune, place, final in product(PRUNING, PLACES, FINAL)]
    return [*whole, *(other(prune(REFERENCE)) for prune, other in product(PRUNING, FORGETTING))]


def agreed(request: Request, doubt: Draws, by: float = 1e-3) -> tuple[list[tuple[int, ...]], list[bool]]:
    """The right ids of each sentence, and whether all readings give them, also with logits off by some `by`."""
    right = rows(REFERENCE, request)
    shaken = []
    for _ in range(2):
        table = request.model.judge_table
        other = {"table": table + by * doubt.normal(*table.shape), "memory": request.model.judge_memory}
        shaken.append(replace(request, model=speller({k: v.detach() for k, v in other.items()})))
    left = list(range(len(right)))
    for steps, asked in [*((REFERENCE, one) for one in shaken), *((one, request) for one in readings()[1:])]:
        if left:
            found = rows(steps, replace(asked, src=asked.src[left]))
            left = [i for i, ids in zip(left, found, strict=True) if ids == right[i]]
    return right, [i in left for i in range(len(right))]


@dataclass(frozen=True)
class Search:
    """What is asked of `beam_search`, with how many sentences."""

    beam: int
    max_len: int
    length_penalty: float
    count: int = 4
    ids: Ids = USUAL

    def request(self, model: Speller, src: Tensor) -> Request:
        """The call."""
        ids = self.ids
        return Request(model, src, self.max_len, ids.sos, ids.eos, ids.pad, self.beam, self.length_penalty)


@lru_cache(maxsize=256)
def telling(seed: int, search: Search) -> tuple[Weights, Tensor]:
    """Weights, and sentences on which all readings agree, and which tell many mistakes apart."""
    draws = Draws(seed)
    known = MISTAKES if search.ids == USUAL else ()  # with other ids it is the ids that are asked about
    mistakes = [s for m in known if m.parts == (BEAM,) for s in m.variants(REFERENCE)]
    while True:
        weights = doubtful(draws, search.ids)
        chosen = _telling(draws, speller(weights), search, mistakes)
        if len(chosen) == search.count:
            return weights, torch.stack(chosen)


@lru_cache(maxsize=256)
def apart(seed: int, search: Search, other: Steps) -> tuple[Weights, Tensor]:
    """Weights, and sentences on which all readings agree, and these other steps give other ids."""
    draws = Draws(seed)
    while True:
        weights = doubtful(draws, search.ids)
        drawn = sentences(draws, search.ids, ASKED, 4)
        request = search.request(speller(weights), drawn)
        pairs = zip(rows(REFERENCE, request), rows(other, request), strict=True)
        asked = [i for i, (right, wrong) in enumerate(pairs) if right != wrong]
        if not asked:
            continue
        drawn = drawn[asked]
        fine = torch.tensor(agreed(replace(request, src=drawn), draws)[1])
        if bool(fine.any()):
            return weights, drawn[fine][: search.count]


def of_width(beam: int) -> Steps:
    """Return steps that keep so many hypotheses, however many are asked for."""
    return replace(REFERENCE, prune=lambda request, hypotheses, _count: best(request, hypotheses, beam))


@lru_cache(maxsize=256)
def close(seed: int, search: Search) -> tuple[Weights, Tensor]:
    """Weights, and sentences on which all readings agree, and half precision gives other ids.

    Half precision of log-probabilities, equal ones in the order of the ids or in their own, or of sums.
    """
    draws = Draws(seed)
    coarse = [
        replace(REFERENCE, rate=lambda logits: _halved(logits, 0.0)),
        replace(REFERENCE, rate=lambda logits: _halved(logits, 1e-6)),
        replace(REFERENCE, extend=_halved_sums),
    ]
    while True:
        weights = nearly_equal(draws, search.ids)
        drawn = sentences(draws, search.ids, 2 * ASKED, 4)
        request = search.request(speller(weights), drawn)
        wrong = [rows(steps, request) for steps in coarse]
        right = rows(REFERENCE, request)
        asked = [i for i, row in enumerate(right) if all(other[i] != row for other in wrong)]
        if not asked:
            continue
        fine = torch.tensor(agreed(replace(request, src=drawn[asked]), draws, by=NEARLY / 20)[1])
        if int(fine.sum()) >= search.count:
            return weights, drawn[asked][fine][: search.count]


def _halved(logits: Tensor, own: float) -> Tensor:
    exact = logits.log_softmax(-1)
    return exact.half().to(exact.dtype) + own * exact


def _halved_sums(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
    made = REFERENCE.extend(request, beam, chances)
    halved = torch.tensor([one.score for one in made]).half().tolist()
    return [one._replace(score=score) for one, score in zip(made, halved, strict=True)]


def _telling(draws: Draws, model: Speller, search: Search, mistakes: Sequence[Steps]) -> list[Tensor]:
    """As many sentences as are found in so many draws."""
    chosen: list[Tensor] = []
    for _ in range(PATIENCE):
        drawn = sentences(draws, search.ids, 2 * ASKED, 4)
        drawn = drawn[agreed(search.request(model, drawn), draws)[1]][:ASKED]
        if not len(drawn):
            continue
        request = search.request(model, drawn)
        answers = [rows(REFERENCE, request), *(_answers(steps, request) for steps in mistakes)]
        unseen = {(a, b) for a in range(len(answers)) for b in range(a)}
        while len(chosen) < search.count:
            left = [i for i, src in enumerate(drawn) if not _among(src, chosen)]
            told = {i: {(a, b) for a, b in unseen if answers[a][i] != answers[b][i]} for i in left}
            # most of all, mistakes are to be told from the right answer, which is number 0
            pick = max(left, key=lambda i: sum(10 if b == 0 else 1 for _, b in told[i]), default=-1)
            if pick < 0:
                break
            chosen.append(drawn[pick])
            unseen -= told[pick]
        if len(chosen) == search.count:
            break
    return chosen


def _answers(steps: Steps, request: Request) -> list[tuple[int, ...]]:
    """As `rows`; no ids if the mistake raises."""
    try:
        return rows(steps, request)
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError):
        return [(-1,)] * request.src.size(0)
