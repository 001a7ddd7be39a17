"""Batches of about as many tokens each, of sentences of about one length."""

from __future__ import annotations

import random
from collections.abc import Sequence

from zoo.core.errors import ZooError
from zoo.training.tasks.base import EOS, Batch, padded


def epoch_batches(lengths: Sequence[tuple[int, int]], tokens: int, seed: int, epoch: int) -> list[list[int]]:
    """The batches of one epoch, each a list of indices into `lengths`.

    Every index is in exactly one batch. Sentences of like length go together, so that little is padded; which of
    them, and the order of the batches, is drawn again each epoch. The answer depends on the arguments alone: what is
    left of an interrupted epoch follows from how many batches of it were done.

    Args:
        lengths: tokens of source and target of each pair, as `make_batch` pads them: the target's with its EOS.
        tokens: a batch of B pairs has at most this many places on each side: B · max(S, L) <= tokens.
        seed, epoch: what order is drawn.

    Raises:
        ZooError: one pair alone has more than `tokens`.
    """
    longest = max(map(max, lengths), default=0)
    if longest > tokens:
        raise ZooError(
            f"A batch may have {tokens:,} tokens, but the longest sentence has {longest:,}. "
            "Use a larger --tokens, or a smaller --max-len to leave out such sentences."
        )
    draw = random.Random(f"{seed} {epoch}")
    order = list(range(len(lengths)))
    draw.shuffle(order)
    order.sort(key=lambda index: _bucket(lengths[index]))  # stable: the order within a bucket is drawn
    batches: list[list[int]] = []
    width = 0
    for index in order:
        width = max(width, *lengths[index])
        if not batches or (len(batches[-1]) + 1) * width > tokens:
            batches.append([])
            width = max(lengths[index])
        batches[-1].append(index)
    draw.shuffle(batches)
    return batches


def _bucket(sides: tuple[int, int]) -> tuple[int, int]:
    """Return what pairs of one bucket share: the longer side, and the shorter one roughly."""
    return max(sides), min(sides) // 4


def make_batch(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Batch:
    """Pairs of source and target ids as a batch: src [B, S], and tgt [B, L] with EOS; both padded with PAD."""
    return Batch(padded([src for src, _ in pairs]), padded([[*tgt, EOS] for _, tgt in pairs]))
