"""Mistakes in the attention of one step."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.attention.reference import Call
from grader.exercises.kv_cache.mistakes.collection import HEADS, PAPER, STEP, mistake
from grader.exercises.kv_cache.reference import Steps


@mistake(
    "causal-mask-of-one-row",
    "A causal mask with a single row is aligned at the top left, so the new position sees the first key "
    "only. The query is the last position: it may attend to the whole cache, and needs no mask.",
    formula=STEP,
    hint="Print torch.ones(1, 4).tril().",
    source="pytorch/pytorch#103082, #108108; pytorch/executorch#22426",
)
def causal_top_left(steps: Steps) -> Steps:
    def mask(call: Call, scores: Tensor) -> Tensor:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()  # [1, T]
        return steps.mask(call, scores).masked_fill(~seen, -math.inf)

    return replace(steps, mask=mask)


@mistake(
    "scale-missing",
    "The scores are not divided by sqrt(d_k).",
    formula=STEP,
    hint="What is between q K^T and softmax in the formula?",
    source=f"{PAPER}; delzac/cntkx#10",
)
def scale_missing(steps: Steps) -> Steps:
    return replace(steps, scale=lambda _call, scores, _q, _k: scores)


@mistake(
    "scale-wrong",
    "The scores are divided by something other than sqrt(d_k), where d_k is the size of one head: by "
    "sqrt(d_model), by d_k, or by the square root of the cache's length; or they are multiplied.",
    formula=STEP,
    hint="d_k = d_model / num_heads. Print your divisor.",
    source=f"{PAPER}; aladdinpersson/Machine-Learning-Collection#30; thegregyang/NTK4A#3",
)
def scale_wrong(steps: Steps) -> list[Steps]:
    factors: tuple[Callable[[Call, Tensor], float], ...] = (
        lambda call, _k: call.query.size(-1) ** -0.5,
        lambda _call, k: 1 / k.size(-1),
        lambda _call, k: k.size(-2) ** -0.5,
        lambda _call, k: k.size(-1) ** 0.5,
        lambda call, _k: call.heads**-0.5,
    )
    return [
        replace(steps, scale=lambda call, scores, _q, k, f=f: scores * f(call, k))  # type: ignore[misc]
        for f in factors
    ]


@mistake(
    "softmax-over-other-dimension",
    "The softmax runs over another dimension than the keys. Over the queries, of which there is one, every "
    "weight is 1, and the values are only summed.",
    formula=STEP,
    hint="Do the weights of a query sum to 1?",
    source="labmlai/annotated_deep_learning_paper_implementations#146; PetrochukM/PyTorch-NLP#2",
)
def softmax_over_other(steps: Steps) -> list[Steps]:
    return [
        replace(steps, normalise=lambda _call, scores, d=d: scores.softmax(d))  # type: ignore[misc]
        for d in (2, 1, 0)
    ]


@mistake(
    "softmax-missing",
    "There is no softmax: the scores, or another function of them, are used as weights.",
    formula=STEP,
    hint="Do the weights of a query sum to 1?",
)
def softmax_missing(steps: Steps) -> list[Steps]:
    changes: tuple[Callable[[Tensor], Tensor], ...] = (
        lambda scores: scores,
        torch.sigmoid,
        lambda scores: scores.log_softmax(-1),
    )
    return [replace(steps, normalise=lambda _call, scores, f=f: f(scores)) for f in changes]  # type: ignore[misc]


@mistake(
    "softmax-overflows",
    "The softmax is computed as exp(x) / sum(exp(x)), which overflows for large scores. Subtract the "
    "maximum first.",
    formula="exp(x - max(x)) / sum(exp(x - max(x)))",
    hint="What is exp(1000)?",
)
def softmax_overflows(steps: Steps) -> Steps:
    return replace(steps, normalise=lambda _call, s: s.exp() / s.exp().sum(-1, keepdim=True))


@mistake(
    "keys-mixed-not-values",
    "The weights are multiplied by the keys; multiply them by the values, which have their own projection.",
    formula=STEP,
    hint="What do the weights multiply?",
    source="ethen8181/machine-learning#13",
)
def keys_mixed(steps: Steps) -> Steps:
    return replace(
        steps,
        extend=lambda inner, call, cache, k, v: (lambda both: (both[0], both[0]))(
            steps.extend(inner, call, cache, k, v)
        ),
    )


@mistake(
    "one-head",
    "There is a single head: d_model is not split into num_heads parts.",
    formula=HEADS,
    hint="Where is num_heads used?",
    source="Attention Is All You Need, section 3.2.2",
)
def one_head(steps: Steps) -> Steps:
    return replace(steps, split=lambda _call, _role, x: x.unsqueeze(1))  # [B, 1, 1, D]


@mistake(
    "heads-interleaved",
    "The heads are split so that their columns alternate. Head h must get the columns h*d .. (h+1)*d.",
    formula=HEADS,
    hint="view(B, T, num_heads, d), or view(B, T, d, num_heads)?",
)
def heads_interleaved(steps: Steps) -> list[Steps]:
    def split(call: Call, _role: str, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        return x.view(batch, length, width // call.heads, call.heads).permute(0, 3, 1, 2)  # [B, H, T, d]

    def merge(_call: Call, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1).flatten(2)  # [B, T, d, H] -> [B, T, D]

    return [
        replace(steps, split=split, merge=merge),
        replace(steps, merge=merge),
        replace(steps, split=split),
    ]


@mistake(
    "heads-averaged",
    "The heads are summed or averaged; they must be concatenated.",
    formula=HEADS,
    hint="What does Concat do?",
    source="awf/functional-transformer#8",
)
def heads_averaged(steps: Steps) -> list[Steps]:
    def merged(reduce: Callable[[Tensor], Tensor]) -> Steps:
        return replace(steps, merge=lambda call, x: reduce(x).repeat(1, 1, call.heads))

    return [merged(lambda x: x.mean(1)), merged(lambda x: x.sum(1))]


@mistake(
    "cached-heads-reshaped",
    "The cached keys are split into heads by a view without a transpose: with more than one position, "
    "features of different positions end up in one head.",
    formula="[B, T, D] -> view(B, T, H, d) -> transpose(1, 2)",
    hint="In which order are the elements of [B, T, D] in memory?",
    source="reczoo/FuxiCTR#30; hyunwoongko/transformer#15",
)
def cached_heads_reshaped(steps: Steps) -> Steps:
    def mixed(one: Tensor) -> Tensor:
        flat = one.transpose(1, 2).flatten(2)  # [B, H, T, d] -> [B, T, D]
        return flat.reshape(one.shape)

    def scores(call: Call, q: Tensor, k: Tensor) -> Tensor:
        return steps.score(call, q, mixed(k))

    return replace(steps, score=scores, mix=lambda call, weights, v: steps.mix(call, weights, mixed(v)))


@mistake(
    "residual-inside",
    "x is added to the output. The residual connection belongs in the layer around attention, which would "
    "add x again.",
    formula=STEP,
    hint="Is there a + x in the formula?",
)
def residual_inside(steps: Steps) -> Steps:
    return replace(steps, finish=lambda call, out, cache: steps.finish(call, call.query + out, cache))
