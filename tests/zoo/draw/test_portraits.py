"""Small pictures of one variant: drawn from what the part computes, for every axis and for parts of strangers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo.draw
from tests.zoo.draw.support import matrices, misplaced, panels
from zoo.core.errors import UnknownNameError, ZooError
from zoo.core.plugins import get_registry
from zoo.draw.canvas import rendered, small_png
from zoo.draw.portraits import PORTRAITS
from zoo.pages.gallery import PICTURES

VARIANTS = [one for one in get_registry().variants() if one.origin.startswith("zoo.")]
FIRST = {one.axis: one for one in reversed(VARIANTS)}


def test_there_is_a_picture_of_every_axis_and_a_sentence_about_it() -> None:
    assert list(PORTRAITS) == list(PICTURES)
    assert set(PORTRAITS) == {one.name for one in get_registry().axes}


@pytest.mark.parametrize(
    "variant",
    [pytest.param(one, marks=[pytest.mark.slow] * (FIRST[one.axis] is not one)) for one in VARIANTS],
    ids=lambda one: f"{one.axis}-{one.name}",
)
def test_every_variant_has_one_and_no_text_lies_on_another(variant: Any) -> None:
    before = torch.random.get_rng_state()
    figure = zoo.draw.part(variant.axis, variant.name)
    assert not misplaced(figure)
    assert torch.equal(torch.random.get_rng_state(), before)


def line(figure: Any, number: int = -1) -> tuple[Any, Any]:
    return figure.axes[0].lines[number].get_data()


def test_a_feed_forward_shows_its_activation() -> None:
    for name, curve in {
        "relu": lambda x: np.maximum(x, 0),
        "relu2": lambda x: np.maximum(x, 0) ** 2,
        "swiglu": lambda x: x * x / (1 + np.exp(-x)),
    }.items():
        x, y = line(zoo.draw.part("feedforward", name))
        np.testing.assert_allclose(y, curve(x), atol=1e-5)


def test_attention_weights_are_shares_and_a_window_is_seen() -> None:
    encoder, _, decoder = matrices(zoo.draw.part("attention", "eager"))
    np.testing.assert_allclose(encoder.sum(-1), 1.0, atol=1e-5)
    assert (np.ma.getmaskarray(decoder) == np.triu(np.ones((8, 8), bool), 1)).all()
    figure = zoo.draw.part("attention", "sliding")
    distances = np.abs(np.subtract.outer(range(8), range(8)))
    assert ((matrices(figure)[0] > 0) == (distances <= 2)).all()
    assert figure.get_suptitle() == "sliding:window=2"


def test_norms_show_what_they_leave() -> None:
    before, after = matrices(zoo.draw.part("norm-type", "rmsnorm"))
    np.testing.assert_allclose(after, before / np.sqrt((before**2).mean(-1, keepdims=True)), atol=1e-3)
    vectors = zoo.draw.part("norm", "post").axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(vectors, 1.0, atol=1e-3)
    growing = zoo.draw.part("norm", "pre").axes[0].lines[0].get_ydata()
    assert growing[-1] > 1.5 * growing[0]


def test_forms_of_a_mask_have_their_values_written_in_them() -> None:
    def texts(name: str) -> list[str]:
        return [text.get_text() for text in zoo.draw.part("mask", name).axes[0].texts]

    assert texts("additive")[:5] == ["0", "−∞", "−∞", "−∞", "−∞"]
    assert texts("drop")[-5:] == ["False"] * 4 + ["True"]
    assert texts("lengths") == ["1", "2", "3", "4", "4"]


def test_tables_that_are_shared_look_the_same() -> None:
    source, target, head = matrices(zoo.draw.part("embedding", "three-way"))
    np.testing.assert_allclose(source, target)
    np.testing.assert_allclose(source / head, 4.0, rtol=1e-4)  # sqrt(16)
    source, target, _ = matrices(zoo.draw.part("embedding", "unscaled"))
    assert np.abs(source - target).max() > 0.1


def test_a_beam_finds_what_greedy_decoding_misses_and_samples_differ() -> None:
    greedy, beam, sample = (
        matrices(zoo.draw.part("decoding", name))[0] for name in ("greedy", "beam", "sample")
    )
    for one in (greedy, beam):
        assert set(np.unique(one)) == {0.0, 1.0}
    assert (greedy[:, 0].argmax(), beam[:, 0].argmax()) == (0, 1)
    assert 0.45 < sample[0, 0] < 0.6  # 0.45 of 0.45 + 0.4 + the rest
    np.testing.assert_allclose(sample.sum(0), 1.0, atol=1e-6)


def test_scores_losses_weights_and_ways() -> None:
    bars = zoo.draw.part("head", "softmax").axes[0]
    assert sum(one.get_height() for one in bars.patches) == pytest.approx(1.0, abs=1e-5)
    x, y = line(zoo.draw.part("loss", "cross-entropy"))
    np.testing.assert_allclose(y, -np.log(x), atol=1e-5)
    ways = {name: line(zoo.draw.part("optimizer", name), 0) for name in ("adam", "sgd")}
    for across, up in ways.values():
        assert (across[0], up[0]) == (-2.0, 1.0)
        assert abs(across[-1]) + abs(up[-1]) < 0.5
    legend = zoo.draw.part("init", "gpt2").axes[0].get_legend()
    assert "attention (std 0.0" in [text.get_text() for text in legend.get_texts()][1]


OWN = """
import torch
from torch import nn

class Opaque(nn.Module):
    "Each position takes the one before it, and keeps its weights to itself."
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.proj = nn.Linear(d_model, d_model)
    def forward(self, query, key, value, mask=None):
        return self.proj(torch.roll(value, 1, dims=1))

class Steps(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
    def forward(self, x):
        return self.down(torch.sign(self.up(x)))
"""


def test_parts_of_ones_own_have_pictures_too(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    figure = zoo.draw.part("attention", f"{path}:Opaque")
    encoder, _ = matrices(figure)
    assert ((encoder > 1e-6) == np.roll(np.eye(8, dtype=bool), 1, axis=0)).all()
    assert [axes.get_title() for axes in panels(figure)] == ["encoder", "decoder"]
    x, y = line(zoo.draw.part("feedforward", f"{path}:Steps"))
    np.testing.assert_allclose(y, np.sign(x), atol=1e-6)


def test_what_cannot_be_drawn_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean relu"):
        zoo.draw.part("feedforward", "rleu")
    with pytest.raises(UnknownNameError, match="axis"):
        zoo.draw.part("feedfoward", "relu")
    monkeypatch.delitem(PORTRAITS, "loss")
    with pytest.raises(ZooError, match="There are no pictures of the axis loss"):
        zoo.draw.part("loss", "kl")


def test_a_small_file_looks_the_same() -> None:
    from io import BytesIO

    from PIL import Image

    figure = zoo.draw.part("attention", "eager")
    large, small = rendered(figure, "png"), small_png(figure)
    assert len(small) < 0.6 * len(large)
    one, other = (np.asarray(Image.open(BytesIO(data)).convert("RGB"), dtype=int) for data in (large, small))
    assert np.abs(one - other).mean() < 2
