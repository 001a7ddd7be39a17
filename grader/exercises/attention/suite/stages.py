"""The stage from scores to output at which a computation goes wrong: weights, factor, mask, or values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from grader.api import Findings, Named, Observation, Prepared, differing, factor, imprecise, made_of
from grader.exercises.attention.mistakes import MISTAKES
from grader.exercises.attention.reference import CLASS, FUNCTION, REFERENCE, ROLES, Call
from grader.exercises.attention.suite.questions import NOT_FINITE, WORDS, Asking, Question

FORMULA = "softmax(Q K^T / sqrt(d_k)) V"
CLOSE = 1e-3
FEW = 2  # cases that have to agree on a factor
NONE = "none"  # was found
NAMED: Mapping[str, Named] = {mistake.id: mistake.named for mistake in MISTAKES}


@dataclass(frozen=True)
class Weights:
    """Attention weights as they are and as they should be, and the plain scores Q K^T behind them."""

    got: Tensor
    right: Tensor
    products: Tensor
    depth: int
    hidden: Tensor | None = None  # bool, True = may not be attended to


def obvious(findings: Findings) -> Named | None:
    """A class without any parameter: nothing else can be said of it."""
    if any(seen.facts.get("parameters") == "none at all" for seen in findings.got):
        return NAMED["parameters-not-registered"]
    return None


def conclude(findings: Findings) -> Named | None:
    """A name for what no known mistake explains."""
    component = findings.scenarios[findings.wrong[0]].component
    if findings.random:
        return _random(findings, component)
    if component == CLASS and (odd := _structure(findings)) is not None:
        return odd
    groups = {findings.scenarios[i].group for i in findings.wrong}
    endless = [findings.got[i].facts.get(NOT_FINITE, "none") for i in findings.wrong]
    if groups == {"empty rows"} and all(names.startswith("gradient") for names in endless):
        return NAMED["fully-masked-gradient-nan"]
    whole = [i for i in findings.wrong if findings.got[i].error is None]
    if len(whole) < len(findings.wrong) or not groups & {"numbers", "bool masks", "additive masks", "leaks"}:
        return None
    if _traited(findings) or imprecise(findings) is not None:
        return None
    return _scaled(findings, component) or (_function if component == FUNCTION else _class)(findings)


def _traited(findings: Findings) -> bool:
    """Return whether all that is wrong, and nothing that is right, has a trait in common."""
    wrong = set(findings.wrong)
    shared = frozenset.intersection(*(findings.scenarios[i].traits for i in wrong))
    fine = [s for i, s in enumerate(findings.scenarios) if i not in wrong]
    return any(not any(trait in s.traits for s in fine) for trait in shared)


def _facts(findings: Findings) -> dict[str, str]:
    """All facts of the class, those of its first size first."""
    return {name: text for seen in reversed(findings.got) for name, text in seen.facts.items()}


def _random(findings: Findings, component: str) -> Named | None:
    facts = _facts(findings)
    if component == FUNCTION:
        return NAMED["function-drops"]
    unfound = any(facts.get(f"{word} projection") == NONE for word in WORDS.values())
    if (
        unfound and facts.get("two equal calls") == "the same"
    ):  # one object answers alike: its own weights are hidden
        return NAMED["parameters-not-registered"]
    dropping = {findings.scenarios[i].group for i in findings.wrong} <= {"dropout in eval", "dropout"}
    return NAMED["dropout-in-eval"] if dropping else None


def _structure(findings: Findings) -> Named | None:
    """A name for parameters that are not those of four projections."""
    for i in findings.wrong:
        got, right = findings.got[i].facts, findings.right[i].facts
        if findings.scenarios[i].group != "parameters" or findings.got[i].error is not None:
            continue
        if got["never trained"] != "none":
            return Named(
                "parameters-frozen",
                "Some parameters have requires_grad=False, so they never learn.",
                hint="Search for requires_grad and no_grad in __init__.",
            )
        projections = {WORDS[role]: f"{WORDS[role]} projection" for role in ROLES}
        missing = [word for word, name in projections.items() if got[name] == NONE]
        odd = [f"{word} {got[name]}" for word, name in projections.items() if got[name] != right[name]]
        what = (
            f"The parameters hold no whole projection for {' and '.join(missing)}."
            if missing
            else f"Projections have the wrong shape, {findings.scenarios[i].title}: {', '.join(odd)}."
        )
        return Named(
            "projection-missing" if missing else "projection-shape",
            f"{what} Four are needed, for query, key, value and output, each d_model x d_model: one matrix, or a part "
            "of it for each head.",
            formula="head_i = Attention(Q W_Q, K W_K, V W_V)",
            hint="List your module's named_parameters() with their shapes. `[layer] * n` has the same layer n times.",
        )
    return None


def _question(findings: Findings, i: int) -> Question:
    ask = findings.scenarios[i].ask
    while isinstance(ask, Prepared):
        ask = ask.script
    assert isinstance(ask, Asking)
    return ask.question


def _sizes(asked: Question) -> dict[str, float]:
    """Numbers that a computation of attention has at hand."""
    query, key, _ = asked.inputs
    heads = max(asked.heads, 1)
    sizes = {"num_heads": heads, "d_k": asked.width / heads, "d_model": asked.width}
    return sizes | {
        "Tq": query.size(-2),
        "Tk": key.size(-2),
        "batch size": len(query) if query.dim() > 2 else 1,
    }


def _scaled(findings: Findings, component: str) -> Named | None:
    """A name, if the results are right but for a factor, in all cases of plain numbers (or of masks)."""
    group = findings.scenarios[findings.wrong[0]].group
    here = [i for i, scenario in enumerate(findings.scenarios) if scenario.group == group]
    ways = {"The weights, and so the output, are": "weights", "The output is": "output"}
    if component == CLASS:
        ways = {"The output is": "output", "The input of the output projection is": "before the bias"}
    for where, name in ways.items():
        found = [_factor(findings, i, name) for i in here]
        factors = [one for one in found if one is not None]
        if len(factors) == len(found) >= FEW and any(abs(one - 1) > CLOSE for one in factors):
            said = made_of(factors, [_sizes(_question(findings, i)) for i in here])
            return Named(
                "output-scaled-by-constant",
                f"{where} {said}.",
                formula=FORMULA,
                hint="Look for a multiplication or division after the softmax; there should be none.",
            )
    return None


def _factor(findings: Findings, i: int, name: str) -> float | None:
    right, got = findings.right[i].values, findings.got[i].values
    if name != "before the bias":
        return factor(right[name], got[name]) if name in right and name in got else None
    if "output" not in got:
        return None
    there = "out.bias" in dict(findings.right[i].free).get("biases", ())  # type: ignore[operator]
    bias = _question(findings, i).weights["out.bias"].float() * there  # added last
    return (
        factor(right["output"] - bias, got["output"] - bias)
        if right["output"].shape == got["output"].shape
        else None
    )


def _function(findings: Findings) -> Named | None:
    """A name for what is wrong with the function, from the pairs (output, weights) it gave."""
    for i in findings.wrong:
        got, right, asked = findings.got[i].values, findings.right[i].values, _question(findings, i)
        if "weights" not in got or "weights" not in right or got["weights"].shape != right["weights"].shape:
            continue
        if "weights" not in differing(findings.scenarios[i], findings.right[i], findings.got[i]):
            return _after_weights(right["output"], got["output"])
        named = name_weights(_weights(findings.right[i], findings.got[i], asked, *asked.inputs[:2]))
        if named is not None:
            return named
    return None


def _weights(right: Observation, got: Observation, asked: Question, q: Tensor, k: Tensor) -> Weights:
    wanted = right.values["weights"].double()
    hidden = None if asked.shown is None else ~asked.shown.expand(wanted.shape)
    return Weights(got.values["weights"].double(), wanted, q @ k.transpose(-2, -1), q.size(-1), hidden)


def _after_weights(right: Tensor, got: Tensor) -> Named:
    times = factor(right, got)
    what = "the output is not weights @ value"
    if times is not None:
        what = f"the output is {times:.4g} times weights @ value"
    return Named(
        "output-is-not-weights-times-value",
        f"The weights are right, but {what}. The mistake is after the softmax.",
        formula=FORMULA,
        hint="The last step must be one matrix product, and nothing else.",
    )


def name_weights(shown: Weights) -> Named | None:
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
            f"The weights of a query do not sum to 1: the sums range from {float(sums.min()):.3g} to "
            f"{float(sums.max()):.3g}. {_sums_elsewhere(got)}",
            formula=FORMULA,
            hint="The softmax must run over the keys, and nothing may change the weights afterwards.",
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
            f"Masked keys get weight, up to {leaking:.3g}; it must be 0.",
            formula="softmax(scores + mask)",
            hint="Print the weights beside the mask.",
        )
    if bool(starved.any()):
        return Named(
            "visible-keys-get-nothing",
            f"{int(starved.sum())} keys that may be attended to get weight 0: more is masked than the mask says.",
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
            f"{int(((shown.got <= 0) & visible).sum())} keys get weight 0, although they are not masked.",
            formula=FORMULA,
            hint="Print the weights: where are the zeros?",
        )
    logs, products = _centred(shown.got.clamp(min=1e-30).log(), visible), _centred(shown.products, visible)
    times = float((logs * products).sum() / (products * products).sum())
    rest = float((logs - times * products).square().sum() / logs.square().sum().clamp(min=1e-12))
    if rest < 1e-5 and abs(times * math.sqrt(shown.depth) - 1) > CLOSE:
        return Named(
            "wrong-scale-factor",
            f"The scores are Q K^T times {times:.4g}; with d_k = {shown.depth} it must be 1/sqrt(d_k) = "
            f"{1 / math.sqrt(shown.depth):.4g}.",
            formula=FORMULA,
            hint="What do you divide by, and what is its value?",
        )
    share = 100 * (1 - rest)
    explained = (
        f"only {share:.0f} %" if share < 99.5 else "more than 99 %, but not all,"
    )  # "only 100 %" would be a contradiction
    return Named(
        "scores-not-the-dot-products",
        "The weights of each query sum to 1, but they are not the softmax of Q K^T with any factor: Q K^T explains "
        f"{explained} of their variation between keys.",
        formula=FORMULA,
        hint="Compute one score by hand and compare.",
    )


def _centred(x: Tensor, visible: Tensor) -> Tensor:
    """Less the row's mean: a softmax does not see what is added to a whole row."""
    kept = x.masked_fill(~visible, 0.0)
    return (x - kept.sum(-1, keepdim=True) / visible.sum(-1, keepdim=True).clamp(min=1)).masked_fill(
        ~visible, 0.0
    )


def _class(findings: Findings) -> Named | None:
    """A name for what is wrong with the class, from calls in which one stage shows at a time."""
    stages = {s.title: i for i, s in enumerate(findings.scenarios) if s.group == "stages"}
    if not stages:  # the worker ended before
        return None
    if _facts(findings).get("the first sentence when others change") == "changed":
        return Named(
            "sentences-influence-each-other",
            "The sentences of a batch influence one another: when only the others change, the output of the first one "
            "changes too. Each sentence must be independent.",
            hint="Which dimension is the batch in each step? Print the shapes.",
        )
    even = stages["query and key projections set to zero"]
    if even in findings.wrong and "output" in findings.got[even].values:
        times = factor(findings.right[even].values["output"], findings.got[even].values["output"])
        what = "" if times is None else f" It is {times:.4g} times what it should be."
        return Named(
            "values-not-mixed-right",
            "Even with query and key projections set to zero, where every key has the same weight, the output is "
            f"wrong: it must be W_O applied to the mean of the values.{what} The mistake is in the value projection, "
            "the product of weights and values, the merging of the heads or the output projection.",
            formula="Concat(head_1, ..., head_h) W_O",
            hint="Follow one value from input to output.",
        )
    for title in ("values that spell the weights", "values that spell the weights, masked"):
        i = stages[title]
        if i in findings.wrong and "weights" in findings.got[i].values:
            asked = _question(findings, i)
            there = dict(findings.right[i].free).get("biases", ())
            weights = {n: w for n, w in asked.weights.items() if n.endswith("weight") or n in there}  # type: ignore[operator]
            call = Call(*asked.inputs, None, asked.heads, weights)
            q, k = (REFERENCE.split(call, role, REFERENCE.project(call, role)) for role in ("q", "k"))
            named = name_weights(_weights(findings.right[i], findings.got[i], asked, q, k))
            if named is not None:
                return named
    return None
