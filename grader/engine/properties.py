"""What can be said of a mistake that is in no collection: properties, measured, stage by stage.

Each conclusion has an id of its own and says what was measured, no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import torch

from grader.core.failures import Named
from grader.engine.cases import Case
from grader.engine.compare import equal
from grader.engine.diagnose import Evidence, Explanation, differing
from grader.engine.factors import scaled
from grader.engine.influence import influence
from grader.engine.stages import class_stage, function_stage
from grader.engine.subjects import Subject

LOOSE = 3.0
TINY = 1e-6  # a gradient that is 0 may arrive as what rounding left of it
MOST_TRAITS = 2  # beyond that, a list of traits tells nobody anything

# What a trait of a case means, when exactly the cases that have it go wrong: id, and a sentence.
TRAITS = {
    "more keys than queries": ("assumes-equal-lengths", "The code takes for granted that there are as many "
    "queries as keys."),
    "unequal lengths": ("assumes-equal-lengths", "The code takes for granted that there are as many queries as keys."),
    "a value of another width than the key": ("assumes-value-width", "The code takes for granted that value "
    "and key are equally wide."),
    "2-dimensional inputs": ("assumes-leading-dimensions", "The code takes for granted that there is a "
    "batch; the function takes any number of leading dimensions, also none."),
    "3-dimensional inputs": ("assumes-leading-dimensions", "The code takes for granted how many dimensions "
    "the inputs have; the function takes any number of leading dimensions."),
    "5-dimensional inputs": ("assumes-leading-dimensions", "The code takes for granted how many dimensions "
    "the inputs have; the function takes any number of leading dimensions."),
    "a bool mask": ("mask-bool-unsupported", "The code does not cope with bool masks."),
    "an additive mask": ("mask-additive-unsupported", "The code does not cope with additive (float, 0 and "
    "-inf) masks."),
    "a 2-dimensional mask": ("mask-dimensions-unsupported", "The code does not cope with masks [Tq, Tk], which hold "
    "for all sentences and heads."),
    "a 4-dimensional mask": ("mask-dimensions-unsupported", "The code does not cope with masks of four dimensions "
    "[B or 1, H or 1, Tq or 1, Tk]."),
    "bfloat16 inputs": ("dtype-unsupported", "The code does not cope with bfloat16."),
    "float64 inputs": ("dtype-unsupported", "The code does not cope with float64: a dtype is probably hard-coded."),
    "the backward pass": ("gradient-wrong", "The values are right, but the backward pass is not."),
    "a fully masked row": ("fully-masked-row", "The code does not cope with a query that may attend to nothing."),
}  # fmt: skip


def repeats(case: Case, subject: Subject) -> bool:
    """Whether two equal calls give the same result, whatever the random generator's state."""
    first, second = subject.run(case), subject.run(replace(case, seed=case.seed + 1))
    return equal(case, first, second, loose=LOOSE)


def by_chance(evidence: Evidence, subject: Subject, known: Callable[[str], Named]) -> Explanation | None:
    """The explanation for results that differ from call to call, where nothing asked for chance."""
    calm = [i for i in evidence.deviating if not evidence.cases[i].training][:3]
    random = [i for i in calm if not repeats(evidence.cases[i], subject)]
    if not random:
        return None
    case = evidence.cases[random[0]]
    in_class = "dropout-in-eval" if case.dropout else "random-result"
    name = "function-drops" if case.part == "function" else in_class
    return Explanation(known(name), frozenset(evidence.deviating), "Two equal calls gave different results.")


def nothing_usable(evidence: Evidence) -> Explanation | None:
    """The explanation for a call that never gives tensors: None, a text, a number."""
    forms = {got.form for got in evidence.got} - {"error"}
    if not forms or forms & {"pair", "tensor"}:
        return None
    form = min(forms)
    named = Named(
        "nothing-returned" if form == "None" else "no-tensor-returned",
        f"The call gives {form}, not tensors."
        + (" Most likely its `return` is missing." if form == "None" else ""),
        hint="Look at the last line of the code that is called.",
    )
    return Explanation(named, frozenset(evidence.deviating), "")


def conclude(
    evidence: Evidence, left: list[int], subject: Subject, known: Callable[[str], Named]
) -> list[Explanation]:
    """Explanations for the deviating cases `left`, which no known mistake explains."""
    found: list[Explanation] = []
    raised = [i for i in left if evidence.got[i].form == "error"]
    if raised and len(raised) < len(evidence.cases):
        found += _by_traits(evidence, raised, "raises an error")
    wrong = [i for i in left if i not in raised and not _gradient_only(evidence, i)]
    plain = [i for i in wrong if evidence.cases[i].group == "numbers"]
    named = _staged(evidence, plain or wrong, subject) if wrong else None
    if named is not None:
        picture = influence(evidence.cases[wrong[0]], subject) if evidence.part == "class" else ""
        found.append(Explanation(named, frozenset(wrong), "", picture))
    elif wrong:
        found += _by_traits(evidence, wrong, "is wrong")
    backward = [i for i in left if i not in raised and i not in wrong]
    if backward and not wrong:
        found.append(_gradients(evidence, backward, known))
    return found


def _staged(evidence: Evidence, wrong: list[int], subject: Subject) -> Named | None:
    """What the results are, if they are a multiple of the right ones; else the first stage that is wrong."""
    group = evidence.cases[wrong[0]].group
    asked = [i for i, case in enumerate(evidence.cases) if case.group == group and case.digest is None]
    times = scaled(evidence, asked, subject)
    if times is not None:
        return times
    return (function_stage if evidence.part == "function" else class_stage)(evidence, wrong, subject)


def _gradient_only(evidence: Evidence, index: int) -> bool:
    names = differing(evidence.cases[index], evidence.right[index], evidence.got[index])
    return bool(names) and all(name.startswith("gradient") for name in names)


def _gradients(evidence: Evidence, cases: list[int], known: Callable[[str], Named]) -> Explanation:
    index = cases[0]
    case, right, got = evidence.cases[index], evidence.right[index], evidence.got[index]
    names = differing(case, right, got)
    if any(_not_finite(got.values[name]) for name in names if name in got.values):
        return _endless(evidence, cases, names, known)
    zero = [name for name in names if name in got.values and not bool((got.values[name].abs() > TINY).any())]
    what = (
        f"no gradient at all arrives for: {_of(zero)}"
        if zero
        else f"wrong is the {' and the '.join(names[:3])}"
    )
    named = Named(
        "gradient-missing" if zero else "gradient-wrong",
        f"The values are right, but the backward pass is not: {what}.",
        hint="Search for detach, .data, no_grad, numpy, and for a backward of your own.",
    )
    return Explanation(named, frozenset(cases), "")


def _not_finite(x: torch.Tensor) -> bool:
    """Of gradients, or of the flags that a digest has made of them."""
    return not bool(x if x.dtype == torch.bool else x.isfinite().all())


def _endless(
    evidence: Evidence, cases: list[int], names: list[str], known: Callable[[str], Named]
) -> Explanation:
    """NaN gradients: the known ones of empty rows, or others."""
    if all("a fully masked row" in evidence.cases[i].traits for i in cases):
        proof = f"NaN or infinite is the {' and the '.join(names[:3])}; without such a row all is right."
        return Explanation(known("fully-masked-gradient-nan"), frozenset(cases), proof)
    named = Named(
        "gradient-not-finite",
        f"The values are right, but the backward pass gives NaN or infinity: wrong is the "
        f"{' and the '.join(names[:3])}.",
        hint="Which step's derivative is infinite: sqrt or division at 0, a norm, 0 * inf?",
    )
    return Explanation(named, frozenset(cases), "")


def _of(names: list[str]) -> str:
    return ", ".join(name.removeprefix("gradient of ") for name in names)


def _by_traits(evidence: Evidence, wrong: list[int], what: str) -> list[Explanation]:
    """The one trait that all the wrong cases have, and (nearly) no right one."""
    shared = frozenset.intersection(*(evidence.cases[i].traits for i in wrong))
    fine = [i for i in range(len(evidence.cases)) if i not in evidence.deviating]
    only_wrong = sorted(t for t in shared if not any(t in evidence.cases[i].traits for i in fine))
    if not only_wrong:
        return _each_trait(evidence, wrong, what)
    trait = only_wrong[0]
    having = sum(trait in evidence.cases[i].traits for i in range(len(evidence.cases)))
    known = TRAITS.get(trait)
    name = known[0] if known else "wrong-with-" + re.sub(r"\W+", "-", trait)
    count = f"It {what} in {len(wrong)} of {having} cases with {trait}, and in none without."
    error = evidence.got[wrong[0]].error
    said = f" {error.type_name}: {error.message.splitlines()[0] if error.message else ''}" if error else ""
    text = f"{known[1]} {count}{said}" if known else f"{count}{said}"
    return [Explanation(Named(name, text), frozenset(wrong), "")]


def _each_trait(evidence: Evidence, wrong: list[int], what: str) -> list[Explanation]:
    """No trait is shared by all: those that always go wrong, as long as they explain something new."""
    left, found = set(wrong), []
    traits = {trait for i in wrong for trait in evidence.cases[i].traits}
    always = {
        t: {i for i in wrong if t in evidence.cases[i].traits}
        for t in traits
        if all(i in wrong for i, case in enumerate(evidence.cases) if t in case.traits)
    }
    for trait in sorted(always, key=lambda t: (-len(always[t]), t)):
        if always[trait] & left and (always[trait] != set(wrong)):
            found += _by_traits(evidence, sorted(always[trait]), what)
            left -= always[trait]
    return found[:MOST_TRAITS]
