"""Mistakes in what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from grader.exercises.transformer.mistakes.collection import DECODE, mistake
from grader.exercises.transformer.reference import Call, Steps


def _finish(steps: Steps, change: Callable[[Tensor], Any]) -> Steps:
    return replace(steps, finish=lambda call, logits: change(steps.finish(call, logits)))


@mistake(
    "softmax-in-model",
    "The model ends with a softmax. It must return raw logits: the loss applies softmax itself.",
    formula=DECODE,
    hint="Which function is applied last, and what does cross_entropy expect?",
    source="bkitano/llama-from-scratch#5",
)
def softmax_in_model(steps: Steps) -> list[Steps]:
    return [_finish(steps, lambda x, d=d: x.softmax(d)) for d in (-1, 1)]  # type: ignore[misc]


@mistake(
    "log-softmax-in-model",
    "The model ends with a log_softmax. It must return raw logits; cross_entropy applies log_softmax itself.",
    formula=DECODE,
    hint="Which function is applied last?",
    source="harvardnlp/annotated-transformer, Generator",
)
def log_softmax_in_model(steps: Steps) -> Steps:
    return _finish(steps, lambda x: x.log_softmax(-1))


@mistake(
    "ids-not-logits",
    "The model returns ids (argmax); it must return logits. Ids are chosen during decoding, and have no "
    "gradient.",
    formula=DECODE,
    hint="What shape is [B, L, V]?",
)
def ids_not_logits(steps: Steps) -> Steps:
    return _finish(steps, lambda x: x.argmax(-1))


@mistake(
    "last-position-only",
    "Only the logits of the last position are returned; training needs those of every position.",
    formula="logits [B, L, V]",
    hint="Is there an index [:, -1] in your file?",
    source="karpathy/nanoGPT (which does so when it generates)",
)
def last_position_only(steps: Steps) -> list[Steps]:
    return [_finish(steps, lambda x: x[:, -1]), _finish(steps, lambda x: x[:, -1:])]


@mistake(
    "logits-reshaped",
    "The logits do not have the shape [B, L, V]: flattened, or with the vocabulary in the middle.",
    formula="logits [B, L, V]",
    hint="Print the shape of the result.",
)
def logits_reshaped(steps: Steps) -> list[Steps]:
    return [
        _finish(steps, lambda x: x.flatten(0, 1)),  # [B * L, V]
        _finish(steps, lambda x: x.transpose(1, 2)),  # [B, V, L]
        _finish(steps, lambda x: x.transpose(0, 1)),  # [L, B, V]
    ]


@mistake(
    "activation-on-logits",
    "The logits go through a ReLU or another activation, or are scaled; they must be returned as the "
    "projection gives them.",
    formula=DECODE,
    hint="Can your logits be negative?",
)
def activation_on_logits(steps: Steps) -> list[Steps]:
    def scaled(call: Call, logits: Tensor) -> Any:
        return steps.finish(call, logits * call.d_model**-0.5)

    return [
        _finish(steps, lambda x: x.relu()),
        _finish(steps, lambda x: x.tanh()),
        _finish(steps, lambda x: x.sigmoid()),
        replace(steps, finish=scaled),
        replace(steps, project=lambda call, x: steps.project(call, x.relu())),
    ]


@mistake(
    "nothing-returned",
    "encode, decode or forward returns None: its `return` is missing.",
    hint="Look at the last line of each method.",
)
def nothing_returned(steps: Steps) -> list[Steps]:
    def forward(inner: Steps, call: Call, src: Tensor, tgt: Tensor) -> None:
        steps.forward(inner, call, src, tgt)

    def decode(inner: Steps, call: Call, tgt: Tensor, memory: Tensor, src: Tensor) -> None:
        steps.decode(inner, call, tgt, memory, src)

    return [replace(steps, forward=forward), replace(steps, decode=decode)]
