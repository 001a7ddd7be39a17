"""Conclusions about a mistake that is in no collection, in any exercise: only what was measured."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

from grader.core.failures import Named
from grader.engine.client import STARTS
from grader.engine.contrast import differing
from grader.engine.naming import Findings
from grader.engine.scenario import (
    AFTER,
    BESIDE,
    COARSE,
    EQUAL,
    NO_GRAD,
    POSITION,
    REFILLED,
    REWEIGHTED,
    TRAINED,
)
from grader.worker.calls import EARLIER

ROUNDED = 1e-2  # of the largest number: bfloat16 has 8 bits
LOPSIDED = 0.25  # of the mean size of differences: rounding goes up and down
MOST = 0.7  # of the wrong scenarios
CASES = 2  # in which results are imprecise: a single one may be anything
FEW = 40  # numbers of which nothing can be said

TINY = 1e-6  # a gradient that is 0 may arrive as what rounding left of it

PADDING = (
    "zeros-taken-for-padding",
    "Only vectors of zeros give wrong results: the code takes them for padding, or divides by their size. What is "
    "padding, masks say.",
    "Search for a comparison with 0 and for a division.",
)
# What a trait of a scenario means, when exactly the scenarios that have it go wrong: id, a sentence, and a hint if
# trying it alone is none.
TRAITS: dict[str, tuple[str, ...]] = {
    "bfloat16 inputs": ("dtype-unsupported", "The code does not cope with bfloat16: a dtype is probably hard-coded."),
    "float64 inputs": ("dtype-unsupported", "The code does not cope with float64: a dtype is probably hard-coded."),
    "the backward pass": ("gradient-wrong", "The values are right, but the gradients are not."),
    "train mode": ("train-mode-wrong", "The results are right in eval mode, but not in train mode."),
    "a bool mask": ("mask-bool-unsupported", "The code does not cope with bool masks."),
    "an additive mask": ("mask-additive-unsupported", "The code does not cope with additive (float) masks."),
    "a long sequence": (
        "length-limited", "Only long sequences give wrong results: the code contains a maximum length, or a window.",
        "Which number in the code is a length, where x.size(1) should be?",
    ),
    "many sentences": (
        "batch-limited", "Only large batches give wrong results: the code contains a maximum batch size.",
        "Which number in the code is a batch size, where x.size(0) should be?",
    ),
    "wide vectors": (
        "width-limited", "Only vectors with many features give wrong results: the code contains a maximum size.",
        "Which number in the code is a number of features, where x.size(-1) should be?",
    ),
    "large numbers": (
        "range-limited", "Only large values give wrong results: a step clips or rounds them.",
        "Search for clamp, for activations such as tanh, and for conversions to another dtype.",
    ),
    "vectors of zeros": PADDING,
    "zeros": PADDING,  # whether all vectors are zeros, or some
    "nothing but zeros": (
        "zeros-handled-apart",
        "Only an input of nothing but zeros gives wrong results: to the code it is a case of its own.",
        "Search for what decides which code runs: any(), all(), a sum, a comparison with 0.",
    ),
    REWEIGHTED: (
        "stale-weights", "The result is that of weights that the module had before: something made of them is kept.",
        "What does your code keep from one call to the next, and when does it make it again?",
    ),
    TRAINED: (
        "mode-kept",
        "The result is that of train mode, in which the module was called before: what was decided there is kept.",
        "What does your code keep from one call to the next, and does self.training go into it?",
    ),
    NO_GRAD: (
        "no-grad-wrong", "The results are right where gradients are recorded, but not under torch.no_grad().",
        "Search for no_grad, is_grad_enabled and requires_grad.",
    ),
    REFILLED: (
        "kept-by-tensor",
        "The result is that of an earlier call with the same tensors, in which other numbers have been written since.",
        "What does your code keep from one call to the next, and how does it look that up?",
    ),
    COARSE: (
        "kept-in-another-dtype",
        "The result has the few digits of an earlier call in bfloat16: what was computed there is kept.",
        "What does your code keep from one call to the next, and does the dtype go into how it looks that up?",
    ),
    AFTER: (
        "kept-by-shape", "The result is that of an earlier call, with other numbers in the same shapes.",
        "What does your code keep from one call to the next, and how does it look that up?",
    ),
    BESIDE: (
        "settings-shared", "Another object of the class changes this one: a setting, or a tensor, belongs to all.",
        "Which name is not an attribute of self, and should be one?",
    ),
    EQUAL: (
        "weights-shared",
        "Another object of the class, made with the same arguments, shares its weights with this one: what that one "
        "learns changes this one.",
        "What is made once for all objects, or once for each size, and becomes a parameter without a copy?",
    ),
    "many positions of bfloat16": (
        "positions-rounded",
        "Only many positions in bfloat16 give wrong results: positions or frequencies are rounded to the few digits "
        "that it has, before their sine is taken.",
        "What has which dtype when sine and cosine are computed? Convert their results, not what goes into them.",
    ),
    "a batch of one": ("assumes-batch", "The code does not cope with a batch of one."),
    "a length of one": ("assumes-length", "The code does not cope with sequences of length one."),
    "a mask for a length of one": (
        "mask-unused-at-length-one",
        "The mask is not used where sequences have length one, as if the one key were always allowed.",
        "Which condition on a length decides whether there is a mask?",
    ),
    "an odd size": ("assumes-even", "The code does not cope with odd sizes."),
    "unequal lengths": (
        "assumes-equal-lengths", "The code assumes that there are as many queries as keys.",
    ),
    "a value of another width than the key": (
        "assumes-value-width", "The code assumes that value and key have the same number of features.",
    ),
    "a 2-dimensional mask": (
        "mask-dimensions-unsupported", "The code does not cope with masks [Tq, Tk], for all sentences and heads.",
    ),
    "a 4-dimensional mask": (
        "mask-dimensions-unsupported", "The code does not cope with masks [B or 1, H or 1, Tq or 1, Tk].",
    ),
    "a fully masked row": ("fully-masked-row", "The code does not cope with a query that has no allowed key."),
    "leading dimensions": ("assumes-leading-dimensions", "The code assumes a fixed number of input dimensions."),
    "another sequence": (
        "sequences-mixed",
        "A sequence alone gets correct results, but not after another one, or alternating with it: some state is "
        "stored outside the cache, in the module or globally.",
        "Store all state in the cache. What does forward set on self, or change outside it?",
    ),
    "sequences in turns": (
        "sequences-mixed",
        "A sequence gets correct results alone and after another one, but not alternating with it: some state is "
        "stored outside the cache, in the module or globally.",
        "Store all state in the cache. What does forward set on self, or change outside it?",
    ),
    "keyword arguments": (
        "argument-names", "The arguments are not named as in the template, so a call with keyword arguments fails.",
    ),
    POSITION: (
        "argument-order",
        "The arguments are not in the order of the template, so a call by position gives them to each other.",
    ),
}  # fmt: skip

LIMITS = frozenset({"a long sequence", "many sentences", "wide vectors"})  # that may be built in


def first(findings: Findings) -> Named | None:
    """A name for what can be measured without doubt, whatever the exercise."""
    return nothing(findings) or extra(findings) or imprecise(findings) or _trait(findings, (POSITION,))


def conclude(findings: Findings) -> Named | None:
    """A name for what went wrong, by what can be measured; None if nothing can be said but expected and got."""
    if findings.random:
        return (
            _unregistered(findings)
            or _trait(findings, (BESIDE, TRAINED))
            or Named(
                "random-result",
                "Two equal calls return different results, although nothing should be random.",
                hint="Is there dropout in eval mode, uninitialized memory, or state from an earlier call?",
            )
        )
    return (
        _changed(findings)
        or first(findings)
        or _dtype(findings)
        or unread(findings)
        or _never_learns(findings)
        or _gradients(findings)
        or _trait(findings)
        or _not_finite(findings)
    )


def _unregistered(findings: Findings) -> Named | None:
    """Fewer numbers of its own than right code has, and other results each time it is made: weights are elsewhere."""
    own = [
        (text, findings.got[i].facts.get(name, ""))
        for i in findings.wrong
        for name, text in findings.right[i].facts.items()
        if name.startswith("own ")
    ]
    if not any(a.isdecimal() and b.isdecimal() and int(b) < int(a) for a, b in own):
        return None
    return Named(
        "parameters-not-registered",
        "The class computes with numbers that are not among its parameters: no optimizer trains them, and each new "
        "object has others. They are plain tensors, buffers, or stored in a plain list or dict.",
        hint="Use nn.Parameter, nn.ModuleList, nn.ParameterList, or plain attributes of the module.",
    )


def _changed(findings: Findings) -> Named | None:
    if all("changed in place" in findings.got[i].facts for i in findings.wrong):
        return Named(
            "input-changed",
            "An argument is modified in place; the caller still uses it, so it must not change.",
            hint="Methods that end in _ (masked_fill_, add_) and the operators += and *= work in place.",
        )
    if all(findings.got[i].facts.get(EARLIER) == "changed" for i in findings.wrong):
        return Named(
            "result-overwritten",
            "A call writes into what an earlier call has returned; the caller may still use that.",
            hint="What does your code keep from one call to the next, and does it return just that, or a copy?",
        )
    return None


def nothing(findings: Findings) -> Named | None:
    """A name for a call that never gives tensors."""
    got = [findings.got[i] for i in findings.wrong]
    if any(one.values or one.error is not None for one in got):
        return None
    came = {one.facts["result"] for one in got if "result" in one.facts}
    if came == {"None"} or all("None" in one.facts.values() for one in got):
        return Named(
            "nothing-returned",
            "The call returns None. Probably `return` is missing.",
            hint="Look at the last line.",
        )
    if len(came) == 1 and any(findings.right[i].values for i in findings.wrong):
        text = f"The call returns {came.pop()}; expected tensors."
        return Named(
            "no-tensor-returned", text, hint="Look at the return statement of the code that is called."
        )
    return None


def extra(findings: Findings) -> Named | None:
    """Parameters that do not belong to the class: by name and shape, and what they look like."""
    extra = next((findings.got[i].extra for i in findings.wrong if findings.got[i].extra), ())
    more = [i for i in findings.wrong if _own(findings.got[i].facts) > _own(findings.right[i].facts) > -1]
    if not extra or not more:
        return None
    layers: dict[str, list[Tensor]] = {}
    for name, value in extra:
        layers.setdefault(name.rpartition(".")[0], []).append(value)
    looks = [f"{home or 'the class itself'}: {_looks(values)}" for home, values in layers.items()]
    text = (
        f"The class has parameters that do not belong in it: {'; '.join(looks[:4])}. "
        "What they compute belongs elsewhere, and changes the results."
    )
    return Named("extra-parameters", text, hint="Compare the class's own layers with those of the formula.")


def _own(facts: Mapping[str, str]) -> int:
    text = facts.get("own parameters", "")
    return int(text) if text.isdecimal() else -1


def _looks(values: Sequence[Tensor]) -> str:
    """Describe a layer's parameters by their shapes and first values."""
    shapes = [list(value.shape) for value in values]
    vectors = [value for value in values if value.dim() == 1]
    if len(vectors) == len(values) and any(bool((value == 1).all()) for value in vectors):
        return f"a norm's {'gain and bias' if len(values) > 1 else 'gain'} {shapes[0]}"
    matrix = next((shape for shape in shapes if len(shape) == 2), None)
    if matrix is not None and len(values) <= 2:
        bias = " with a bias" if len(values) > 1 else ""
        return f"a linear layer or an embedding {matrix}{bias}"
    return f"parameters of shape {', '.join(map(str, shapes[:4]))}"


def imprecise(findings: Findings) -> Named | None:
    """Nearly right in most cases, and in several, too large as often as too small: rounded on the way."""
    parts = [part for i in findings.wrong if (part := _rounding(findings, i)) is not None]
    if len(parts) < max(MOST * len(findings.wrong), CASES):
        return None
    apart, outward = (torch.cat([part[k] for part in parts]) for k in (0, 1))
    mean = float(apart.abs().mean()) if apart.numel() >= FEW else 0.0
    if not mean or max(abs(float(apart.mean())), abs(float(outward.mean()))) > LOPSIDED * mean:
        return None
    digits = max(1, math.floor(-math.log10(float(apart.abs().max()))))
    return Named(
        "low-precision",
        f"The results are right, but only to about {digits} digits: a step computes in half precision (float16 or "
        "bfloat16), or uses an approximation.",
        hint="Search for half, bfloat16, float16, autocast and round.",
    )


def _rounding(findings: Findings, i: int) -> tuple[Tensor, Tensor] | None:
    """How far values are from right ones of which they are small parts, and how far from 0; None if they are not."""
    right, got = findings.right[i].values, findings.got[i].values
    found = [torch.zeros(0, dtype=torch.float64)]
    signs = list(found)
    for name in differing(findings.scenarios[i], findings.right[i], findings.got[i]):
        if name not in right or name not in got or right[name].shape != got[name].shape:
            return None
        wanted, came = right[name].double(), got[name].double()
        if right[name].dtype != got[name].dtype or not right[name].is_floating_point():
            return None
        both = came.isfinite() & wanted.isfinite()
        wanted, came = wanted[both], came[both]
        apart = (came - wanted) / (1e-3 + (float(wanted.abs().max()) if wanted.numel() else 0.0))
        if not apart.numel() or float(apart.abs().max()) > ROUNDED:
            return None
        if not name.startswith("gradient"):
            found.append(apart)
            signs.append(apart * wanted.sign())
    return torch.cat(found), torch.cat(signs)


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
        f"The result is {_short(gave)}; expected {_short(wanted)}.",
        hint="Which step creates a tensor without a dtype, or converts one?",
    )


def unread(findings: Findings) -> Named | None:
    """A name where nothing can be said, since nobody knows which number is which: no order of them comes out right."""
    right = [one for i, one in enumerate(findings.got) if one.unusual and i not in set(findings.wrong)]
    known = any(x.is_floating_point() for one in right for x in one.values.values())
    wrong = [findings.got[i] for i in findings.wrong]
    if not wrong or not all(one.unread or (one.unusual and not one.lacking and not known) for one in wrong):
        return None
    return Named(
        "parameters-not-recognised",
        "The grader cannot tell which of your parameters is which: in no order do their numbers give the expected "
        "results. Either the formula is wrong, or the code computes its weights from the parameters.",
        hint="Store each weight matrix and each bias in a parameter of its own: then the grader can say more.",
    )


def _never_learns(findings: Findings) -> Named | None:
    """Right with any weights but those that it starts with."""
    if any(findings.got[i].facts.get(STARTS) == findings.right[i].facts.get(STARTS) for i in findings.wrong):
        return None
    return Named(
        "starts-at-zero",
        "With the weights that the class starts with, no gradient arrives at any of its matrices, so it never learns: "
        "each is multiplied by zeros.",
        hint="Which values does __init__ give the weights? Of two layers, at most one may start at zero.",
    )


def _gradients(findings: Findings) -> Named | None:
    """Right values, and gradients that are wrong, in numbers of which something can be said."""
    names: list[str] = []
    for i in findings.wrong:
        odd = differing(findings.scenarios[i], findings.right[i], findings.got[i])
        if not all(name.startswith("gradient") and name in findings.got[i].values for name in odd):
            return None
        names = names or odd
    found = [findings.got[findings.wrong[0]].values[name] for name in names]
    hint = "Search for detach, .data, no_grad, numpy, and for a custom backward."
    if not all(bool(x.isfinite().all()) for x in found):
        what = f"The values are right, but the {' and the '.join(names[:3])} is NaN or infinite."
        return Named(
            "gradient-not-finite",
            what,
            hint="Which step has an infinite derivative, such as sqrt or division at 0?",
        )
    none = [
        re.sub(r"^(?=\d)", "argument ", n.removeprefix("gradient of "))
        for n, x in zip(names, found, strict=True)
        if float(x.abs().max()) < TINY
    ]
    if none:
        what = f"The values are right, but these get no gradient: {', '.join(none)}."
        return Named("gradient-missing", what, hint=hint)
    return None


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _trait(findings: Findings, traits: Collection[str] = tuple(TRAITS)) -> Named | None:
    """All that has a trait is wrong, and nothing without."""
    wrong = set(findings.wrong)
    having = {t: {i for i, s in enumerate(findings.scenarios) if t in s.traits} for t in traits}
    for trait in (trait for trait, those in having.items() if wrong == those):
        name, text, *hint = TRAITS[trait]
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
            "The result contains NaN or infinity where all values must be finite.",
            hint="Which step divides by zero, overflows, or takes infinity minus infinity?",
        )
    return None
