"""Mistakes in the causal mask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.masks.mistakes.collection import CAUSAL, in_causal, mistake
from grader.exercises.masks.reference import Device, Steps


def only_in_decoder(steps: Steps, changed: Callable[[Tensor, Tensor], Any]) -> Steps:
    """The decoder mask made with a causal mask of its own, from the tokens and the right one."""
    return replace(
        steps,
        finish=lambda tokens, pad, _mask: steps.finish(
            tokens,
            pad,
            steps.join(
                changed(tokens, steps.causal(tokens.size(1), tokens.device)), steps.padding(tokens, pad)
            ),
        ),
    )


def both(steps: Steps, change: Callable[[Tensor], Any]) -> list[Steps]:
    """In causal_mask and what is made of it, or in decoder_mask alone."""
    return [in_causal(steps, change), only_in_decoder(steps, lambda _tokens, mask: change(mask))]


@mistake(
    "causal-missing",
    "Later positions are not masked: each position may attend to those after it. A decoder that sees the "
    "token it should predict learns to copy it, and cannot generate text.",
    formula=CAUSAL,
    hint="Which keys may the first query attend to?",
    source="jadore801120/attention-is-all-you-need-pytorch#19",
)
def causal_missing(steps: Steps) -> list[Steps]:
    return [*both(steps, torch.ones_like), replace(steps, join=lambda _causal, padding: padding)]


@mistake(
    "causal-flipped",
    "The wrong triangle is used (triu instead of tril): each position may attend to itself and later "
    "positions, and earlier ones are masked.",
    formula=CAUSAL,
    hint="Row 0 is the first query, which attends to one key only. How many keys are allowed in your row 0?",
    source="pytorch/pytorch#28272",
)
def causal_flipped(steps: Steps) -> list[Steps]:
    return both(steps, lambda m: m.mT)


@mistake(
    "causal-inverted",
    "The causal mask is inverted: it is True where attention is forbidden. Here True means 'may be attended "
    "to'.",
    formula=CAUSAL,
    hint="A mask made with triu(diagonal=1) marks later positions. What does True mean here?",
    source="pytorch/pytorch#120668",
)
def causal_inverted(steps: Steps) -> list[Steps]:
    return both(steps, lambda m: ~m)


@mistake(
    "causal-hides-itself",
    "The diagonal is masked: a position may not attend to itself, and the first query has no key left. "
    "Only later positions must be masked.",
    formula=CAUSAL,
    hint="Is it j < i or j <= i? Look at the `diagonal` argument.",
    source="pytorch/tutorials#2250",
)
def causal_hides_itself(steps: Steps) -> list[Steps]:
    return both(steps, lambda m: m.tril(-1))


@mistake(
    "causal-shows-next",
    "The triangle reaches one diagonal too far: each position may attend to the next one, which is the "
    "token it should predict.",
    formula=CAUSAL,
    hint="Which keys may the first query attend to? Look at the `diagonal` argument.",
    source="pytorch/tutorials#2250",
)
def causal_shows_next(steps: Steps) -> list[Steps]:
    return both(steps, lambda m: torch.ones_like(m).tril(1))


@mistake(
    "causal-diagonal-only",
    "A position may attend to itself only (or to itself and the one before it): earlier positions are "
    "masked.",
    formula=CAUSAL,
    hint="How many keys may the last query attend to?",
)
def causal_diagonal_only(steps: Steps) -> list[Steps]:
    return [way for back in (0, -1) for way in both(steps, lambda m, back=back: m.triu(back))]  # type: ignore[misc]


@mistake(
    "causal-size-wrong",
    "The causal mask does not have the size of the sequence: its size is fixed, one too large or too "
    "small, or that of another dimension (the batch).",
    formula="causal_mask(size) [1, 1, size, size], with size = T",
    hint="Print the shapes of the mask and of the tokens.",
    source="mlverse/torch#1473",
)
def causal_size_wrong(steps: Steps) -> list[Steps]:
    sizes: tuple[Callable[[int], int], ...] = (lambda _n: 512, lambda n: n + 1, lambda n: max(n - 1, 0))
    return [
        *(replace(steps, causal=lambda n, device, s=s: steps.causal(s(n), device)) for s in sizes),  # type: ignore[misc]
        only_in_decoder(steps, lambda tokens, _mask: steps.causal(tokens.size(0), tokens.device)),
    ]


@mistake(
    "device-hard-coded",
    "The mask is created on the CPU whatever device is requested, so a model on a GPU cannot use it.",
    formula="torch.ones(..., device=device)",
    hint="A new tensor is created on the CPU unless you pass `device`.",
    source="mlverse/torch#1473",
)
def device_ignored(steps: Steps) -> Steps:
    def causal(size: int, _device: Device) -> Any:
        return steps.causal(size, None)

    return replace(steps, causal=causal)
