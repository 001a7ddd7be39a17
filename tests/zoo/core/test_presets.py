"""Every preset builds; that of the reversal task is its recipe."""

import pytest
import torch

from zoo.core.blueprint import get_presets
from zoo.core.plan import make_plan
from zoo.core.rules import problems
from zoo.core.tasks import get_tasks
from zoo.models.builder import build
from zoo.training.scoring import prepare
from zoo.training.trainer import load_data

LARGE = {
    "bert-base",
    "gemma-3-like",
    "gpt2",
    "llama-3.2-1b-like",
    "vit-base",
}  # built without their random numbers


@pytest.mark.parametrize("name", sorted(get_presets()))
@pytest.mark.sampled(4)
def test_it_builds_and_says_what_it_is(name: str) -> None:
    preset = get_presets()[name]
    assert preset.summary
    preset.check()  # which a process does for presets of plugins alone
    assert not problems(make_plan(preset.blueprint()))
    with torch.device("meta" if name in LARGE else "cpu"):
        build(preset.blueprint(), seed=0)


@pytest.mark.parametrize("name", sorted(get_tasks()))
def test_every_task_has_a_preset_that_fits_it(name: str) -> None:
    blueprint = get_presets()[get_tasks()[name].preset].blueprint()
    if get_tasks()[name].path:
        prepare(blueprint, load_data(name))
    else:
        assert name in get_presets()[get_tasks()[name].preset].tasks  # settings for its own commands


def test_reverse_is_the_small_pre_norm_model() -> None:
    blueprint = get_presets()["reverse"].blueprint()
    sizes = blueprint.sizes
    assert (sizes.d_model, sizes.num_heads, sizes.d_ff, sizes.dropout) == (64, 4, 256, 0.0)
    assert (sizes.num_encoder_layers, sizes.num_decoder_layers) == (1, 1)
    assert str(blueprint["norm"]) == "pre"
    assert str(blueprint["embedding"]) == "unscaled:std=0.1"
    assert str(blueprint["encoding"]).startswith("sinusoidal")
