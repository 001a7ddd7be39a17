"""Mistakes in how the decoder mask is put together."""

from __future__ import annotations

from dataclasses import replace

import torch

from grader.exercises.masks.mistakes.collection import DECODER, in_decoder, mistake
from grader.exercises.masks.reference import Steps


@mistake(
    "or-in-place-of-and",
    "The two masks are joined by OR: a key is open as soon as one of them allows it. So every token of the "
    "future is open, and the PADs of the past.",
    formula=DECODER,
    hint="A key is open if neither of the two hides it. What do | and + do to two bools?",
)
def or_in_place_of_and(steps: Steps) -> Steps:
    return replace(steps, join=lambda causal, padding: causal | padding)


@mistake(
    "masks-compared",
    "The two masks are compared (== or !=), not joined by AND: where both hide a key, == gives True, so that "
    "padded keys of the future are open.",
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
    hint="True means 'may be attended to', in all three masks.",
    source="pytorch/pytorch#170415",
)
def joined_mask_inverted(steps: Steps) -> Steps:
    return in_decoder(steps, lambda m: ~m)


@mistake(
    "own-position-always-open",
    "A position may attend to itself even if it is PAD. Padded keys must be hidden from all queries, even if "
    "a row then has no allowed key.",
    formula=DECODER,
    hint="For tokens [[0, 5, 8]], what may the first query look at?",
)
def own_position_always_open(steps: Steps) -> Steps:
    return in_decoder(steps, lambda m: m | torch.eye(m.size(-1), dtype=torch.bool, device=m.device))


@mistake(
    "decoder-mask-transposed",
    "Queries and keys of the decoder mask are exchanged: rows are queries (who looks), columns are keys (who is "
    "looked at).",
    formula="decoder_mask[b, 0, query, key]",
    hint="Which of the last two dimensions is the queries'?",
)
def decoder_mask_transposed(steps: Steps) -> Steps:
    return in_decoder(steps, lambda m: m.mT)
