"""The encoder of images: its patches, its head, what it refuses; and the task that draws shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from zoo.analysis.measure import largest_difference
from zoo.core.blueprint import get_preset, make_blueprint
from zoo.core.errors import CombinationError, ZooError
from zoo.core.plan import make_plan
from zoo.core.recipe import Recipe
from zoo.core.rules import problems
from zoo.models.builder import build, parameters_by_block
from zoo.models.checkpoint import load_checkpoint, save_checkpoint
from zoo.models.trial import padded_tokens, try_out
from zoo.models.vision import PatchEmbedding
from zoo.training.scoring import prepare, token_score
from zoo.training.tasks.base import SPECIAL
from zoo.training.tasks.classify import Classify
from zoo.training.tasks.shapes import SHAPES, Shapes, drawn
from zoo.training.trainer import train

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 2, "tgt_vocab": 7, "max_len": 10, "dropout": 0.0,
}  # fmt: skip
VISION = "vision:image_size=6:patch_size=2:channels=3"


def images(count: int = 2) -> Tensor:
    return torch.randn(count, 3, 6, 6, generator=torch.Generator().manual_seed(0))


def make(assembly: str = VISION, **changes: Any) -> Any:
    return build(make_blueprint(**{**SIZES, "assembly": assembly, **changes}), seed=0).eval()


def test_patches_are_read_row_by_row_and_mapped_as_a_convolution_would() -> None:
    torch.manual_seed(0)
    embedding = PatchEmbedding(8, 6, 2, 3, class_token=True)
    x = images()
    kernel = embedding.projection.weight.view(8, 3, 2, 2)
    expected = torch.nn.functional.conv2d(x, kernel, embedding.projection.bias, stride=2)
    got = embedding(x)
    torch.testing.assert_close(got[:, 1:], expected.flatten(2).transpose(1, 2))
    assert torch.equal(got[:, 0], embedding.class_token.expand(2, 8))  # type: ignore[union-attr]


@pytest.mark.parametrize("pool", ["class-token", "mean"])
def test_scores_of_an_image_depend_on_every_patch_of_it_alone(pool: str) -> None:
    model, x = make(f"{VISION}:pool={pool}"), images()
    before = model(x)
    assert before.shape == (2, 1, 7)
    assert model.encode(x).shape == (2, 10 if pool == "class-token" else 9, 8)
    for row in range(0, 6, 2):
        for column in range(0, 6, 2):
            changed = x.clone()
            changed[0, :, row, column] += 1
            after = model(changed)
            assert not torch.allclose(after[0], before[0], atol=1e-7)
            torch.testing.assert_close(after[1], before[1])


@pytest.mark.parametrize("changes", [
    {"encoding": "rotary"}, {"encoding": "alibi*1+none"}, {"attention": "gqa"}, {"norm": "post"}, {"init": "gpt2"},
    {"head": "log-softmax", "loss": "kl"}, {"attention": "sliding:window=1+eager", "encoding": "t5"},
])  # fmt: skip
def test_the_parts_of_other_models_go_with_it(changes: dict[str, str]) -> None:
    blueprint = make_blueprint(**{**SIZES, "assembly": VISION, **changes})
    trial = try_out(build(blueprint, seed=0), blueprint, torch.device("cpu"))
    assert trial.good
    assert not trial.unreached
    assert trial.output_shape == (4, 1, 7)


@pytest.mark.parametrize(
    ("given", "rule", "sentence"),
    [
        ({"assembly": "vision:image_size=30:patch_size=8"}, "patches",
         "image_size=30 is not divisible by patch_size=8. Use image_size=24 or 32, or patch_size=5 or 6 or 10."),
        ({"assembly": "vision:image_size=32:patch_size=8", "max_len": 16}, "patches",
         "has 16 patches of 8 x 8, which take 17 positions, over max_len=16. Use max_len=17 or larger patches."),
        ({"assembly": "vision", "embedding": "tied"}, "unused-by-images", "so embedding=tied would have no use"),
        ({"assembly": "vision", "masking": "causal-only"}, "unused-by-images", "so masking=causal-only would have"),
        ({"assembly": "vision", "decoding": "beam"}, "unused-decoding", "so decoding=beam would have no use"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(given: dict[str, Any], rule: str, sentence: str) -> None:
    found = problems(make_plan(make_blueprint(**given)))
    assert list(found) == [rule]
    assert sentence in found[rule]


def test_images_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Expected images \[3, 6, 6\], got \[3, 8, 8\]"):
        make()(torch.zeros(1, 3, 8, 8))


def test_a_checkpoint_comes_back(tmp_path: Path) -> None:
    blueprint = make_blueprint(**SIZES, assembly=VISION)
    model: Any = build(blueprint, seed=1).eval()
    save_checkpoint(tmp_path, model, blueprint)
    loaded = load_checkpoint(tmp_path)
    assert loaded.blueprint == blueprint
    assert torch.equal(loaded.model(images()), model(images()))  # type: ignore[call-arg]


def test_a_trial_has_images_and_a_label_for_each() -> None:
    model: Any = make()
    tokens = padded_tokens(make_blueprint(**SIZES, src_vocab=9).sizes, 3, 5, 0)
    (given,) = tokens.read_by(model)
    assert given.shape == (3, 3, 6, 6)
    assert torch.equal(tokens.labels_for(model(given)), tokens.labels[:, :1])


def test_the_same_attention_in_another_form_gives_the_same() -> None:
    plain, fused = make(attention="eager"), make(attention="fused")
    assert largest_difference(fused, plain, images()) < 1e-5


def test_vit_base_has_the_published_number_of_parameters() -> None:
    with torch.device("meta"):
        model = build(get_preset("vit-base").blueprint(), seed=0)
    counts = parameters_by_block(model)
    assert counts["embeddings"] == 16 * 16 * 3 * 768 + 768 + 768
    assert counts["positions"] == 197 * 768
    assert {n: c for n, c in counts.items() if "layer" in n} == {
        f"encoder layer {i}": 7_087_872 for i in range(1, 13)
    }
    assert sum(counts.values()) == 86_567_656


def test_shapes_are_drawn_anew_by_their_generator() -> None:
    task = Shapes().bound(get_preset("vit-tiny").blueprint())
    first, again = (next(task.batches(torch.Generator().manual_seed(3), 8)) for _ in range(2))
    assert torch.equal(first.src, again.src)
    assert first.src.shape == (8, 1, 32, 32)
    assert set(first.tgt.flatten().tolist()) <= {SPECIAL + i for i in range(len(SHAPES))}
    held_out = list(task.held_out_batches(300))
    assert sum(len(batch.src) for batch in held_out) == 1000
    assert torch.equal(held_out[0].src, next(iter(task.held_out_batches(300))).src)


def test_each_shape_covers_its_share() -> None:
    """Of the square around it: a circle pi/4, a square .81, a triangle a half, a cross about half."""
    areas = []
    for kind in range(len(SHAPES)):
        picture = drawn(torch.full((200,), kind), 64, torch.Generator().manual_seed(0))
        areas.append(float((picture > picture.amax((2, 3), keepdim=True) / 2).float().mean()))
    circle, square, triangle, cross = areas
    assert square > circle > cross
    assert circle > triangle
    assert circle / square == pytest.approx(0.785 / 0.81, rel=0.1)


def test_tasks_of_images_and_of_texts_name_the_models_they_take() -> None:
    with pytest.raises(CombinationError, match="use assembly=vision"):
        Shapes().bound(get_preset("bert-tiny").blueprint())
    with pytest.raises(CombinationError, match="use assembly=encoder"):
        Classify().bound(get_preset("vit-tiny").blueprint())
    with pytest.raises(ZooError, match="reads images"):
        Shapes().answers(None, ["circle"])


@pytest.mark.slow
def test_vit_tiny_learns_shapes() -> None:
    preset = get_preset("vit-tiny")
    blueprint, data = prepare(preset.blueprint(), Shapes())
    assert isinstance(data, Shapes)
    model = build(blueprint, seed=0)
    train(model, data, Recipe(**{**preset.recipe, "steps": 300}))
    assert token_score(model, data).share > 0.6  # one in four by chance
