"""Sampling: what may be drawn, and how often it is."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.zoo.parts.decoding.support import Table, decode
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import ZooError
from zoo.models.builder import build_decoding
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.parts.decoding.min_p import MinPDecoding
from zoo.parts.decoding.nucleus import NucleusDecoding
from zoo.parts.decoding.sample import SampleDecoding
from zoo.parts.decoding.top_k import TopKDecoding

DRAWS = 20_000
KINDS = [SampleDecoding, TopKDecoding, NucleusDecoding, MinPDecoding]
LOGITS = torch.tensor([1.0, -1.0, 2.5, 0.3, -3.0, 1.7], dtype=torch.float64)

logits = st.lists(st.floats(-6, 6, width=32), min_size=1, max_size=9)


def kept(how: SampleDecoding, scores: Tensor) -> list[int]:
    """The tokens that may be drawn: [V] -> ids."""
    less_highest = (scores - scores.max()) / how.temperature
    keep = how.keep(less_highest[None])
    assert keep.dtype == torch.bool
    assert keep.shape == (1, len(scores))
    return keep[0].nonzero().flatten().tolist()  # type: ignore[no-any-return]


def frequencies(how: SampleDecoding, scores: Tensor) -> Tensor:
    drawn = how.choose(scores.expand(DRAWS, -1))
    return torch.bincount(drawn, minlength=len(scores)) / DRAWS


def expected_of(scores: Tensor, temperature: float, tokens: list[int]) -> Tensor:
    weights = [math.exp(s / temperature) if v in tokens else 0.0 for v, s in enumerate(scores.tolist())]
    return torch.tensor(weights) / sum(weights)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("as_log_probs", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_frequencies_are_the_probabilities(
    temperature: float, as_log_probs: bool, dtype: torch.dtype
) -> None:
    scores = (LOGITS.log_softmax(-1) if as_log_probs else LOGITS).to(dtype)
    for how, tokens in (
        (SampleDecoding(temperature), [0, 1, 2, 3, 4, 5]),
        (TopKDecoding(3, temperature), [0, 2, 5]),
        (MinPDecoding(0.1 ** (1 / temperature), temperature), [0, 2, 3, 5]),
    ):
        p = expected_of(LOGITS, temperature, tokens)
        got = frequencies(how, scores)
        assert torch.all((got - p).abs() <= 5 * (p * (1 - p) / DRAWS).sqrt())
        assert torch.all(got[p == 0] == 0)


def test_frequencies_of_the_nucleus() -> None:
    scores = torch.tensor([0.1, 0.4, 0.05, 0.3, 0.15]).log()
    got = frequencies(NucleusDecoding(0.75), scores)
    p = torch.tensor([0, 0.4, 0, 0.3, 0.15]) / 0.85
    assert torch.all((got - p).abs() <= 5 * (p * (1 - p) / DRAWS).sqrt())
    assert torch.all(got[p == 0] == 0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_does_not_blur_the_sum_over_many_tokens(dtype: torch.dtype) -> None:
    """One token has about 0.6 of the mass, 4,000 have the rest: to half of them it is 0.8."""

    class Counting(NucleusDecoding):
        def keep(self, scores: Tensor) -> Tensor:
            found = super().keep(scores)
            self.count = int(found.sum())
            return found

    scores, how = torch.zeros(1, 4001, dtype=dtype), Counting(0.8)
    scores[0, 0] = 8.6875
    how.choose(scores)
    assert abs(how.count - 2016) <= 1


def test_rows_draw_independently() -> None:
    drawn = SampleDecoding().choose(torch.zeros(2 * DRAWS, 2)).view(2, -1)
    agree = (drawn[0] == drawn[1]).float().mean()
    assert abs(agree - 0.5) < 5 * 0.5 / DRAWS**0.5


@given(logits, st.integers(1, 12))
def test_top_k_keeps_the_k_most_probable(values: list[float], k: int) -> None:
    scores = torch.tensor(values)
    order = sorted(range(len(values)), key=lambda v: (-values[v], v))
    assert kept(TopKDecoding(k), scores) == sorted(order[:k])


@given(logits, st.floats(0, 1))
def test_the_nucleus_is_the_smallest_set_that_reaches_p(values: list[float], p: float) -> None:
    scores = torch.tensor(values, dtype=torch.float64)
    mass = scores.softmax(-1)
    tokens = kept(NucleusDecoding(p), scores)
    order = sorted(range(len(values)), key=lambda v: (-values[v], v))
    assert tokens == sorted(order[: len(tokens)])
    assert len(tokens) >= 1
    assert mass[tokens].sum() >= p - 1e-12
    if len(tokens) > 1:
        assert mass[order[: len(tokens) - 1]].sum() < p + 1e-12


def test_the_nucleus_stops_where_p_is_reached() -> None:
    scores = torch.tensor([0.25, 0.5, 0.125, 0.125], dtype=torch.float64).log()
    for p, tokens in ((0.0, [1]), (0.4, [1]), (0.6, [0, 1]), (0.8, [0, 1, 2]), (0.9, [0, 1, 2, 3])):
        assert kept(NucleusDecoding(p), scores) == tokens


@given(logits, st.floats(0, 1))
def test_min_p_keeps_what_is_at_least_p_times_as_probable_as_the_best(values: list[float], p: float) -> None:
    scores = torch.tensor(values, dtype=torch.float64)
    share = scores.softmax(-1) / scores.softmax(-1).max()
    tokens = kept(MinPDecoding(p), scores)
    assert all(share[v] >= p - 1e-12 for v in tokens)
    assert all(share[v] <= p + 1e-12 for v in range(len(values)) if v not in tokens)
    assert int(scores.argmax()) in tokens


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_the_temperature_comes_before_the_choice_of_tokens(temperature: float) -> None:
    scores = LOGITS[None]
    for kind in (NucleusDecoding, MinPDecoding):
        hot = kind(0.3, temperature)
        torch.manual_seed(1)
        drawn = [int(hot.choose(scores)) for _ in range(300)]
        assert sorted(set(drawn)) == kept(kind(0.3), LOGITS / temperature)


@given(
    st.lists(logits, min_size=1, max_size=4), st.sampled_from([torch.float32, torch.float64, torch.bfloat16])
)
def test_what_leaves_one_token_is_greedy(rows: list[list[float]], dtype: torch.dtype) -> None:
    width = min(map(len, rows))
    scores = torch.tensor([row[:width] for row in rows], dtype=dtype)
    greedy = GreedyDecoding().choose(scores).tolist()
    for how in (TopKDecoding(1), NucleusDecoding(0.0), NucleusDecoding(1e-9), TopKDecoding(1, 50.0)):
        assert how.choose(scores).tolist() == greedy
    gap = scores.double().sort(-1, descending=True).values.diff(dim=-1)[:, :1].abs()
    if width == 1 or bool((gap > 1e-4).all()):  # no other token is as good
        assert MinPDecoding(1.0).choose(scores).tolist() == greedy
        for kind in KINDS:
            assert kind(temperature=1e-6).choose(scores).tolist() == greedy


def test_whole_answers_at_a_low_temperature_are_greedy() -> None:
    src = torch.tensor([[3], [4], [5]])
    for seed in range(5):
        greedy = decode(Table(7, seed), src, GreedyDecoding(), 8)
        for how in (SampleDecoding(1e-6), TopKDecoding(1), NucleusDecoding(1e-9), MinPDecoding(1.0)):
            assert decode(Table(7, seed), src, how, 8) == greedy


@given(logits)
def test_what_leaves_everything_is_plain_sampling(values: list[float]) -> None:
    scores = torch.tensor(values)
    for how in (
        SampleDecoding(),
        TopKDecoding(len(values)),
        TopKDecoding(99),
        NucleusDecoding(1.0),
        MinPDecoding(0.0),
    ):
        assert kept(how, scores) == list(range(len(values)))
        torch.manual_seed(0)
        drawn = how.choose(scores.expand(20, -1))
        torch.manual_seed(0)
        assert torch.equal(drawn, SampleDecoding().choose(scores.expand(20, -1)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("temperature", [1e-6, 1.0, 1e6])
def test_huge_scores_and_impossible_tokens(
    kind: type[SampleDecoding], dtype: torch.dtype, temperature: float
) -> None:
    scores = torch.tensor([[2000.0, -2000.0, -math.inf], [-math.inf, -2000.0, -2010.0]], dtype=dtype)
    for _ in range(20):
        first, second = kind(temperature=temperature).choose(scores).tolist()
        assert first in ((0, 1) if temperature > 1 else (0,))
        assert second in (1, 2)


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        (SampleDecoding, {"temperature": 0.0}, "decoding=greedy"),
        (SampleDecoding, {"temperature": -1.0}, "expected at least 1e-06"),
        (MinPDecoding, {"temperature": math.nan}, "expected at least 1e-06"),
        (TopKDecoding, {"k": 0}, "expected at least 1 token"),
        (NucleusDecoding, {"p": 1.1}, "expected a probability, from 0 to 1"),
        (NucleusDecoding, {"p": math.nan}, "expected a probability, from 0 to 1"),
        (MinPDecoding, {"p": -0.1}, "expected a share of the highest probability, from 0 to 1"),
    ],
)
def test_options_out_of_range(kind: type[SampleDecoding], options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        kind(**options)


@pytest.mark.parametrize("text", ["sample:temperature=0", "top-k:k=0", "nucleus:p=2", "min-p:p=-1"])
def test_a_user_is_told_before_anything_is_trained(text: str) -> None:
    with pytest.raises(ZooError, match="expected a"):
        make_blueprint(decoding=text)


def test_options_reach_the_decoding() -> None:
    how = build_decoding(make_blueprint(decoding="nucleus:p=0.5:temperature=2"))
    assert isinstance(how, NucleusDecoding)
    assert (how.p, how.temperature) == (0.5, 2.0)
