"""Mistakes in how the decoder mask is put together."""

from __future__ import annotations

from dataclasses import replace

import torch

from grader.exercises.masks.mistakes.collection import DECODER, in_decoder, mistake
from grader.exercises.masks.reference import Steps


@mistake(
    "or-in-place-of-and",
    "The two masks are combined by OR: a key is allowed as soon as one of them allows it. So all later "
    "tokens are allowed, and PAD at earlier positions.",
    formula=DECODER,
    hint="A key is allowed if both masks allow it. What do | and + do to two bools?",
)
def or_in_place_of_and(steps: Steps) -> Steps:
    return replace(steps, join=lambda causal, padding: causal | padding)


@mistake(
    "masks-compared",
    "The two masks are compared (== or !=), not combined by AND: where both mask a key, == gives True, so "
    "padded keys at later positions are allowed.",
    formula=DECODER,
    hint="What is False == False?",
    source="Biohub/esm#299",
)
def masks_compared(steps: Steps) -> list[Steps]:
    return [
        replace(steps, join=lambda causal, padding: causal == padding),
        replace(steps, join=lambda causal, padding: causal ^ padding),
    ]


@mistake(
    "joined-mask-inverted",
    "The decoder mask is inverted: it is True where attention is forbidden.",
    formula=DECODER,
    hint="True means that a key may be attended to, in all three masks.",
    source="pytorch/pytorch#170415",
)
def joined_mask_inverted(steps: Steps) -> Steps:
    return in_decoder(steps, lambda m: ~m)


@mistake(
    "own-position-always-open",
    "A position may attend to itself even if it is PAD. Padded keys must be masked for all queries, even "
    "if no allowed key is left in a row.",
    formula=DECODER,
    hint="For tokens [[0, 5, 8]], which keys may the first query attend to?",
)
def own_position_always_open(steps: Steps) -> Steps:
    return in_decoder(steps, lambda m: m | torch.eye(m.size(-1), dtype=torch.bool, device=m.device))


@mistake(
    "decoder-mask-transposed",
    "Queries and keys are swapped in the decoder mask: rows must be queries, columns keys.",
    formula="decoder_mask[b, 0, query, key]",
    hint="Which of the last two dimensions is the queries?",
)
def decoder_mask_transposed(steps: Steps) -> Steps:
    return in_decoder(steps, lambda m: m.mT)
