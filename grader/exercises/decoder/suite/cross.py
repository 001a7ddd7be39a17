"""Scenarios for the decoder alone: a memory as long as x, so that nothing crashes, and the gradient to memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.api import Answer, Client, Draws, Scenario
from grader.exercises.encoder_and_decoder.suite import masks, single, stacks
from grader.exercises.encoder_and_decoder.suite.kinds import (
    DECODER,
    Size,
    Way,
    batch_of,
    call,
    layer_of,
    layer_weights,
)

EQUAL = Size(2, 4, 8, 4)
BOTH = masks.every(DECODER, masks.separate)
NUMBERS = masks.every(DECODER, masks.of_numbers)
MIXED: masks.Forms = {"src_mask": masks.padding, "tgt_mask": masks.of_numbers}


def _of_a_place(one: single.Maker, norm: str, ask_for: Callable[..., single.Ask]) -> list[Scenario]:
    """`asked` makes the script, given what is added to the seed."""

    def title(text: str) -> str:
        return f'norm="{norm}", memory as long as x{text}'

    alone = [
        one(title(f", {name} alone"), "masks", ask_for(3 + i, forms={name: masks.separate}))
        for i, name in enumerate(("src_mask", "tgt_mask"))
    ]
    return [
        one(title(""), "memory", ask_for(1)),
        one(title(", two masks"), "masks", ask_for(2, forms=BOTH)),
        *alone,
        one(title(", two additive masks"), "masks", ask_for(5, forms=NUMBERS)),
        one(title(", a bool mask and an additive one"), "masks", ask_for(6, forms=MIXED)),
        one(title(", the gradient"), "gradients", ask_for(7, backward=True, forms=BOTH)),
    ]


def _one_attention(seed: int, norm: str) -> single.Ask:
    """The output of a layer that gets one attention for both places."""

    def ask(client: Client) -> Answer:
        draws = Draws(seed)
        weights = layer_weights(DECODER, draws, EQUAL.width)
        weights["cross_attention"] = weights["self_attention"]
        layer, _ = layer_of(client, DECODER, weights, Way(norm, shared=True))
        return call(client, layer, batch_of(DECODER, draws, EQUAL))

    return ask


def layer_scenarios(seed: int) -> list[Scenario]:
    """Of `DecoderLayer`."""
    found = []
    for i, norm in enumerate(single.PLACES):

        def ask_for(offset: int, norm: str = norm, start: int = seed + 100 * i, **extra: Any) -> single.Ask:
            return single.numbers(DECODER, start + offset, EQUAL, Way(norm), **extra)

        one = single.Maker(DECODER, DECODER.layer)
        found += _of_a_place(one, norm, ask_for)
        shared = _one_attention(seed + 100 * i + 8, norm)
        found.append(one(f'norm="{norm}", one attention for both places', "memory", shared))
    return found


def stack_scenarios(seed: int) -> list[Scenario]:
    """Of `Decoder`."""
    found = []
    for i, norm in enumerate(single.PLACES):

        def ask_for(offset: int, norm: str = norm, start: int = seed + 100 * i, **extra: Any) -> single.Ask:
            return stacks.numbers(DECODER, start + offset, 3, EQUAL, Way(norm), **extra)

        found += _of_a_place(single.Maker(DECODER, DECODER.stack), norm, ask_for)
    return found
