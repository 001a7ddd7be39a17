"""Greedy decoding: rows that end at different steps, and what a step sees."""

from __future__ import annotations

import torch

from tests.zoo.parts.decoding.support import Script, Table, decode, log_probs
from zoo.core.blueprint import make_blueprint
from zoo.models.builder import build
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 20,
}  # fmt: skip


def test_rows_end_at_different_steps_and_nothing_follows_but_padding() -> None:
    model = Script([5, 2, 7, 7, 7, 7, 7, 7], [6, 4, 3, 2, 9, 9, 9, 9], [2, 8, 8, 8, 8, 8, 8, 8])
    rows = generate(model, torch.tensor([[0], [1], [2]]), 8, GreedyDecoding())  # type: ignore[arg-type]
    assert rows.tolist() == [[5, 2, 0, 0], [6, 4, 3, 2], [2, 0, 0, 0]]
    assert [seen.tolist()[1] for seen in model.seen] == [[1], [1, 6], [1, 6, 4], [1, 6, 4, 3]]


def test_other_ids_of_the_special_tokens() -> None:
    model = Script([5, 3, 7, 7], [6, 6, 6, 3])
    rows = generate(model, torch.tensor([[0], [1]]), 4, GreedyDecoding(), sos=4, eos=3, pad=9)  # type: ignore[arg-type]
    assert rows.tolist() == [[5, 3, 9, 9], [6, 6, 6, 3]]
    assert model.seen[0].tolist() == [[4], [4]]


def test_each_token_is_the_most_probable_after_those_before(device: torch.device) -> None:
    model = build(make_blueprint(**SIZES), seed=1).double().to(device)  # float32 could round to a tie
    src = torch.tensor([[3, 4, 5], [6, 7, 0]], device=device)
    got = generate(model, src, 6, GreedyDecoding(), eos=-1)
    model.eval()
    for step in range(6):
        before = torch.cat((torch.ones(2, 1, dtype=torch.long, device=device), got[:, :step]), dim=1)
        scores = model(src, before)[:, -1]
        scores[:, 0] = -torch.inf  # padding is never chosen
        assert torch.equal(scores.argmax(-1), got[:, step])


def test_it_takes_the_best_token_not_the_best_answer() -> None:
    model = Table(5, seed=3)
    (answer,) = decode(model, torch.tensor([[7]]), GreedyDecoding(), 6)
    for step, token in enumerate(answer):
        scores = log_probs(model, [7], tuple(answer[:step]))
        assert scores[token] == max(scores)


def test_of_equal_tokens_the_first_is_taken() -> None:
    assert GreedyDecoding().choose(torch.tensor([[1.0, 3.0, 3.0], [0.0, 0.0, 0.0]])).tolist() == [1, 0]


def test_padding_is_never_chosen() -> None:
    """What stands behind it would be hidden or not, depending on how masks travel."""
    model = Script([5, 0, 5, 5], vocabulary=6)
    (answer,) = decode(model, torch.tensor([[0]]), GreedyDecoding(), 4)
    assert len(answer) == 4
    assert 0 not in answer
