"""Sentences for the decoding exercise: with any seed they are found, and they are what was asked for."""

from __future__ import annotations

import pytest
import torch

from grader.exercises.decoding.reference import REFERENCE, Request
from grader.exercises.decoding.suite.balance import balanced
from grader.exercises.decoding.suite.cases import USUAL, rows, speller, with_lengths

# With the weights that these seeds draw first, no sentence has one of the lengths; the search went on for ever.
HOPELESS_AT_FIRST = [(33, (5,), 8), (33, (5, 3, 6), 5), (33, (5, 1, 3, 5), 9)]


@pytest.mark.parametrize(
    ("seed", "lengths", "max_len"), [*HOPELESS_AT_FIRST, *((seed, (5, 1, 3, 5), 9) for seed in range(40))]
)
def test_rows_of_the_lengths_asked_for_are_found(seed: int, lengths: tuple[int, ...], max_len: int) -> None:
    weights, src = with_lengths(seed, lengths, max_len, USUAL)
    request = Request(speller(weights), src, max_len + 2, USUAL.sos, USUAL.eos, USUAL.pad)
    found = rows(REFERENCE, request, greedy=True)
    told = [len(row) if row[-1] == USUAL.eos else max_len + 1 for row in found]
    assert [min(one, max_len + 1) for one in told] == [min(one, max_len + 1) for one in lengths]


# With seed 69, five ids were once as likely as each other, and likelier than the long way: a tie decided.
@pytest.mark.parametrize("seed", [69, 0, 1])
def test_no_third_id_competes_with_the_two_ways(seed: int) -> None:
    weights, src = balanced(seed, 0.6)
    model = speller(weights)
    with torch.no_grad():
        begin = torch.full((len(src), 1), USUAL.sos)
        chances = model.decode(begin, model.encode(src), src)[:, -1].double().softmax(-1)  # [B, V]
    _, second, third = chances.topk(3).values.unbind(-1)
    assert bool((third < 0.75 * second).all())
