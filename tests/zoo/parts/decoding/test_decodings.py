"""What holds for every decoding, over the live registry, with models that are told what to say."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.zoo.parts.decoding.support import (
    CERTAIN,
    DECODINGS,
    EOS,
    IDS,
    PAD,
    Script,
    Table,
    decode,
    decoding,
)
from zoo.parts.decoding.generate import generate

every_decoding = pytest.mark.parametrize("name", DECODINGS)
SRC = torch.tensor([[3], [4], [5], [6], [7]])


@every_decoding
@pytest.mark.parametrize("max_len", [0, 1, 2, 6])
@pytest.mark.parametrize("batch", [1, 5])
def test_an_answer_has_at_most_max_len_tokens_and_only_padding_after_eos(
    name: str, max_len: int, batch: int
) -> None:
    ends = set()
    for seed in range(8):
        answers = decode(Table(5, seed), SRC[:batch], decoding(name), max_len)
        ends |= {len(answer) for answer in answers}
    assert max_len < 6 or len(ends) > 2  # rows do end at different steps


@every_decoding
def test_padding_is_never_chosen_however_sure_of_it_the_model_is(name: str) -> None:
    class Padder(Table):
        def after(self, src: list[int], begun: list[int]) -> Tensor:
            return super().after(src, begun).index_fill(0, torch.tensor([PAD]), 50.0)

    for seed in range(4):
        assert all(PAD not in answer for answer in decode(Padder(5, seed), SRC, decoding(name), 5))


@every_decoding
def test_without_eos_every_row_has_max_len_tokens(name: str) -> None:
    for seed in range(4):
        rows = generate(Table(5, seed), SRC, 4, decoding(name), sos=1, eos=-1, pad=0)  # type: ignore[arg-type]
        assert rows.shape == (5, 4)


@every_decoding
def test_other_ids_of_the_special_tokens(name: str) -> None:
    model = Script([5, 3, 7, 7, 7], [6, 6, 6, 3, 8])
    for _ in range(4):  # one that draws says something else now and then
        rows = generate(model, torch.tensor([[0], [1]]), 5, decoding(name), sos=4, eos=3, pad=9)  # type: ignore[arg-type]
        for row in rows.tolist():
            end = row.index(3) + 1 if 3 in row else 5
            assert row[end:] == [9] * (len(row) - end)
    assert all(torch.all(seen[:, 0] == 4) for seen in model.seen)


@every_decoding
@pytest.mark.parametrize("outputs", ["logits", "log-probs"])
def test_a_model_that_is_sure_is_taken_at_its_word(name: str, outputs: str) -> None:
    class Sure(Script):
        def scores(self, src: list[int], tgt: list[int]) -> Tensor:
            logits = 20 * super().scores(src, tgt)
            return logits.log_softmax(-1) if outputs == "log-probs" else logits

    model = Sure([5, 2, 7, 7, 7, 7], [6, 4, 3, 2, 9, 9], [2, 8, 8, 8, 8, 8], [4, 4, 4, 5, 4, 4])
    src = torch.tensor([[0], [1], [2], [3]])
    assert decode(model, src, decoding(name), 6) == [[5, 2], [6, 4, 3, 2], [2], [4, 4, 4, 5, 4, 4]]


@every_decoding
def test_a_source_is_encoded_once_and_the_first_step_sees_each_once(name: str) -> None:
    model = Table(6)
    decode(model, SRC, decoding(name), 5)
    assert [src.shape for src in model.encoded] == [SRC.shape]
    assert model.seen[0].tolist() == [[1]] * 5


@every_decoding
@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_in_its_mode_also_after_an_error(name: str, training: bool) -> None:
    model = Table(5).train(training)
    generate(model, SRC, 3, decoding(name), **IDS)  # type: ignore[arg-type]
    assert model.training == training

    class Broken(Table):
        def scores(self, src: list[int], tgt: list[int]) -> Tensor:
            raise ZeroDivisionError

    broken = Broken(5).train(training)
    with pytest.raises(ZeroDivisionError):
        generate(broken, SRC, 3, decoding(name), **IDS)  # type: ignore[arg-type]
    assert broken.training == training


@every_decoding
def test_no_gradient_is_kept_and_gradients_are_on_again_afterwards(name: str) -> None:
    class Learning(Table):
        def __init__(self) -> None:
            super().__init__(5)
            self.gain = torch.nn.Parameter(torch.ones(()))

        def scores(self, src: list[int], tgt: list[int]) -> Tensor:
            scores = self.gain * super().scores(src, tgt)
            assert not scores.requires_grad
            return scores

    rows = generate(Learning(), SRC, 3, decoding(name), **IDS)  # type: ignore[arg-type]
    assert not rows.requires_grad
    assert torch.is_grad_enabled()


@every_decoding
def test_the_source_is_left_as_it_was(name: str) -> None:
    src = SRC.clone()
    decode(Table(5), src, decoding(name), 4)
    assert torch.equal(src, SRC)


@every_decoding
def test_no_source_no_answer(name: str) -> None:
    class Empty(Table):
        def decode(self, tgt: Tensor, *rest: Any) -> Tensor:
            return torch.zeros(*tgt.shape, 5, dtype=torch.float64)

    assert generate(Empty(5), SRC[:0], 4, decoding(name), **IDS).size(0) == 0  # type: ignore[arg-type]


class Babbling(Table):
    """After EOS it is sure of token 4, or gives NaN."""

    after_eos = 0.0

    def scores(self, src: list[int], tgt: list[int]) -> Tensor:
        if EOS not in tgt:
            return super().scores(src, tgt)
        end = tgt.index(EOS) + 1
        assert tgt[end:] == [PAD] * (len(tgt) - end)
        scores = torch.full((len(tgt), self.vocabulary), self.after_eos, dtype=torch.float64)
        scores[:, 4] += 1e4
        return scores


@pytest.mark.parametrize(
    ("name", "after_eos"), [*((n, 0.0) for n in DECODINGS), *((n, math.nan) for n in CERTAIN)]
)
def test_what_an_ended_row_would_go_on_with_does_not_matter(name: str, after_eos: float) -> None:
    for seed in range(6):
        torch.manual_seed(seed)
        expected = decode(Table(5, seed), SRC, decoding(name), 6)
        babbling = Babbling(5, seed)
        babbling.after_eos = after_eos
        torch.manual_seed(seed)
        assert decode(babbling, SRC, decoding(name), 6) == expected
        assert any(EOS in row for seen in babbling.seen for row in seen.tolist())


@pytest.mark.parametrize("name", CERTAIN)
def test_an_answer_does_not_depend_on_the_other_rows_or_on_the_seed(name: str) -> None:
    for seed in range(10):
        together = decode(Table(5, seed), SRC, decoding(name), 7)
        torch.manual_seed(seed)
        alone = [decode(Table(5, seed), SRC[row : row + 1], decoding(name), 7)[0] for row in range(5)]
        assert alone == together


@pytest.mark.parametrize("name", [name for name in DECODINGS if name not in CERTAIN])
def test_the_others_draw_from_torchs_global_generator(name: str) -> None:
    def answers(seed: int) -> list[list[int]]:
        torch.manual_seed(seed)
        return decode(Table(8), SRC, decoding(name), 8)

    assert answers(1) == answers(1)
    assert len({str(answers(seed)) for seed in range(8)}) > 4


@every_decoding
def test_no_sources_have_no_answers(name: str) -> None:
    answers = generate(Table(5), SRC[:0], 4, decoding(name), **IDS)  # type: ignore[arg-type]
    assert answers.shape == (0, 0)
    assert answers.dtype == torch.int64
