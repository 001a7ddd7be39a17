"""Mistakes in label smoothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.loss.mistakes.collection import SMOOTH, mistake
from grader.exercises.loss.reference import Call, Steps

PAPER = "Attention Is All You Need, section 5.4"


def smoothed(steps: Steps, *ways: Callable[[Call, Tensor, Tensor], Tensor]) -> list[Steps]:
    """Other shares of the ids."""
    return [replace(steps, smooth=way) for way in ways]


@mistake(
    "smoothing-ignored",
    "The argument `smoothing` is not used.",
    formula=SMOOTH,
    hint="See label_smoothing.",
    source=PAPER,
)
def smoothing_ignored(steps: Steps) -> list[Steps]:
    return smoothed(steps, lambda _call, _logs, right: -right)


@mistake(
    "smoothing-fixed",
    "The argument `smoothing` is ignored: a fixed value (0.1) is used.",
    formula=SMOOTH,
    hint="What is the default of the argument?",
    source=PAPER,
)
def smoothing_fixed(steps: Steps) -> list[Steps]:
    return smoothed(steps, lambda _call, logs, right: -(0.9 * right + 0.1 * logs.mean(-1)))


@mistake(
    "smoothing-inverted",
    "1 - e and e are swapped: the right id gets the small probability.",
    formula=SMOOTH,
    hint="Which probability should the right id have if smoothing is 0.1?",
)
def smoothing_inverted(steps: Steps) -> list[Steps]:
    return smoothed(
        steps,
        lambda call, logs, right: (
            -((call.smoothing * right + (1 - call.smoothing) * logs.mean(-1)) if call.smoothing else right)
        ),
        lambda call, logs, right: -(call.smoothing * right + (1 - call.smoothing) * logs.mean(-1)),
    )


@mistake(
    "smoothing-shares-differ",
    "The smoothing e is not distributed over all V ids: only over the V - 1 wrong ones, or over those that "
    "are not PAD, or over V - 2. cross_entropy distributes it over all, including the right id and PAD.",
    formula=SMOOTH,
    hint="How many ids get e / V? Which probability does the right id get in all?",
    source="harvardnlp/annotated-transformer#38",
)
def smoothing_shares_differ(steps: Steps) -> list[Steps]:
    def wrong_ids(call: Call, logs: Tensor, right: Tensor) -> Tensor:
        doubt = (logs.sum(-1) - right) / (logs.size(-1) - 1)
        return -((1 - call.smoothing) * right + call.smoothing * doubt)

    def wrong_but_not_pad(call: Call, logs: Tensor, right: Tensor) -> Tensor:
        doubt = (logs.sum(-1) - right - logs[..., call.pad]) / (logs.size(-1) - 2)
        return -((1 - call.smoothing) * right + call.smoothing * doubt)

    def of_size(less: int, without_pad: bool) -> Callable[[Call, Tensor, Tensor], Tensor]:
        def shares(call: Call, logs: Tensor, right: Tensor) -> Tensor:
            total = logs.sum(-1) - logs[..., call.pad] * without_pad
            return -((1 - call.smoothing) * right + call.smoothing * total / (logs.size(-1) - less))

        return shares

    def right_only_once(call: Call, logs: Tensor, right: Tensor) -> Tensor:
        doubt = (logs.sum(-1) - right) / logs.size(-1)
        return -((1 - call.smoothing) * right + call.smoothing * doubt)

    ways = (of_size(0, True), of_size(1, True), of_size(1, False), of_size(2, False), of_size(2, True))
    return smoothed(steps, wrong_ids, wrong_but_not_pad, right_only_once, *ways)


@mistake(
    "smoothing-added-on-top",
    "The target probabilities do not sum to 1: the right id keeps probability 1 and the smoothing is "
    "added, or every id gets e instead of e / V, or none gets it.",
    formula=SMOOTH,
    hint="What is the sum of the target probabilities of all ids?",
)
def smoothing_added_on_top(steps: Steps) -> list[Steps]:
    return smoothed(
        steps,
        lambda call, logs, right: -(right + call.smoothing * logs.mean(-1)),
        lambda call, logs, right: -((1 - call.smoothing) * right + call.smoothing * logs.sum(-1)),
        lambda call, _logs, right: -(1 - call.smoothing) * right,
    )


@mistake(
    "divergence-for-cross-entropy",
    "The KL divergence (KLDivLoss) is returned. It is smaller than the cross-entropy by the entropy of the "
    "target distribution; without smoothing both are equal.",
    formula=SMOOTH,
    hint="What is the loss of a model that predicts exactly the target distribution?",
    source="PyTorch, torch.nn.KLDivLoss",
)
def divergence_for_cross_entropy(steps: Steps) -> list[Steps]:
    def less_entropy(call: Call, logs: Tensor, right: Tensor) -> Tensor:
        entropy = torch.zeros_like(right)
        for v in range(
            logs.size(-1)
        ):  # a loss is linear in the logarithms: one alone shows the share of its id
            alone = torch.zeros_like(logs).index_fill(-1, torch.tensor(v, device=logs.device), 1.0)
            share = -steps.smooth(call, alone, (call.target == v).to(right))
            entropy = entropy - torch.xlogy(share, share)
        return steps.smooth(call, logs, right) - entropy.detach()

    return smoothed(steps, less_entropy)
