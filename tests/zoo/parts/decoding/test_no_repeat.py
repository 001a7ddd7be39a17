"""Greedy decoding in which no run of tokens comes twice."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.zoo.parts.decoding.support import EOS, IDS, PAD, Answer, Script, Table, continuations
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import ZooError
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.parts.decoding.no_repeat import NoRepeatDecoding


def by_hand(model: Table, src: list[int], n: int, max_len: int) -> list[int]:
    """The same, token by token, in Python."""
    answer = Answer((), 0.0, False)
    while len(answer.tokens) < max_len and not answer.ended:
        said = {answer.tokens[i : i + n] for i in range(len(answer.tokens) - n + 1)}
        open_ = [
            longer
            for longer in continuations(model, src, answer)
            if longer.tokens[-1] == EOS or longer.tokens[-n:] not in said or len(longer.tokens) < n
        ]
        answer = max(open_, key=lambda longer: longer.total)
    return list(answer.tokens)


@given(st.integers(1, 4), st.integers(4, 6), st.integers(0, 100), st.integers(1, 12), st.sampled_from([1, 3]))
def test_it_is_what_the_paper_says(n: int, vocabulary: int, seed: int, max_len: int, rows: int) -> None:
    model = Table(vocabulary, seed).eval()
    src = torch.arange(rows)[:, None]
    answers = generate(model, src, max_len, NoRepeatDecoding(n), **IDS)  # type: ignore[arg-type]
    for row, answer in enumerate(answers.tolist()):
        expected = by_hand(model, [row], n, max_len)
        assert answer == expected + [PAD] * (len(answer) - len(expected))


def test_a_model_that_stutters() -> None:
    stutters = [4, 5, 4, 5, 4, 5, 4, EOS]
    src = torch.tensor([[0]])
    assert generate(Script(stutters), src, 8, GreedyDecoding(), **IDS).tolist() == [stutters]  # type: ignore[arg-type]
    (answer,) = generate(Script(stutters), src, 8, NoRepeatDecoding(2), **IDS).tolist()  # type: ignore[arg-type]
    assert answer[:3] == [4, 5, 4]
    assert len({tuple(answer[i : i + 2]) for i in range(len(answer) - 1)}) == len(answer) - 1


def test_when_all_has_been_said_it_ends() -> None:
    model = Table(5, seed=1)
    model.after = lambda src, begun: torch.tensor([0.0, 4.0, -50.0, 3.0, 2.0]).double()  # type: ignore[method-assign]
    assert generate(model, torch.zeros(1, 1, dtype=torch.long), 9, NoRepeatDecoding(1), **IDS).tolist() == [  # type: ignore[arg-type]
        [1, 3, 4, EOS]
    ]


def test_a_run_of_no_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 token"):
        NoRepeatDecoding(0)
    with pytest.raises(ZooError, match="expected a"):
        make_blueprint(decoding="no-repeat:n=0")
