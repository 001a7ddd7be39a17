"""Where on the way from scores to output a computation goes wrong: weights, factor, mask, or values."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grader.core.failures import Named
from grader.engine.cases import Case
from grader.engine.compare import differences
from grader.engine.diagnose import Evidence
from grader.engine.factors import factor
from grader.engine.subjects import Patched, Subject
from grader.exercises.attention.reference import REFERENCE, Call

FORMULA = "softmax(Q K^T / sqrt(d_k)) V"
CLOSE = 1e-3


@dataclass(frozen=True)
class Weights:
    """Attention weights as they are and as they should be, and the plain scores Q K^T behind them."""

    got: Tensor
    right: Tensor
    products: Tensor
    depth: int
    hidden: Tensor | None = None  # bool, True = may not be attended to


def function_stage(evidence: Evidence, wrong: list[int], _subject: Subject) -> Named | None:
    """A name for what is wrong with the function, from the pairs (output, weights) it gave."""
    for i in wrong:
        case, got, right = evidence.cases[i], evidence.got[i], evidence.right[i]
        if got.form != "pair" or got.values["weights"].shape != right.values["weights"].shape:
            continue
        if "weights" not in differences(case, right, got):
            return _after_weights(right.values["output"], got.values["output"])
        query, key, _ = case.inputs
        shown = Weights(
            got.values["weights"].double(),
            right.values["weights"].double(),
            query @ key.transpose(-2, -1),
            query.size(-1),
            _hidden(case, right.values["weights"]),
        )
        named = judged(shown)
        if named is not None:
            return named
    return None


def _hidden(case: Case, weights: Tensor) -> Tensor | None:
    if case.mask is None:
        return None
    seen = case.mask if case.mask.dtype == torch.bool else case.mask == 0
    return ~seen.expand(weights.shape)


def _after_weights(right: Tensor, got: Tensor) -> Named:
    times = factor(right, got)
    what = "the output is not weights @ value"
    if times is not None:
        what = f"the output is {times:.4g} times weights @ value"
    return Named(
        "output-is-not-weights-times-value",
        f"The weights are right, but {what}. Look at what happens after the softmax.",
        formula=FORMULA,
        hint="The last step is one matrix product, and nothing else.",
    )


def judged(shown: Weights) -> Named | None:
    """A name for what is wrong with weights."""
    got = shown.got
    if not bool(got.isfinite().all()):
        return Named(
            "weights-not-finite",
            "Some attention weights are NaN or infinite.",
            formula=FORMULA,
            hint="Which step divides by zero, or takes infinity minus infinity?",
        )
    if shown.hidden is not None:
        masked = _masked(shown, shown.hidden)
        if masked is not None:
            return masked
    sums = got.sum(-1)
    if bool((sums - 1).abs().max() > CLOSE) and bool(shown.right.sum(-1).min() > 0):
        return Named(
            "rows-do-not-sum-to-one",
            f"The weights of a query do not sum to 1: the sums go from {float(sums.min()):.3g} to "
            f"{float(sums.max()):.3g}. {_sums_elsewhere(got)}",
            formula=FORMULA,
            hint="The softmax runs over the keys, and nothing changes the weights afterwards.",
        )
    return _scores(shown)


def _sums_elsewhere(got: Tensor) -> str:
    names = {-2: "queries", -3: "heads", -4: "sentences of the batch"}
    for dim, name in names.items():
        if got.dim() >= -dim and bool((got.sum(dim) - 1).abs().max() < CLOSE):
            return f"They sum to 1 over the {name}."
    return ""


def _masked(shown: Weights, hidden: Tensor) -> Named | None:
    leaking = float(shown.got.masked_fill(~hidden, 0.0).abs().max())
    starved = (shown.got < 1e-9) & (shown.right > CLOSE) & ~hidden
    if leaking > 1e-6:
        return Named(
            "hidden-keys-get-weight",
            f"Keys that the mask hides get weight, up to {leaking:.3g}; it has to be 0.",
            formula="softmax(scores + mask)",
            hint="Print the weights beside the mask.",
        )
    if bool(starved.any()):
        return Named(
            "visible-keys-get-nothing",
            f"{int(starved.sum())} keys that the mask leaves visible get weight 0: more is hidden than the mask says.",
            formula="softmax(scores + mask)",
            hint="Print the weights beside the mask.",
        )
    return None


def _scores(shown: Weights) -> Named | None:
    """Rows sum to 1: whether they are a softmax of a multiple of Q K^T, and of which."""
    visible = shown.right > 0
    if bool(((shown.got <= 0) & visible).any()):
        return Named(
            "visible-keys-get-nothing",
            f"{int(((shown.got <= 0) & visible).sum())} keys get weight 0, although nothing hides them.",
            formula=FORMULA,
            hint="Print the weights: where are the zeros?",
        )
    logs, products = _centred(shown.got.clamp(min=1e-30).log(), visible), _centred(shown.products, visible)
    times = float((logs * products).sum() / (products * products).sum())
    rest = float((logs - times * products).square().sum() / logs.square().sum().clamp(min=1e-12))
    if rest < 1e-5:
        return Named(
            "wrong-scale-factor",
            f"The scores are Q K^T times {times:.4g}; with d_k = {shown.depth} it has to be 1/sqrt(d_k) = "
            f"{1 / math.sqrt(shown.depth):.4g}.",
            formula=FORMULA,
            hint="What do you divide by, and what is its value?",
        )
    return Named(
        "scores-not-the-dot-products",
        "Each query's weights sum to 1, but they are not the softmax of any multiple of Q K^T "
        f"({100 * (1 - rest):.0f} % of what tells the keys apart is explained by Q K^T).",
        formula=FORMULA,
        hint="Compute one score by hand, and compare.",
    )


def _centred(x: Tensor, visible: Tensor) -> Tensor:
    """Less the row's mean: a softmax does not see what is added to a whole row."""
    kept = x.masked_fill(~visible, 0.0)
    return (x - kept.sum(-1, keepdim=True) / visible.sum(-1, keepdim=True).clamp(min=1)).masked_fill(
        ~visible, 0.0
    )


def class_stage(evidence: Evidence, wrong: list[int], subject: Subject) -> Named | None:
    """A name for what is wrong with the class, by choosing its weights so that one stage shows at a time."""
    case = evidence.cases[wrong[0]]
    if not _square(case) or case.digest is not None:
        return None
    mixed = _sentences(case, subject)
    if mixed is not None:
        return mixed
    even = _even(case)
    seen, right = subject.run(even), Patched(REFERENCE).run(even)
    if seen.form != right.form or differences(even, right, seen):
        return _value_path(right.values.get("output"), seen.values.get("output"))
    shown = _extracted(case, subject)
    return None if shown is None else judged(shown)


def _square(case: Case) -> bool:
    return all(w.size(0) == case.d_model for w in case.weights.values())


def _sentences(case: Case, subject: Subject) -> Named | None:
    """Whether another sentence of the batch has a say."""
    if case.inputs[0].size(0) < 2:
        return None
    query, key, value = (torch.cat([x[:1], x[1:] + 1.0]) for x in case.inputs)
    changed = replace(case, inputs=(query, key, value), cotangents=None)
    first, second = subject.run(replace(case, cotangents=None)), subject.run(changed)
    if "output" not in first.values or "output" not in second.values:
        return None
    moved = float((first.values["output"][:1] - second.values["output"][:1]).abs().max())
    if moved < CLOSE:
        return None
    return Named(
        "sentences-influence-each-other",
        f"The sentences of a batch influence one another: when only the others changed, the first one's "
        f"output moved by "
        f"{moved:.2g}. Each sentence has to be computed for itself.",
        hint="Which dimension is the batch in each step? Print the shapes.",
    )


def _even(case: Case) -> Case:
    """Query and key projections zero: every key gets the same weight."""
    zeroed = {n: torch.zeros_like(w) if n[0] in "qk" else w for n, w in case.weights.items()}
    return replace(
        case, weights=zeroed, mask=None, cotangents=None, title="query and key projections set to zero"
    )


def _value_path(right: Tensor | None, got: Tensor | None) -> Named:
    times = None if right is None or got is None else factor(right, got)
    what = "" if times is None else f" It is {times:.4g} times what it should be."
    return Named(
        "values-not-mixed-right",
        "Even with query and key projections set to zero, where every key has the same weight and the output "
        f"must be their mean value through W_O, the output is wrong.{what} So look at the value projection, at how the "
        "weights meet the values, at the merging of the heads and at the output projection.",
        formula="Concat(head_1, ..., head_h) W_O",
        hint="Follow one value from the input to the output.",
    )


def _extracted(case: Case, subject: Subject) -> Weights | None:
    """The weights of every head, spelled by values that are one-hot in the keys."""
    heads, width = case.heads, case.d_model
    depth = width // heads
    queries, keys = case.inputs[0].size(1), case.inputs[1].size(1)
    if keys > depth:
        keys = queries = depth
    query, key = case.inputs[0][:, :queries], case.inputs[1][:, :keys]
    mask = None if case.mask is None else case.mask[..., :queries, :keys]
    value = torch.zeros(query.size(0), keys, width, dtype=torch.float64)
    for head in range(heads):
        value[:, torch.arange(keys), head * depth + torch.arange(keys)] = 1.0
    weights = {n: _identity(n, w) for n, w in case.weights.items()}
    shown = replace(case, inputs=(query, key, value), mask=mask, weights=weights, cotangents=None)
    got, right = subject.run(shown).values.get("output"), Patched(REFERENCE).run(shown).values["output"]
    if got is None or got.shape != right.shape:
        return None
    call = Call(query, key, value, mask, heads, weights)
    q, k = (REFERENCE.split(call, role, REFERENCE.project(call, role)) for role in ("q", "k"))
    spelled = [x.double().unflatten(-1, (heads, depth))[..., :keys].transpose(1, 2) for x in (got, right)]
    return Weights(spelled[0], spelled[1], q @ k.transpose(-2, -1), depth, _hidden(shown, spelled[1]))


def _identity(name: str, w: Tensor) -> Tensor:
    role, kind = name.split(".")
    if role not in ("v", "out"):
        return w
    return torch.eye(w.size(0), dtype=w.dtype) if kind == "weight" else torch.zeros_like(w)
