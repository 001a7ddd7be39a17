"""What can be said of a mistake that is in no collection: properties, measured, stage by stage."""

from __future__ import annotations

from dataclasses import replace

from grader.judge.cases import Case
from grader.judge.compare import equal
from grader.judge.diagnose import Evidence, Explanation
from grader.judge.subjects import Subject
from grader.judge.verdict import Named

LOOSE = 3.0


def repeats(case: Case, subject: Subject) -> bool:
    """Whether two equal calls give the same result, whatever the random generator's state."""
    first, second = subject.run(case), subject.run(replace(case, seed=case.seed + 1))
    return equal(case, first, second, loose=LOOSE)


def by_chance(evidence: Evidence, subject: Subject) -> Explanation | None:
    """The explanation for results that differ from call to call, where nothing asked for chance."""
    calm = [i for i in evidence.deviating if not evidence.cases[i].training][:3]
    random = [i for i in calm if not repeats(evidence.cases[i], subject)]
    if not random:
        return None
    case = evidence.cases[random[0]]
    return Explanation(
        _of_chance(case), frozenset(evidence.deviating), "Two equal calls gave different results."
    )


def _of_chance(case: Case) -> Named:
    if case.part == "function":
        return Named(
            "function-drops",
            "The plain function gives another result every time: it drops or adds something at random. It has no dropout "
            "argument; dropout belongs to the class.",
            formula="softmax(Q K^T / sqrt(d_k)) V",
            hint="F.dropout is active by default; nothing tells a plain function about eval mode.",
            source="karpathy/nanoGPT#240",
        )
    if case.dropout:
        return Named("dropout-in-eval", "")
    return Named("random-result", "")


def conclude(evidence: Evidence, left: list[int], subject: Subject) -> list[Explanation]:
    return []
