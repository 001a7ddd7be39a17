"""Mistakes in what turns scores into weights, and in the two products around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import normalize

from grader.exercises.attention.mistakes.collection import PAPER, SOFTMAX, mistake
from grader.exercises.attention.reference import Call, Steps

KEYS = "The weights of each query must sum to 1 over the keys, so the softmax runs over the last dimension."


def along(dim: int) -> Callable[[Call, Tensor], Tensor]:
    """A softmax over some other dimension."""
    return lambda _call, scores: scores.softmax(dim)


def whole(scores: Tensor) -> Tensor:
    return scores.flatten(-2).softmax(-1).view_as(scores)


@mistake(
    "softmax-over-queries",
    "The softmax runs over the queries: the columns of the weights sum to 1, not the rows. In a decoder, "
    f"earlier positions then depend on later ones. {KEYS}",
    formula=SOFTMAX,
    hint="The weights are [..., queries, keys]: which `dim` are the keys?",
    source="labmlai/annotated_deep_learning_paper_implementations#146",
)
def softmax_over_queries(steps: Steps) -> Steps:
    return replace(steps, normalise=along(-2))


@mistake(
    "softmax-over-heads",
    f"The softmax runs over dimension 1, which in [batch, heads, queries, keys] is the heads. {KEYS}",
    formula=SOFTMAX,
    hint="Count dimensions from the end: -1 is the keys.",
    source="FudanNLP/fastNLP#254",
)
def softmax_over_heads(steps: Steps) -> list[Steps]:
    return [replace(steps, normalise=along(1)), replace(steps, normalise=along(-3))]


@mistake(
    "softmax-over-batch",
    "The softmax runs over dimension 0, the batch, so the sentences of a batch influence one another. "
    f"{KEYS}",
    formula=SOFTMAX,
    hint="Count dimensions from the end: -1 is the keys.",
    source="PetrochukM/PyTorch-NLP#2",
)
def softmax_over_batch(steps: Steps) -> Steps:
    return replace(steps, normalise=along(0))


@mistake(
    "softmax-without-dim",
    "The softmax is called without `dim`. PyTorch then picks dimension 0 or 1, depending on the number of "
    f"dimensions, and neither is the keys. {KEYS}",
    formula=SOFTMAX,
    hint="Pass `dim` to the softmax.",
    source="jadore801120/attention-is-all-you-need-pytorch#19",
)
def softmax_without_dim(steps: Steps) -> Steps:
    return replace(steps, normalise=lambda _call, s: s.softmax(0 if s.dim() in (1, 3) else 1))


@mistake(
    "softmax-over-everything",
    "The softmax runs over all queries and keys at once: all weights of a sentence together sum to 1, not "
    f"those of each query. {KEYS}",
    formula=SOFTMAX,
    hint="Was the tensor flattened before the softmax?",
)
def softmax_over_everything(steps: Steps) -> list[Steps]:
    return [
        replace(steps, normalise=lambda _call, s: whole(s)),
        replace(steps, normalise=lambda _call, s: s.flatten().softmax(0).view_as(s)),
    ]


@mistake(
    "no-softmax",
    "There is no softmax: the scores are used as weights. They may be negative, and a row need not sum to 1.",
    formula=SOFTMAX,
    hint="What turns scores into weights that sum to 1?",
)
def no_softmax(steps: Steps) -> Steps:
    return replace(steps, normalise=lambda _call, s: s)


@mistake(
    "sigmoid-weights",
    "A sigmoid is used instead of the softmax: every weight is between 0 and 1, but a row does not sum to 1.",
    formula=SOFTMAX,
    hint="What turns scores into weights that sum to 1?",
)
def sigmoid_weights(steps: Steps) -> Steps:
    return replace(steps, normalise=lambda _call, s: s.sigmoid())


@mistake(
    "log-softmax",
    "log_softmax is used instead of softmax: the weights are log-probabilities, which are negative.",
    formula=SOFTMAX,
    hint="Weights are probabilities, not their logarithms.",
)
def log_softmax(steps: Steps) -> Steps:
    return replace(steps, normalise=lambda _call, s: s.log_softmax(-1))


@mistake(
    "exp-not-normalised",
    "exp(scores) is used without dividing by the sum of the row: the weights are positive, but a row does "
    "not sum to 1.",
    formula=SOFTMAX,
    hint="What is the denominator of the softmax?",
)
def exp_not_normalised(steps: Steps) -> list[Steps]:
    return [
        replace(steps, normalise=lambda _call, s: s.exp()),
        replace(steps, normalise=lambda _call, s: (s - s.amax(-1, keepdim=True)).exp().nan_to_num()),
    ]


@mistake(
    "softmax-overflow",
    "The softmax is computed as exp(x) / sum(exp(x)) without subtracting the row's maximum first: large "
    "scores overflow to infinity, and infinity divided by infinity is NaN.",
    formula="softmax(x) = exp(x - max(x)) / sum(exp(x - max(x)))",
    hint="Subtracting the same number from a whole row does not change a softmax.",
)
def softmax_overflow(steps: Steps) -> list[Steps]:
    def plain(_call: Call, scores: Tensor) -> Tensor:
        return scores.exp() / scores.exp().sum(-1, keepdim=True)

    def guarded(_call: Call, scores: Tensor) -> Tensor:
        return scores.exp() / scores.exp().sum(-1, keepdim=True).clamp(min=1e-9)

    def cleaned(call: Call, scores: Tensor) -> Tensor:
        return plain(call, scores).nan_to_num(0.0)

    return [replace(steps, normalise=way) for way in (plain, guarded, cleaned)]


@mistake(
    "softmax-twice",
    "The softmax is applied twice. The second one makes the weights almost uniform, and gives weight to "
    "masked keys.",
    formula=SOFTMAX,
    hint="How many times is softmax called between scores and weights?",
)
def softmax_twice(steps: Steps) -> Steps:
    return replace(steps, reweigh=lambda _call, w: w.softmax(-1))


@mistake(
    "softmax-plus-one",
    "The denominator of the softmax contains an extra 1 (or another constant), so a row sums to less than 1.",
    formula="softmax(x)_i = exp(x_i) / sum_j exp(x_j)",
    hint="What exactly do you divide by?",
)
def softmax_plus_one(steps: Steps) -> list[Steps]:
    def quiet(_call: Call, scores: Tensor) -> Tensor:
        return scores.exp() / (1 + scores.exp().sum(-1, keepdim=True))

    def stable(_call: Call, scores: Tensor) -> Tensor:
        top = scores.amax(-1, keepdim=True).clamp(min=0)
        return (scores - top).exp() / ((-top).exp() + (scores - top).exp().sum(-1, keepdim=True))

    return [replace(steps, normalise=quiet), replace(steps, normalise=stable)]


@mistake(
    "queries-and-keys-swapped",
    "Q and K are swapped: the scores are K Q^T, so each row belongs to a key, and the softmax runs over "
    "the queries.",
    formula=SOFTMAX,
    hint="Rows of the scores are queries, columns are keys.",
)
def queries_and_keys_swapped(steps: Steps) -> Steps:
    return replace(steps, score=lambda _call, q, k: k @ q.transpose(-2, -1))


@mistake(
    "key-not-transposed",
    "The key is not transposed in Q K^T (or two other dimensions of it are). `key.transpose(-2, -1)` turns "
    "[..., Tk, d_k] into [..., d_k, Tk].",
    formula=SOFTMAX,
    hint="Write the shapes of both factors below each other.",
)
def key_not_transposed(steps: Steps) -> list[Steps]:
    return [
        replace(steps, score=lambda _call, q, k: q @ k),
        replace(steps, score=lambda _call, q, k: q @ k.transpose(1, 2)),
        replace(steps, score=lambda _call, q, k: q @ k.permute(*reversed(range(k.dim())))),
    ]


def _other(call: Call, role: str, steps: Steps) -> Tensor:
    if not call.heads:
        return call.inputs[("q", "k").index(role)]
    return steps.split(call, role, steps.project(call, role))


@mistake(
    "weights-times-query",
    "The weights are multiplied by the query; they must be multiplied by the value.",
    formula=SOFTMAX,
    hint="Which of the three inputs does the last product take?",
)
def weights_times_query(steps: Steps) -> Steps:
    return replace(steps, mix=lambda call, w, _v: w @ _other(call, "q", steps))


@mistake(
    "weights-times-key",
    "The weights are multiplied by the key; they must be multiplied by the value.",
    formula=SOFTMAX,
    hint="Which of the three inputs does the last product take?",
)
def weights_times_key(steps: Steps) -> Steps:
    return replace(steps, mix=lambda call, w, _v: w @ _other(call, "k", steps))


@mistake(
    "weights-transposed",
    "The weights are transposed before they are multiplied by the values (W^T V): each output uses a "
    "column of the weights instead of its row.",
    formula=SOFTMAX,
    hint="The weights are [queries, keys], the values [keys, d_v].",
)
def weights_transposed(steps: Steps) -> Steps:
    return replace(steps, mix=lambda _call, w, v: w.transpose(-2, -1) @ v)


@mistake(
    "scores-absolute",
    "The scores lose their sign (abs or square) before the softmax, so a key that is opposite to the query "
    "gets as much weight as one that is equal to it.",
    formula=SOFTMAX,
    hint="Scores may be negative: they give small weights.",
    source=PAPER,
)
def scores_absolute(steps: Steps) -> list[Steps]:
    def without(sign: Callable[[Tensor], Tensor]) -> Steps:
        return replace(steps, scale=lambda call, s, q, k: sign(steps.scale(call, s, q, k)))

    return [without(torch.abs), without(torch.square), without(torch.relu)]


@mistake(
    "scores-of-unit-vectors",
    "Query or key (or both, as in cosine similarity) is normalized to length 1; the paper's score is the "
    "plain dot product.",
    formula=SOFTMAX,
    hint="The formula has no normalization.",
)
def scores_of_unit_vectors(steps: Steps) -> list[Steps]:
    def cosine(_call: Call, q: Tensor, k: Tensor) -> Tensor:
        return normalize(q, dim=-1) @ normalize(k, dim=-1).mT

    def query_alone(_call: Call, q: Tensor, k: Tensor) -> Tensor:
        return normalize(q, dim=-1) @ k.mT

    def key_alone(_call: Call, q: Tensor, k: Tensor) -> Tensor:
        return q @ normalize(k, dim=-1).mT

    measured = [replace(steps, score=way) for way in (cosine, query_alone, key_alone)]
    return [*measured, *(replace(way, scale=lambda _call, s, _q, _k: s) for way in measured)]


@mistake(
    "scores-negated",
    "The scores have the wrong sign: the keys that match a query least get the largest weight.",
    formula=SOFTMAX,
    hint="Is something subtracted or negated on the way to the softmax?",
)
def scores_negated(steps: Steps) -> Steps:
    return replace(steps, scale=lambda call, s, q, k: -steps.scale(call, s, q, k))
