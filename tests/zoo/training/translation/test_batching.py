"""Batches by tokens: each pair once, within the limit, little padded, and the same for the same arguments."""

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.errors import ZooError
from zoo.training.tasks.base import EOS, PAD
from zoo.training.translation.batching import epoch_batches, make_batch

Lengths = list[tuple[int, int]]
LENGTHS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40)), max_size=200)


def some_lengths(number: int = 3000) -> Lengths:
    """Like real sentences: about 15 tokens, a translation about as long as its source."""
    draw = random.Random(1)
    sources = [max(3, int(draw.gauss(15, 5))) for _ in range(number)]
    return [(one, max(2, one + draw.randint(-4, 4))) for one in sources]


@given(LENGTHS, st.integers(40, 500), st.integers(0, 9), st.integers(0, 9))
def test_each_pair_is_in_one_batch_and_each_batch_is_within_the_limit(
    lengths: Lengths, tokens: int, seed: int, epoch: int
) -> None:
    batches = epoch_batches(lengths, tokens, seed, epoch)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) * max(max(lengths[index]) for index in batch) <= tokens


@given(LENGTHS, st.integers(0, 9), st.integers(0, 9))
def test_the_answer_depends_on_the_arguments_alone(lengths: Lengths, seed: int, epoch: int) -> None:
    random.seed(seed)  # what others draw changes nothing, and nothing of theirs is changed
    first = epoch_batches(lengths, 100, seed, epoch)
    state = random.getstate()
    random.random()
    assert epoch_batches(lengths, 100, seed, epoch) == first
    random.seed(seed)
    assert random.getstate() == state


def test_every_machine_and_version_gives_the_same_batches() -> None:
    """Frozen: a run that was interrupted goes on with the batches that it began."""
    lengths = [(i % 13 + 1, i % 7 + 1) for i in range(12)]
    assert epoch_batches(lengths, 24, 3, 5) == [[9, 10], [4, 5, 6], [0, 1, 2, 3], [11], [7, 8]]


def test_epochs_and_seeds_differ_in_order_and_in_who_goes_together() -> None:
    lengths = some_lengths()
    orders = [epoch_batches(lengths, 1000, seed, epoch) for seed, epoch in ((0, 0), (0, 1), (1, 0))]
    for i, one in enumerate(orders):
        for other in orders[:i]:
            assert one != other
            together, others = ({frozenset(batch) for batch in order} for order in (one, other))
            assert len(together & others) < len(together) / 2


def test_lengths_of_batches_come_in_no_order() -> None:
    lengths = some_lengths()
    widths = [max(max(lengths[i]) for i in batch) for batch in epoch_batches(lengths, 1000, 0, 0)]
    assert widths != sorted(widths)
    assert widths != sorted(widths, reverse=True)


def test_little_is_padded_and_batches_are_full() -> None:
    lengths = some_lengths()
    batches = epoch_batches(lengths, 1000, 0, 0)
    for side in (0, 1):
        real = sum(one[side] for one in lengths)
        places = sum(len(batch) * max(lengths[index][side] for index in batch) for batch in batches)
        assert 1 - real / places < 0.12
    longer_side = sum(map(max, lengths))
    assert longer_side / (len(batches) * 1000) > 0.9


def test_one_sentence_beyond_the_limit_is_refused() -> None:
    assert epoch_batches([(5, 10)], 10, 0, 0) == [[0]]
    with pytest.raises(ZooError, match=r"may have 10 tokens, but the longest sentence has 11"):
        epoch_batches([(2, 2), (5, 11)], 10, 0, 0)


def test_no_pairs_are_no_batches() -> None:
    assert epoch_batches([], 10, 0, 0) == []


class TestMakeBatch:
    def test_rows_are_padded_and_targets_end(self) -> None:
        src, tgt = make_batch([([5, 6, 7], [8]), ([5], [8, 9])])
        assert src.tolist() == [[5, 6, 7], [5, PAD, PAD]]
        assert tgt.tolist() == [[8, EOS, PAD], [8, 9, EOS]]
        assert src.dtype == tgt.dtype == torch.int64

    def test_an_empty_side_keeps_shape_and_dtype(self) -> None:
        src, tgt = make_batch([([], [])])
        assert src.shape == (1, 0)
        assert src.dtype == torch.int64
        assert tgt.tolist() == [[EOS]]

    def test_given_rows_stay_as_they_are(self) -> None:
        pair = ([5], [8])
        make_batch([pair, ([5, 6], [8, 9])])
        assert pair == ([5], [8])
