"""Beam search against searches that are too slow to be wrong."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.zoo.parts.decoding.support import (
    EOS,
    IDS,
    Answer,
    Given,
    Table,
    all_answers,
    best,
    decode,
    searched,
    total,
)
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import ZooError
from zoo.models.builder import build, build_decoding
from zoo.models.transformer import Transformer
from zoo.parts.decoding.beam import BeamDecoding
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.parts.decoding.stepper import Stepper

SRC = torch.tensor([[3], [4], [5]])
PENALTIES = (0.0, 0.6, 1.0, 2.5)
TINY = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 1, "dropout": 0.1,
    "src_vocab": 11, "tgt_vocab": 5, "max_len": 12,
}  # fmt: skip


def tiny(seed: int, **sizes: int) -> Transformer:
    """A Transformer whose answers depend on what came before, and end now and then. float64."""
    model = build(make_blueprint(**{**TINY, **sizes}), seed=seed).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.4 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    return model


@pytest.mark.parametrize("length_penalty", PENALTIES)
@pytest.mark.parametrize(("vocabulary", "max_len"), [(3, 1), (3, 5), (4, 4), (6, 3)])
def test_a_beam_that_holds_everything_finds_the_best_answer_there_is(
    vocabulary: int, max_len: int, length_penalty: float
) -> None:
    how, answers = BeamDecoding(vocabulary**max_len, length_penalty), []
    for seed in range(6):
        model = Table(vocabulary, seed)
        got = decode(model, SRC, how, max_len)
        assert got == [best(all_answers(model, src, max_len), length_penalty) for src in SRC.tolist()]
        answers += got
    assert len({len(answer) for answer in answers}) > 1 or max_len == 1


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_it_finds_the_best_answer_of_a_transformer(length_penalty: float) -> None:
    src = torch.tensor([[3, 4, 5], [6, 7, 0]])
    how, answers = BeamDecoding(5**4, length_penalty), []
    for seed in range(3):
        model = tiny(seed)
        got = decode(model, src, how, 4)
        assert got == [best(all_answers(model, row, 4), length_penalty) for row in src.tolist()]
        answers += got
    assert len({str(answer) for answer in answers}) > 2


@given(
    st.integers(1, 6), st.integers(0, 6), st.sampled_from(PENALTIES), st.integers(2, 6), st.integers(0, 999)
)
def test_a_narrow_beam_finds_what_a_plain_search_finds(
    size: int, max_len: int, length_penalty: float, vocabulary: int, seed: int
) -> None:
    """The plain search goes on until max_len: stopping early changes nothing."""
    eos = min(EOS, vocabulary - 1)
    model = Table(vocabulary, seed)
    got = decode(model, SRC, BeamDecoding(size, length_penalty), max_len, eos=eos)
    for src, answer in zip(SRC.tolist(), got, strict=True):
        assert answer == best(searched(model, src, size, max_len, eos), length_penalty)


def test_a_beam_of_one_is_greedy() -> None:
    for seed in range(20):
        greedy = generate(Table(6, seed), SRC, 7, GreedyDecoding(), **IDS)  # type: ignore[arg-type]
        for length_penalty in PENALTIES:
            how = BeamDecoding(1, length_penalty)
            assert torch.equal(generate(Table(6, seed), SRC, 7, how, **IDS), greedy)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_beam_of_one_is_greedy_with_a_transformer(dtype: torch.dtype, device: torch.device) -> None:
    src = torch.tensor([[3, 4, 5, 8], [6, 7, 0, 0], [9, 0, 0, 0]], device=device)
    for seed in range(5):
        model = tiny(seed, tgt_vocab=40).to(device, dtype)
        greedy = generate(model, src, 10, GreedyDecoding(), **IDS)
        assert torch.equal(generate(model, src, 10, BeamDecoding(1), **IDS), greedy)


@given(st.integers(0, 99), st.integers(1, 4))
def test_of_equal_tokens_the_first_is_taken_as_in_greedy(seed: int, size: int) -> None:
    class Coarse(Table):
        def after(self, src: list[int], begun: list[int]) -> Tensor:
            return super().after(src, begun).round()

    greedy = decode(Coarse(9, seed, spread=1.0), SRC, GreedyDecoding(), 5)
    assert decode(Coarse(9, seed, spread=1.0), SRC, BeamDecoding(1), 5) == greedy
    even = Given(4, {})  # everything is as probable as everything else
    assert decode(even, SRC, BeamDecoding(size, 0.0), 3)[0] == ([EOS] if size > 1 else [1, 1, 1])


def test_without_a_penalty_a_full_beam_is_at_least_as_probable_as_greedy_and_sometimes_more() -> None:
    better = 0
    for seed in range(20):
        model = Table(4, seed)
        answers = decode(model, SRC, BeamDecoding(4**4, 0.0), 4)
        greedy = decode(model, SRC, GreedyDecoding(), 4)
        for src, one, other in zip(SRC.tolist(), answers, greedy, strict=True):
            gain = total(model, src, one) - total(model, src, other)
            assert gain >= -1e-9
            better += gain > 1e-6
    assert better > 5


WORD = [0, 0, 0.4, 0.6]  # of the ids 0 to 3; EOS is 2
GARDEN = {(): [0, 0, 0, 0.55, 0.45], (3,): [0, 0, 0.3, 0.35, 0.35], (4,): [0, 0, 0.9, 0.05, 0.05]}


def test_a_beam_of_two_gets_out_of_a_garden_path() -> None:
    """0.55 leads to 0.55 * 0.35 * .. at best, 0.45 to 0.45 * 0.9."""
    assert decode(Given(5, GARDEN), SRC, GreedyDecoding(), 3)[0][:2] == [3, 3]
    assert decode(Given(5, GARDEN), SRC, BeamDecoding(2), 3)[0] == [4, 2]


def test_the_length_penalty_favours_the_longer_answer() -> None:
    """[2] has log 0.4 = -0.92 and n = 1; [3, 2] has log 0.36 = -1.02 and n = 2."""
    model = Given(4, {(): WORD, (3,): [0, 0, 0.6, 0.4]})
    turn = math.log(math.log(0.36) / math.log(0.4)) / math.log(7 / 6)  # where both come to the same
    assert 0 < turn < 1
    assert decode(model, SRC, BeamDecoding(2, 0.0), 2)[0] == [2]
    assert decode(model, SRC, BeamDecoding(2, turn - 0.01), 2)[0] == [2]
    assert decode(model, SRC, BeamDecoding(2, turn + 0.01), 2)[0] == [3, 2]


def test_the_penalty_counts_eos_as_in_the_formula() -> None:
    assert BeamDecoding(2, 0.6).scores(torch.tensor([[-3.0]]), torch.tensor([[7]])).item() == pytest.approx(
        -3 / 2**0.6
    )
    assert BeamDecoding(2, 0.6).scores(torch.tensor([[-3.0]]), torch.tensor([[1]])).item() == -3


def test_an_ended_answer_keeps_its_place_and_can_win_at_the_end() -> None:
    """[2] is second at the first step, and stays while the first spreads out."""
    model = Given(6, {(): [0, 0, 0.3, 0.7, 0, 0], (3,): [0, 0, 0.01, 0.33, 0.33, 0.33]})
    assert decode(model, SRC, BeamDecoding(2, 0.0), 4)[0] == [2]


def steps(model: Table | Given, how: BeamDecoding, max_len: int, src: Tensor = SRC) -> int:
    model.seen.clear()
    decode(model, src, how, max_len)
    return len(model.seen)


def test_it_stops_when_no_other_answer_can_win() -> None:
    """[2] has 0.9; what else there is has 0.1 in all, and never ends."""
    model = Given(5, {(): [0, 0, 0.9, 0.05, 0.05]})
    for size in (2, 3, 4):
        assert steps(model, BeamDecoding(size, 0.0), 30) == 1
    # log 0.9 = -0.105; log 0.05 / (35 / 6)^a = -0.105 at a = 1.90
    assert steps(model, BeamDecoding(2, 1.8), 30) == 1
    assert steps(model, BeamDecoding(2, 2.0), 30) > 1
    # and log 0.05 / (9 / 6)^a, were only 4 tokens allowed, at a = 8.26
    assert steps(model, BeamDecoding(2, 8.2), 4) == 1
    assert steps(model, BeamDecoding(2, 8.3), 4) > 1
    # one token later log 0.9 is worth more, under a penalty of its own
    later = Given(5, {(): [0, 0, 0, 1, 0], (3,): model.probabilities[()]})
    assert steps(later, BeamDecoding(2, 1.0), 180) == 2


def test_it_goes_on_as_long_as_another_answer_can_win() -> None:
    """[2] has log 0.9 and n = 1, [3, 3, 3, 2] has log 0.1 and n = 4: they come to the same at a = 7.61."""
    rest = {(3,) * n: [0, 0, 0, 1.0] for n in (1, 2)}
    model = Given(4, {(): [0, 0, 0.9, 0.1], **rest, (3, 3, 3): [0, 0, 1, 0]})
    assert decode(model, SRC, BeamDecoding(2, 7.6), 4)[0] == [2]
    assert decode(model, SRC, BeamDecoding(2, 7.7), 4)[0] == [3, 3, 3, 2]


def test_it_stops_when_all_answers_have_ended() -> None:
    always = Given(4, {begun: [0, 0, 0.5, 0.5] for begun in ((), (3,))} | {(3, 3): [0, 0, 1, 0]})
    assert steps(always, BeamDecoding(3, 3.0), 30) == 3


def test_it_goes_on_for_the_rows_that_need_it() -> None:
    """A row that is decided is not changed by the steps that others need."""
    model, how = Table(5, seed=4), BeamDecoding(3)
    src = torch.arange(3, 15)[:, None]
    alone = [steps(model, how, 12, src[row : row + 1]) for row in range(12)]
    assert len(set(alone)) > 2
    assert steps(model, how, 12, src) == max(alone)
    together = decode(model, src, how, 12)
    assert together == [decode(model, src[row : row + 1], how, 12)[0] for row in range(12)]


@pytest.mark.parametrize(("size", "vocabulary"), [(1, 4), (3, 4), (4, 4), (7, 4), (64, 4), (5, 2)])
def test_a_beam_wider_than_the_vocabulary_fills_up_as_it_can(size: int, vocabulary: int) -> None:
    model, eos = Table(vocabulary, seed=1), 1
    decode(model, SRC, BeamDecoding(size), 4, eos=-1)
    widths = [seen.size(0) // 3 for seen in model.seen]
    assert widths == [min(size, vocabulary**step) for step in range(4)]
    got = decode(model, SRC, BeamDecoding(size), 4, eos=eos)
    assert got == [best(searched(model, src, size, 4, eos), 0.6) for src in SRC.tolist()]


def test_places_that_nothing_fills_never_win() -> None:
    """With one possible answer, seven places of eight hold nothing."""
    sure = Given(5, {(): [0, 0, 0, 1, 0], (3,): [0, 0, 0, 0, 1], (3, 4): [0, 0, 1, 0, 0]})
    for length_penalty in PENALTIES:
        assert decode(sure, SRC, BeamDecoding(8, length_penalty), 6) == [[3, 4, 2]] * 3


def test_answers_change_places_and_take_their_cache_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached and computed anew, where rows are reordered, doubled and dropped; sources padded."""
    src = torch.tensor([[3, 4, 5, 8], [6, 7, 0, 0], [9, 10, 3, 0], [9, 0, 0, 0]])
    orders: list[list[int]] = []
    select = Stepper.select

    def spied(self: Stepper, rows: Tensor) -> None:
        orders.append(rows.tolist())
        select(self, rows)

    monkeypatch.setattr(Stepper, "select", spied)
    lengths = set()
    for seed in range(4):
        model = tiny(seed, tgt_vocab=9)
        assert model.cacheable
        for how in (BeamDecoding(3), BeamDecoding(12, 0.0)):
            cached, anew = (generate(model, src, 9, how, cached=one, **IDS) for one in (True, False))
            assert torch.equal(cached, anew)
            lengths |= {int((row != 0).sum()) for row in cached}
    assert len(lengths) > 2
    later = [order for order in orders if len(order) == len(orders[1])]
    assert any(order != sorted(order) for order in later)  # moved
    assert any(len(set(order)) < len(order) for order in later)  # doubled


def test_sources_do_not_see_each_other_with_a_transformer() -> None:
    src = torch.tensor([[3, 4, 5, 8], [6, 7, 0, 0], [9, 0, 0, 0]])
    for seed in range(4):
        model = tiny(seed, tgt_vocab=9)
        together = decode(model, src, BeamDecoding(3), 9)
        kept = [row[row != 0][None] for row in src]
        assert together == [decode(model, row, BeamDecoding(3), 9)[0] for row in kept]


def test_on_a_device_it_is_as_on_the_cpu(device: torch.device) -> None:
    src = torch.tensor([[3, 4, 5, 8], [6, 7, 0, 0]])
    model = tiny(1, tgt_vocab=9)
    expected = generate(model, src, 9, BeamDecoding(4), **IDS)
    got = generate(model.to(device), src.to(device), 9, BeamDecoding(4), **IDS)
    assert got.device.type == device.type
    assert torch.equal(got.cpu(), expected)


@pytest.mark.parametrize(("size", "length_penalty"), [(0, 0.6), (-1, 0.6), (4, -0.1), (4, math.nan)])
def test_options_out_of_range(size: int, length_penalty: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        BeamDecoding(size, length_penalty)


def test_options_reach_the_decoding() -> None:
    how = build_decoding(make_blueprint(decoding="beam:size=7:length_penalty=0.2"))
    assert isinstance(how, BeamDecoding)
    assert (how.size, how.length_penalty) == (7, 0.2)
    with pytest.raises(ZooError, match="expected a whole number of at least 1"):
        make_blueprint(decoding="beam:size=0")


def test_the_plain_search_itself() -> None:
    """On the garden path, by hand."""
    end = searched(Given(5, GARDEN).eval(), [3], 2, 2)
    assert [answer.tokens for answer in end] == [(4, 2), (3, 3)]
    assert end[0] == Answer((4, 2), pytest.approx(math.log(0.45 * 0.9)), True)
    assert len(all_answers(Given(3, {}).eval(), [3], 2)) == 1 + 2  # EOS, and 1 with each of 1 and EOS
