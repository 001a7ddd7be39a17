"""What can be said of a mistake that is in no collection, in any exercise: measured, and no more."""

from __future__ import annotations

from collections.abc import Callable

import torch

from grader.core.failures import Named
from grader.engine.contrast import differing, same
from grader.engine.naming import Findings
from grader.engine.scenario import Scenario, Seen

# What a trait of a scenario means, when exactly the scenarios that have it go wrong: id, a sentence, and a hint if
# trying it alone is none.
TRAITS: dict[str, tuple[str, ...]] = {
    "bfloat16 inputs": ("dtype-unsupported", "The code does not cope with bfloat16: a dtype is probably hard-coded."),
    "float64 inputs": ("dtype-unsupported", "The code does not cope with float64: a dtype is probably hard-coded."),
    "the backward pass": ("gradient-wrong", "The values are right, but the gradients are not."),
    "train mode": ("train-mode-wrong", "The results are right in eval mode, but not in train mode."),
    "a bool mask": ("mask-bool-unsupported", "The code does not cope with bool masks."),
    "an additive mask": ("mask-additive-unsupported", "The code does not cope with additive (float) masks."),
    "a batch of one": ("assumes-batch", "The code does not cope with a batch of one."),
    "a length of one": ("assumes-length", "The code does not cope with sequences of length one."),
    "an odd size": ("assumes-even", "The code does not cope with odd sizes."),
    "leading dimensions": ("assumes-leading-dimensions", "The code takes for granted how many dimensions come in."),
    "another sequence": (
        "sequences-mixed",
        "A sequence alone comes out right, but not after another one, or in turns with it: something of the other is "
        "kept outside the cache, in the module or beside it.",
        "Everything that lasts belongs into the cache. What does forward set on self, or change outside it?",
    ),
    "keyword arguments": ("argument-names", "The code does not take its arguments by the names of the template."),
}  # fmt: skip


def conclude(findings: Findings, again: Callable[[Scenario], Seen]) -> Named | None:
    """A name for what went wrong, by what can be measured; None if nothing can be said but expected and got.

    Args:
        again: asks a scenario once more.
    """
    first = findings.wrong[0]
    scenario, got = findings.scenarios[first], findings.got[first]
    if got.error is None and not same(scenario, again(scenario), got, loose=3.0):
        return Named(
            "random-result",
            "Two equal calls gave different results, where nothing asked for chance.",
            hint="Is something dropped in eval mode, uninitialised, or kept from an earlier call?",
        )
    return (
        _changed(findings)
        or _nothing(findings)
        or _dtype(findings)
        or _unread(findings)
        or _trait(findings)
        or _not_finite(findings)
    )


def _changed(findings: Findings) -> Named | None:
    if all("changed in place" in findings.got[i].facts for i in findings.wrong):
        return Named(
            "input-changed",
            "An argument was changed in place; it must be left as it was, since the caller goes on to use it.",
            hint="Methods that end in _ (masked_fill_, add_) and the operators += and *= work in place.",
        )
    return None


def _nothing(findings: Findings) -> Named | None:
    if all(not findings.got[i].values and "None" in findings.got[i].facts.values() for i in findings.wrong):
        return Named(
            "nothing-returned",
            "The call gives None. Most likely its `return` is missing.",
            hint="Look at the last line.",
        )
    return None


def _dtype(findings: Findings) -> Named | None:
    """Right numbers in another dtype than that of the input."""
    for i in findings.wrong:
        right, got = findings.right[i].values, findings.got[i].values
        names = differing(findings.scenarios[i], findings.right[i], findings.got[i])
        odd = [n for n in names if n in right and n in got and right[n].dtype != got[n].dtype]
        if not odd or odd != names:
            return None
    i = findings.wrong[0]
    name = differing(findings.scenarios[i], findings.right[i], findings.got[i])[0]
    wanted, gave = findings.right[i].values[name].dtype, findings.got[i].values[name].dtype
    return Named(
        "wrong-dtype",
        f"The result comes in {_short(gave)}; expected {_short(wanted)}.",
        hint="Which step makes a tensor without saying its dtype, or converts one?",
    )


def _unread(findings: Findings) -> Named | None:
    if all(findings.got[i].unread for i in findings.wrong):
        return Named(
            "parameters-not-recognised",
            "The grader cannot tell which of your parameters is which, so that it could not load its own numbers into "
            "them. The formula itself may be right.",
            hint="Keep each in a parameter of its own, or stack those of one shape.",
        )
    return None


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _trait(findings: Findings) -> Named | None:
    wrong = set(findings.wrong)
    for trait, (name, text, *hint) in TRAITS.items():
        having = {i for i, scenario in enumerate(findings.scenarios) if trait in scenario.traits}
        if having and (wrong == having or (len(having) > 1 and wrong <= having)):
            return Named(name, text, hint=hint[0] if hint else f"Try it with {trait} alone.")
    return None


def _not_finite(findings: Findings) -> Named | None:
    def broken(i: int) -> bool:
        right, got = findings.right[i].values, findings.got[i].values
        return any(
            n in right and bool(right[n].isfinite().all()) and not bool(x.isfinite().all())
            for n, x in got.items()
        )

    if all(broken(i) for i in findings.wrong):
        return Named(
            "not-finite",
            "NaN or infinity came out where all numbers must be finite.",
            hint="Which step divides by zero, overflows, or takes infinity minus infinity?",
        )
    return None
