"""Greedy decoding: rows that end at different steps, and what a step sees."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.blueprint import make_blueprint
from zoo.builder import build
from zoo.decoding.greedy import greedy_decode

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 20,
}  # fmt: skip


class Script(nn.Module):
    """A model that says what it is told to: row b's token at step t is script[b][t]."""

    def __init__(self, *script: list[int]) -> None:
        super().__init__()
        self.script, self.seen, self.encoded = torch.tensor(script), [], 0  # type: ignore[var-annotated]

    def encode(self, src: Tensor) -> Tensor:
        self.encoded += 1
        return src

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        assert not self.training
        assert not torch.is_grad_enabled()
        self.seen.append(tgt.clone())
        length = tgt.size(1)
        return nn.functional.one_hot(self.script[:, :length], 10).float()


def decode(model: Any, src: Tensor, max_len: int = 8, **ids: int) -> list[list[int]]:
    return greedy_decode(model, src, max_len, **ids).tolist()


def test_rows_end_at_different_steps_and_nothing_follows_but_padding() -> None:
    model = Script([5, 2, 7, 7, 7, 7, 7, 7], [6, 4, 3, 2, 9, 9, 9, 9], [2, 8, 8, 8, 8, 8, 8, 8])
    assert decode(model, torch.ones(3, 2, dtype=torch.long)) == [[5, 2, 0, 0], [6, 4, 3, 2], [2, 0, 0, 0]]
    assert model.encoded == 1
    assert [seen.tolist()[1] for seen in model.seen] == [[1], [1, 6], [1, 6, 4], [1, 6, 4, 3]]


def test_a_row_that_never_ends_is_cut_at_max_len() -> None:
    src = torch.ones(1, 2, dtype=torch.long)
    assert decode(Script([5] * 8), src, max_len=3) == [[5, 5, 5]]
    assert greedy_decode(Script([5] * 8), src, 0).shape == (1, 0)  # type: ignore[arg-type]


def test_other_ids_of_the_special_tokens() -> None:
    model = Script([5, 3, 7, 7], [6, 6, 6, 3])
    assert decode(model, torch.ones(2, 2, dtype=torch.long), 4, sos=4, eos=3, pad=9) == [
        [5, 3, 9, 9],
        [6, 6, 6, 3],
    ]
    assert model.seen[0].tolist() == [[4], [4]]


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_left_in_its_mode(training: bool) -> None:
    model = Script([2]).train(training)
    decode(model, torch.ones(1, 1, dtype=torch.long))
    assert model.training == training


def test_the_mode_comes_back_after_an_error() -> None:
    model = Script([50]).train()  # outside its vocabulary
    with pytest.raises(RuntimeError):
        decode(model, torch.ones(1, 1, dtype=torch.long))
    assert model.training


def test_each_token_is_the_most_probable_after_those_before(device: torch.device) -> None:
    model = build(make_blueprint(**SIZES), seed=1).to(device)
    src = torch.tensor([[3, 4, 5], [6, 7, 0]], device=device)
    got = greedy_decode(model, src, 6, eos=-1)
    model.eval()
    for step in range(6):
        before = torch.cat((torch.ones(2, 1, dtype=torch.long, device=device), got[:, :step]), dim=1)
        assert torch.equal(model(src, before)[:, -1].argmax(-1), got[:, step])


def test_a_row_does_not_depend_on_the_others() -> None:
    model = build(make_blueprint(**SIZES), seed=1)
    src = torch.tensor([[3, 4, 5, 8], [6, 7, 0, 0]])
    together = greedy_decode(model, src, 6, eos=-1)
    assert torch.equal(greedy_decode(model, src[1:, :2], 6, eos=-1), together[1:])
