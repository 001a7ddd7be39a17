"""The training test of kv_cache: a model that the judge has trained spells with the learner's cached attention."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from grader.api import (
    D_MODEL,
    NUM_HEADS,
    TASK,
    WORDS,
    Draws,
    Instance,
    Progress,
    Projections,
    StepsInPlace,
    Submission,
    good_speller,
    is_bias_of,
    own_parameters,
    projections,
    remote,
    require,
    reverser,
)
from grader.exercises.attention.reference import ROLES
from grader.exercises.kv_cache.suite.scenarios import NAME
from zoo.models.transformer import DecoderLayer, Transformer
from zoo.training.trainer import exact_match, load_task


def without_biases(seed: int) -> Transformer:
    """The zoo's model, with no biases in the decoder's self-attention: a learner's projections may have none."""
    model = reverser(seed)
    for name, parameter in layer_of(model).self_attention.named_parameters():
        if is_bias_of(name, parameter.shape, D_MODEL):
            nn.init.zeros_(parameter).requires_grad_(False)
    return model


def layer_of(model: Transformer) -> DecoderLayer:
    """The decoder's one layer."""
    layer = model.decoder.layers[0]
    assert isinstance(layer, DecoderLayer)
    return layer


def load_trained(stepper: Instance, trained: nn.Module, seed: int) -> None:
    """Give it the trained weights, in the reading of its parameters with which it computes the same."""
    own = own_parameters(stepper.parameters())
    weights = {f"{role}.weight": trained.get_parameter(f"{role}_proj.weight").detach() for role in ROLES}
    others = {n: torch.zeros_like(p.value) for n, p in own.items()}
    x = Draws(seed).normal(2, 4, D_MODEL).float()
    with torch.no_grad():
        right: Tensor = trained(x, x, x, torch.ones(1, 1, 4, 4, dtype=torch.bool).tril())

    def fits(found: Projections) -> bool:
        stepper.load(found.write(weights, others))
        outcome = stepper.call([x])
        stepper.release(outcome)
        got = outcome.value
        return isinstance(got, Tensor) and got.shape == right.shape and torch.allclose(got, right, atol=1e-3)

    possible = projections(own, D_MODEL, NUM_HEADS)
    if not any(map(fits, possible)):
        stepper.load(possible[0].write(weights, others))


@pytest.mark.grade(
    category="training",
    points=5,
    title="spells words backwards step by step",
    needs=("numerics", "gradients", "parameters", "behaviour"),
)
def test_spells_words_backwards(component: Submission, seed: int, progress: Progress) -> None:
    model = good_speller(without_biases, seed=seed, progress=progress)
    layer, attention = layer_of(model), component.construct(NAME, (D_MODEL, NUM_HEADS))
    stepper = component.part("Stepper", (attention,))
    stepper.train(False)
    load_trained(stepper, layer.self_attention.eval(), seed)
    layer.self_attention = StepsInPlace(remote(stepper))
    task = load_task(TASK)
    score = exact_match(model, task, task.held_out[:WORDS])
    require(score, what="A trained Transformer spelled words backwards with CachedAttention in its decoder")
