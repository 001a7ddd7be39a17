"""Mistakes in the loss of one token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from grader.exercises.loss.mistakes.collection import TOKEN, mistake
from grader.exercises.loss.reference import Steps


def with_logs(steps: Steps, *ways: Callable[[Tensor], Tensor]) -> list[Steps]:
    """Something else than the logarithm of the softmax."""
    return [replace(steps, logs=lambda _call, logits, way=way: way(logits)) for way in ways]  # type: ignore[misc]


@mistake(
    "softmax-before-cross-entropy",
    "A softmax is applied before cross_entropy, which applies one itself. The loss then cannot get near 0, "
    "however good the model is.",
    formula=TOKEN,
    hint="cross_entropy takes raw logits. What does it do with them first?",
    source="bkitano/llama-from-scratch#5",
)
def softmax_before_cross_entropy(steps: Steps) -> list[Steps]:
    return with_logs(steps, lambda x: x.softmax(-1).log_softmax(-1), lambda x: x.sigmoid().log_softmax(-1))


@mistake(
    "softmax-missing",
    "Logits (or probabilities) are used as log-probabilities: nll_loss needs the result of log_softmax. "
    "Such a loss is unbounded below.",
    formula=TOKEN,
    hint="Which of nll_loss and cross_entropy applies log_softmax itself?",
    source="PyTorch, torch.nn.functional.nll_loss",
)
def softmax_missing(steps: Steps) -> list[Steps]:
    return with_logs(steps, lambda x: x, lambda x: x.softmax(-1))


@mistake(
    "softmax-over-another-dimension",
    "The softmax runs over the positions (or the sentences), not over the vocabulary.",
    formula="softmax over the last dimension of [B, L, V]",
    hint="Which values must sum to 1?",
    source="jadore801120/attention-is-all-you-need-pytorch#19",
)
def softmax_over_another_dimension(steps: Steps) -> list[Steps]:
    return with_logs(steps, lambda x: x.log_softmax(1), lambda x: x.log_softmax(0))


@mistake(
    "logarithm-overflows",
    "Softmax and logarithm are computed in two steps: exp of a large logit is infinite, and so is the log "
    "of a probability that was rounded to 0. For logits of +-2000 the loss is infinite or NaN; log_softmax "
    "avoids that.",
    formula=TOKEN,
    hint="What is exp(2000), and what is log(0)?",
    source="harvardnlp/annotated-transformer#39",
)
def logarithm_overflows(steps: Steps) -> list[Steps]:
    return with_logs(
        steps,
        lambda x: x.softmax(-1).log(),
        lambda x: (x.exp() / x.exp().sum(-1, keepdim=True)).log(),
        lambda x: x - x.exp().sum(-1, keepdim=True).log(),
    )


@mistake(
    "logarithm-of-shifted-share",
    "A small number is added to the probability before the logarithm (or it is clamped) to avoid log(0). "
    "That limits the loss where the model is most wrong, and removes the gradient there; use log_softmax "
    "instead.",
    formula=TOKEN,
    hint="What is the loss of a token with logit -2000, when another has +2000?",
)
def logarithm_of_shifted_share(steps: Steps) -> list[Steps]:
    made: list[Steps] = []
    for small in (1e-9, 1e-8, 1e-10, 1e-12, 1e-7, 1e-6, 1e-20):
        made += with_logs(
            steps,
            lambda x, small=small: (x.softmax(-1) + small).log(),  # type: ignore[misc]
            lambda x, small=small: x.softmax(-1).clamp(min=small).log(),  # type: ignore[misc]
        )
    return made


@mistake(
    "sign-missing",
    "The sign is wrong: the loss is negative. Training minimizes it, and would make the right tokens less "
    "probable.",
    formula=TOKEN,
    hint="Is the logarithm of a probability positive or negative?",
)
def sign_missing(steps: Steps) -> Steps:
    return replace(steps, finish=lambda logits, loss: steps.finish(logits, -loss))


@mistake(
    "other-logarithm",
    "The logarithm is not the natural one (log2, log10), or the perplexity, exp(loss), is returned.",
    formula=TOKEN,
    hint="If all V ids are equally probable, the loss of a token should be log(V). What is yours?",
)
def other_logarithm(steps: Steps) -> list[Steps]:
    return [
        replace(steps, finish=lambda logits, loss: steps.finish(logits, loss / 0.6931471805599453)),
        replace(steps, finish=lambda logits, loss: steps.finish(logits, loss / 2.302585092994046)),
        replace(steps, finish=lambda logits, loss: steps.finish(logits, loss.exp())),
    ]
