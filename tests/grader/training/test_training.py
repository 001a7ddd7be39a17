"""The training test of the grader, with parts that run here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import torch
from torch import Tensor

from grader.core.failures import Failed
from grader.engine.local import LocalSubmission
from grader.exercises.attention.reference import FIRST_CALLS, REFERENCE, Call
from grader.exercises.attention.solution import MultiHeadAttention
from grader.exercises.attention.suite.scenarios import grading
from grader.exercises.attention.suite.wrapped_part import AttentionOracle, found_in, xavier
from grader.training.spotcheck import SpotChecked
from grader.training.training import BAR, PLACES, require, train_to_reverse
from grader.training.wrapped_part import load
from tests.grader.right import right_files
from zoo.training.trainer import Example, Recipe, Score

QUICK = Recipe(steps=3, batch_size=4)
RIGHT_FILES = right_files("attention")


class Oracle:
    """The reference, for the solution's own parameter names."""

    def __init__(self, num_heads: int) -> None:
        self.num_heads = num_heads

    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        query, key, value = inputs
        output: Tensor = REFERENCE.multi_head(Call(query, key, value, masks[0], self.num_heads, parameters))
        return output

    def comparable(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        return {name.replace("_proj", ""): value for name, value in values.items() if value is not None}


class Unmasked(MultiHeadAttention):
    """Sees the future, and padding."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(query, key, value)


class BreaksOff(MultiHeadAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(query, key, value, mask) * torch.nan


class Anything(Oracle):
    """Has no opinion, so that the score alone speaks."""

    part: torch.nn.Module

    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        kept = self.part.state_dict()
        self.part.double()
        output: Tensor = torch.func.functional_call(self.part, dict(parameters), (*inputs, *masks))
        self.part.float().load_state_dict(kept)
        return output

    def comparable(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        return {name: value for name, value in values.items() if value is not None}


def train(
    cls: type[MultiHeadAttention], recipe: Recipe, oracle: type[Oracle] = Oracle, words: int = 5
) -> Score:
    torch.manual_seed(0)

    def make(d_model: int, num_heads: int, dropout: float) -> SpotChecked:
        part, judge = cls(d_model, num_heads, dropout), oracle(num_heads)
        if isinstance(judge, Anything):
            judge.part = cls(d_model, num_heads, dropout)
        names = {name: name for name, _ in part.named_parameters()}
        made.append(SpotChecked(part, names, judge, "?", recipe.steps))
        return made[-1]

    made: list[SpotChecked] = []
    steps: list[tuple[str, int, int]] = []
    score = train_to_reverse(
        "attention",
        make,
        seed=recipe.seed,
        progress=lambda *step: steps.append(step),
        recipe=recipe,
        words=words,
    )
    assert steps == [("training", n, recipe.steps) for n in range(1, recipe.steps + 1)]
    attentions = [title for title in PLACES.values() if "attention" in title]
    assert sorted(part.title for part in made) == sorted(attentions)
    assert all(part.checked >= 4 for part in made)
    return score


def test_a_short_training_is_watched_in_every_place() -> None:
    score = train(MultiHeadAttention, QUICK)
    assert score.total == 5
    with pytest.raises(Failed, match=r"got \d of 5 unseen words right; expected at least 95%"):
        require(score)


def test_a_part_that_ignores_the_mask_is_caught_in_the_act() -> None:
    with pytest.raises(Failed, match="In training step 1, the encoder's self-attention gave another output"):
        train(Unmasked, QUICK)


def test_a_loss_that_becomes_nan_is_a_failure_of_the_submission() -> None:
    with pytest.raises(Failed, match="could not be trained"):
        train(BreaksOff, QUICK, Anything)


def test_the_bar() -> None:
    def spelled(right: int) -> Score:
        return Score(tuple(Example("abc", "cba" if i < right else "cab", "cba") for i in range(500)))

    require(spelled(int(500 * BAR)))
    with pytest.raises(Failed, match=r"474 of 500[^$]*abc  expected cba  got cab"):
        require(spelled(int(500 * BAR) - 1))


@pytest.mark.slow
@pytest.mark.parametrize("style", RIGHT_FILES)
def test_weights_are_found_as_the_class_uses_them(style: str) -> None:
    component = LocalSubmission.from_source(RIGHT_FILES[style])
    component.first_calls = FIRST_CALLS
    found = found_in(grading(component, 0), 12, 3)
    weights = xavier(found, torch.Generator().manual_seed(1))
    instance = component.construct("MultiHeadAttention", (12, 3))
    instance.train(False)
    load(instance, found, weights)
    inputs = [torch.randn(2, length, 12) for length in (4, 5)]
    query, key, value = inputs[0], inputs[1], inputs[1]
    answer = instance.call([query, key, value]).value
    output = answer[0] if isinstance(answer, tuple) else answer
    expected = AttentionOracle(found, 3).forward([query, key, value], [None], weights)
    torch.testing.assert_close(output, expected)


@pytest.mark.slow
def test_right_attention_spells_backwards() -> None:
    require(train(MultiHeadAttention, Recipe(seed=1), words=500))


@pytest.mark.slow
def test_attention_that_sees_the_future_spells_nothing() -> None:
    assert train(Unmasked, Recipe(seed=1), Anything, words=100).share < 0.5
