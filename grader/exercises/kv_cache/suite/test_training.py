"""The training test of kv_cache: a model that the judge has trained spells with the learner's cached attention."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from grader.api import (
    D_MODEL,
    NUM_HEADS,
    TASK,
    WORDS,
    Instance,
    Layout,
    Progress,
    StepsInPlace,
    Submission,
    good_speller,
    is_bias_of,
    own_parameters,
    remote,
    require,
    reverser,
)
from grader.exercises.attention.reference import ROLES
from grader.exercises.kv_cache.suite.scenarios import NAME, grading, sized
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


def load_trained(stepper: Instance, trained: nn.Module, found: Layout) -> None:
    """Give it the trained weights, where it keeps them."""
    own = own_parameters(stepper.parameters())
    weights = {f"{role}.weight": trained.get_parameter(f"{role}_proj.weight").detach() for role in ROLES}
    stepper.load(found.write(weights, {name: torch.zeros_like(info.value) for name, info in own.items()}))


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
    load_trained(stepper, layer.self_attention, grading(component, seed).layout(sized(D_MODEL, NUM_HEADS)))
    layer.self_attention = StepsInPlace(remote(stepper))
    task = load_task(TASK)
    score = exact_match(model, task, task.held_out[:WORDS])
    require(score, what="A trained Transformer spelled words backwards with CachedAttention in its decoder")
