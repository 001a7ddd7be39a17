"""Mistakes of beam search: what is kept, what is extended, what ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grader.api import Collection
from grader.exercises.decoding.reference import Beam, Hypothesis, Request, Steps

mistake: Collection[Steps] = Collection(("beam_search",))
MISTAKES = mistake.mistakes
KEEP = "of all extensions of all hypotheses, keep the `beam` best"


@mistake(
    "beam-is-greedy",
    "The result is that of greedy decoding: only one hypothesis is followed. This also happens if all "
    "hypotheses start as equal copies and stay equal.",
    formula=KEEP,
    hint="Print the hypotheses after two steps: are they different?",
)
def beam_is_greedy(steps: Steps) -> Steps:
    return replace(steps, prune=lambda request, hypotheses, _count: steps.prune(request, hypotheses, 1))


@mistake(
    "beam-width-off-by-one",
    "The beam keeps one hypothesis too few or too many.",
    formula=KEEP,
    hint="How many hypotheses are there after the second step?",
)
def beam_width(steps: Steps) -> list[Steps]:
    def prune(by: int) -> Steps:
        def keep(request: Request, hypotheses: Beam, count: int) -> Beam:
            return steps.prune(request, hypotheses, max(1, count + by))

        return replace(steps, prune=keep)

    return [prune(-1), prune(1)]


@mistake(
    "hypotheses-do-not-compete",
    "Every hypothesis is extended by its own most probable id. The extensions of all hypotheses must "
    "compete: two may come from the same hypothesis, and another may be dropped.",
    formula=KEEP,
    hint="Among how many scores does topk choose: V, or beam * V?",
)
def hypotheses_do_not_compete(steps: Steps) -> Steps:
    def prune(request: Request, hypotheses: Beam, count: int) -> Beam:
        parents = list(dict.fromkeys(one.ids if one.ended else one.ids[:-1] for one in hypotheses))
        if len(parents) == 1:
            return steps.prune(request, hypotheses, count)
        return [
            steps.prune(request, [h for h in hypotheses if (h.ids if h.ended else h.ids[:-1]) == p], 1)[0]
            if not any(h.ended and h.ids == p for h in hypotheses)
            else next(h for h in hypotheses if h.ids == p)
            for p in _true_parents(hypotheses)
        ]

    return replace(steps, prune=prune)


def _true_parents(hypotheses: Beam) -> list[tuple[int, ...]]:
    """Of what these were made: a finished hypothesis of itself."""
    longest = max(len(one.ids) for one in hypotheses)
    old = [one.ids if len(one.ids) < longest else one.ids[:-1] for one in hypotheses]
    return list(dict.fromkeys(old))


def merged(steps: Steps, *, finished: bool = False) -> Steps:
    """Of the hypotheses that end in the same id, the best one is kept. Args: finished: of those that have ended too."""

    def prune(request: Request, hypotheses: Beam, count: int) -> Beam:
        ends: dict[Any, Hypothesis] = {}
        for one in steps.prune(request, hypotheses, len(hypotheses)):  # the best first
            ends.setdefault(one.ids if one.ended and not finished else one.ids[-1], one)
        return list(ends.values())[:count]

    return replace(steps, prune=prune)


@mistake(
    "hypotheses-merged",
    "Of several hypotheses that end in the same id, only one is kept. They have different ids before it, which "
    "the model sees too: each is a hypothesis of its own.",
    formula=KEEP,
    hint="By what do you tell one hypothesis from another: all its ids, or the last one?",
)
def hypotheses_merged(steps: Steps) -> list[Steps]:
    return [merged(steps), merged(steps, finished=True)]


@mistake(
    "parent-forgotten",
    "The chosen ids are appended to the wrong hypotheses. The index that topk returns over beam * V scores "
    "also tells which hypothesis an id extends.",
    formula="parent = index // V, id = index % V",
    hint="How do you get the hypothesis and the id from an index in beam * V?",
)
def parent_forgotten(steps: Steps) -> Steps:
    def mixed(beam: Beam, chosen: Beam) -> Beam:
        longest = max(len(one.ids) for one in chosen)
        return [
            one if len(one.ids) < longest else Hypothesis((*mine, one.ids[-1]), one.score, one.ended)
            for mine, one in zip(_cycled(beam, len(chosen), longest - 1), chosen, strict=True)
        ]

    def extend(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
        return mixed(beam, steps.prune(request, steps.extend(request, beam, chances), request.beam))

    return replace(steps, extend=extend)


def _cycled(beam: Beam, count: int, length: int) -> list[tuple[int, ...]]:
    """The ids of hypothesis 0, 1, ..., as many as are asked for; the last of them again if there are too few."""
    return [_padded(beam[min(i, len(beam) - 1)].ids, length) for i in range(count)]


def _padded(ids: tuple[int, ...], length: int) -> tuple[int, ...]:
    return ids + (ids[-1],) * (length - len(ids))


@mistake(
    "scores-not-summed",
    "Hypotheses are compared by the log-probability of their last id alone; compare the sum over all their "
    "ids.",
    formula="score = sum of log p(y_t | y_<t)",
    hint="What is the score of a hypothesis after each step?",
)
def scores_not_summed(steps: Steps) -> Steps:
    def extend(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
        return steps.extend(request, [one if one.ended else one._replace(score=0.0) for one in beam], chances)

    return replace(steps, extend=extend)


def whole(_request: Request, ids: Sequence[int]) -> list[int]:
    """Everything after SOS, what comes after EOS too."""
    return list(ids)[1:]


@mistake(
    "finished-hypotheses-extended",
    "A hypothesis that has ended with EOS is extended like the others, or its score keeps changing. It "
    "must keep its ids and its score.",
    formula="a finished hypothesis keeps its place and its score",
    hint="What may follow EOS, and with which probability?",
)
def finished_extended(steps: Steps) -> list[Steps]:
    def extend(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
        opened = [one._replace(ended=False) for one in beam]
        return [one._replace(ended=request.eos in one.ids) for one in steps.extend(request, opened, chances)]

    return [
        replace(steps, extend=extend),
        replace(steps, extend=extend, keep=whole),
        replace(steps, extend=extend, keep=whole, done=lambda _request, _beams: False),
        replace(steps, extend=extend, done=lambda _request, _beams: False),
    ]


@mistake(
    "finished-hypotheses-lost",
    "A finished hypothesis drops out of the beam: it is lost, or its score keeps falling (by the "
    "log-probability of PAD). The result then ends too late, or never.",
    formula="a finished hypothesis keeps its place in the beam",
    hint="Where do you store a hypothesis that has ended?",
)
def finished_lost(steps: Steps) -> list[Steps]:
    def extend(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
        pairs = [(one, row) for one, row in zip(beam, chances, strict=True) if not one.ended]
        return steps.extend(request, [one for one, _ in pairs], [row for _, row in pairs]) if pairs else beam

    def by_pad(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
        scored = [
            one._replace(score=one.score + row[request.pad]) if one.ended else one
            for one, row in zip(beam, chances, strict=True)
        ]
        return steps.extend(request, scored, chances)

    def unended(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
        return [one for one in steps.extend(request, beam, chances) if not one.ended]

    return [replace(steps, extend=extend), replace(steps, extend=by_pad), replace(steps, extend=unended)]


@mistake(
    "stops-at-first-finished",
    "The search for a sentence stops as soon as one hypothesis has ended, although a longer one may get a "
    "better score. It must continue until all have ended, or to max_len.",
    formula="stop when all hypotheses have ended, or at max_len",
    hint="any or all?",
)
def stops_at_first_finished(steps: Steps) -> list[Steps]:
    def some(beam: Beam) -> bool:
        return any(one.ended for one in beam)

    def extend(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
        return beam if some(beam) else steps.extend(request, beam, chances)

    def each(_request: Request, beams: list[Beam]) -> bool:
        return all(some(beam) for beam in beams)

    frozen = replace(steps, extend=extend, done=each)
    return [
        frozen,
        replace(frozen, candidates=lambda beam, _finished: [b for b in beam if b.ended] or beam),
        replace(steps, done=each),
        replace(steps, done=lambda _request, beams: any(some(beam) for beam in beams)),
    ]


@mistake(
    "stops-when-best-finished",
    "The search stops when the best hypothesis has ended, although others in the beam have not.",
    formula="stop when all hypotheses have ended, or at max_len",
    hint="Can the length penalty make another hypothesis the best one later?",
)
def stops_when_best_finished(steps: Steps) -> Steps:
    def extend(request: Request, beam: Beam, chances: list[list[float]]) -> Beam:
        return beam if beam[0].ended else steps.extend(request, beam, chances)

    return replace(steps, extend=extend, done=lambda _request, beams: all(beam[0].ended for beam in beams))


@mistake(
    "sentences-mixed",
    "Hypotheses use the memory or source of another sentence, or compete with its hypotheses. repeat(beam, "
    "...) gives 1 2 3 1 2 3, repeat_interleave gives 1 1 2 2 3 3.",
    formula="[B, S, D] -> [B * beam, S, D]: row b * beam + k belongs to sentence b",
    hint="Which sentence does row 1 of [B * beam, ...] belong to?",
    source="lsdefine/attention-is-all-you-need-keras#36",
)
def sentences_mixed(steps: Steps) -> list[Steps]:
    def tiled(request: Request, owners: list[int]) -> list[int]:
        return [i % request.src.size(0) for i in range(len(owners))]

    def tiled_from_the_start(request: Request, owners: list[int]) -> list[int]:
        batch = request.src.size(0)  # with `beam` rows a sentence in the first step already
        rows = range(0, batch * request.beam, request.beam) if len(owners) == batch else range(len(owners))
        return [i % batch for i in rows]

    def survive(request: Request, beams: list[Beam]) -> list[Beam]:
        ranked = sorted((one for beam in beams for one in beam), key=lambda one: one.score, reverse=True)
        return [ranked[: request.beam] for _ in beams]

    return [
        replace(steps, owners=tiled),
        replace(steps, owners=tiled_from_the_start),
        replace(steps, survive=survive),
    ]
