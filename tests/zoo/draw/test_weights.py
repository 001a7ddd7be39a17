"""Attention pictures show the model's own weights, with the tokens on the axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo.draw
from tests.zoo.draw.support import labels, matrices, misplaced, panels, share_on_antidiagonal
from zoo.core.blueprint import get_preset
from zoo.core.errors import UnknownNameError, ZooError
from zoo.core.plugins import get_registry
from zoo.draw.subjects import showing
from zoo.draw.weights import blocks
from zoo.models.builder import build
from zoo.models.checkpoint import load_checkpoint, save_checkpoint
from zoo.models.transformer import Transformer
from zoo.parts.attention.eager import EagerAttention
from zoo.training.tasks.base import SOS

SRC, TGT = [5, 6, 7, 8], [8, 7, 6, 5, 2]
SMALL = get_preset("reverse").blueprint().with_sizes(d_model=16, num_heads=2, d_ff=16)
VARIANTS = [v for v in get_registry().variants("attention") if v.origin == "zoo.parts.attention"]


def small(**choices: str) -> Transformer:
    return build(SMALL.with_choices(**choices), seed=0)


def test_the_picture_has_the_weights_that_the_model_uses(
    reverser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_checkpoint(reverser).model
    used: list[Any] = []
    attend = EagerAttention.attend

    def note(self: EagerAttention, *args: Any) -> Any:
        heads, weights = attend(self, *args)
        used.append(weights[0].detach().numpy())
        return heads, weights

    with monkeypatch.context() as patch, torch.no_grad():
        patch.setattr(EagerAttention, "attend", note)
        model(torch.tensor([SRC]), torch.tensor([[SOS, *TGT[:-1]]]))
    drawn = matrices(zoo.draw.attention(model, SRC, TGT))
    expected = [head for weights in used for head in weights]  # encoder, decoder, cross
    assert len(drawn) == len(expected) == 12
    for one, other in zip(drawn, expected, strict=True):
        np.testing.assert_allclose(np.ma.filled(one, 0.0), other, atol=1e-6)


def test_tokens_are_on_the_axes_and_the_future_is_masked(reverser: Path) -> None:
    figure = zoo.draw.attention(reverser, "planet")
    encoder, decoder, cross = panels(figure)[0], panels(figure)[4], panels(figure)[8]
    assert labels(encoder.xaxis) == labels(encoder.yaxis) == list("planet")
    answer = labels(decoder.yaxis)
    assert answer == [*"tenalp", "</s>"]
    assert labels(decoder.xaxis) == ["<s>", *"tenalp"]
    assert (labels(cross.yaxis), labels(cross.xaxis)) == (answer, list("planet"))
    hidden = np.ma.getmaskarray(decoder.images[0].get_array())
    assert (hidden == ~np.tril(np.ones((7, 7), bool))).all()
    assert "planet → tenalp" in figure.get_suptitle()
    assert not misplaced(figure)


def test_a_model_that_learned_to_reverse_reads_from_right_to_left(reverser: Path) -> None:
    peaks = []
    for word in ("transform", "zebra", "planet"):
        heads = matrices(zoo.draw.attention(reverser, word, stack="cross"))
        best = max(heads, key=lambda weights: share_on_antidiagonal(weights, len(word)))
        assert share_on_antidiagonal(best, len(word)) > 0.5
        peaks += [row.argmax() == len(word) - 1 - i for i, row in enumerate(best[: len(word)])]
    assert np.mean(peaks) > 0.8


def test_one_head_is_large_and_has_its_numbers(reverser: Path) -> None:
    figure = zoo.draw.attention(reverser, "zebra", stack="cross", layer=1, head=3)
    (panel,) = panels(figure)
    everything = matrices(zoo.draw.attention(reverser, "zebra"))
    assert (panel.images[0].get_array() == everything[10]).all()
    assert panel.get_title() == "head 3"
    assert len(panel.texts) == 5 * 6
    assert not misplaced(figure)


def test_a_target_of_ones_own_is_written(reverser: Path) -> None:
    figure = zoo.draw.attention(reverser, "zebra", "horse", stack="cross", layer=1, head=1)
    assert labels(panels(figure)[0].yaxis) == [*"horse", "</s>"]
    beam = zoo.draw.attention(reverser, "zebra", decoding="beam:size=2", stack="cross", layer=1, head=1)
    assert labels(panels(beam)[0].yaxis) == [*"arbez", "</s>"]


@pytest.mark.parametrize("name", [v.name for v in VARIANTS if v.capabilities["exact"] and v.name != "eager"])
def test_exact_variants_show_what_eager_does(name: str) -> None:
    own = small(attention=name)
    eager = small(attention="eager")
    eager.load_state_dict(own.state_dict())
    for one, other in zip(blocks(own, SRC, TGT), blocks(eager, SRC, TGT), strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_every_attention_that_declares_it_can_be_drawn(variant: Any) -> None:
    assert showing(variant)
    figure = zoo.draw.attention(small(attention=variant.name), SRC, TGT)
    signed = any((np.ma.filled(one, 0) < 0).any() for one in matrices(figure))
    assert all((axes.images[0].get_cmap().name == "RdBu_r") == signed for axes in panels(figure))


def test_positions_inside_the_attention_count() -> None:
    plain, rotary = (blocks(small(encoding=name), SRC, TGT)[0].weights for name in ("none", "rotary"))
    assert np.abs(plain - rotary).max() > 1e-3


def test_the_model_is_left_as_it_was(reverser: Path) -> None:
    model = load_checkpoint(reverser).model.train()
    zoo.draw.attention(model, SRC, TGT)
    assert model.training
    assert not any(module._forward_hooks for module in model.modules())
    assert all(p.grad is None for p in model.parameters())


def one_stack(preset: str, **sizes: int) -> Any:
    given = {
        "d_model": 16,
        "num_heads": 2,
        "d_ff": 16,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        **sizes,
    }
    return build(get_preset(preset).blueprint(sizes=given), seed=0)


def test_a_decoder_by_itself_reads_one_text() -> None:
    model = one_stack("gpt-tiny", src_vocab=20, tgt_vocab=20)
    figure = zoo.draw.attention(model, SRC, source=list("lion"), layer=2)
    one, other = panels(figure)
    assert labels(one.xaxis) == labels(one.yaxis) == list("lion")
    assert one.get_ylabel() == "decoder, layer 2\ntoken (query)"
    for panel in (one, other):
        weights = panel.images[0].get_array()
        assert (np.ma.getmaskarray(weights) == np.triu(np.ones((4, 4), bool), 1)).all()
        np.testing.assert_allclose(np.ma.filled(weights, 0).sum(-1), 1.0, atol=1e-5)
    with pytest.raises(ZooError, match="reads one text and writes none: omit `tgt`"):
        zoo.draw.attention(model, SRC, TGT)
    with pytest.raises(ZooError, match=r"has no cross-attention. It has: decoder\."):
        zoo.draw.attention(model, SRC, stack="cross")
    with pytest.raises(ZooError, match="There is no layer 3: the model has, counted from 1, decoder 2"):
        zoo.draw.attention(model, SRC, layer=3)
    with pytest.raises(ZooError, match="an id is not in its vocabulary"):
        zoo.draw.attention(model, [5, 99])


def test_an_encoder_by_itself_sees_everything() -> None:
    figure = zoo.draw.attention(one_stack("bert-tiny", src_vocab=20, tgt_vocab=20), SRC)
    assert len(panels(figure)) == 4
    for weights in matrices(figure):
        assert not np.ma.is_masked(weights)
        np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-5)
    assert not misplaced(figure)


def test_patches_of_an_image_are_named_by_row_and_column() -> None:
    model = one_stack("vit-tiny")
    image = torch.randn(*model.embeddings.shape)
    figure = zoo.draw.attention(model, image, layer=1)
    names = labels(panels(figure)[0].xaxis)
    assert names[:6] == ["class", "1,1", "1,2", "1,3", "1,4", "2,1"]
    assert names[-1] == "4,4"
    assert (matrices(zoo.draw.attention(model, image[None], layer=1))[0] == matrices(figure)[0]).all()
    assert not misplaced(figure)
    with pytest.raises(ZooError, match=r"expected a tensor \[1, 32, 32\], got a tensor \[3, 9\]"):
        zoo.draw.attention(model, torch.randn(3, 9))
    with pytest.raises(ZooError, match="got list"):
        zoo.draw.attention(model, SRC)


def test_layers_of_different_kinds_are_each_shown_by_their_own() -> None:
    model = build(
        get_preset("gpt-tiny")
        .blueprint(
            sizes={
                "d_model": 16,
                "num_heads": 2,
                "d_ff": 16,
                "num_decoder_layers": 3,
                "src_vocab": 20,
                "tgt_vocab": 20,
            }
        )
        .with_choices(attention="sliding:window=1*1+fused+gqa:num_kv_heads=1"),
        seed=0,
    )
    window, fused, grouped = (matrices(zoo.draw.attention(model, SRC, layer=n, head=1))[0] for n in (1, 2, 3))
    assert np.ma.filled(window, 0)[3].tolist()[:2] == [0.0, 0.0]  # two before are out of the window
    titles = [zoo.draw.attention(model, SRC, layer=n).get_suptitle() for n in (1, 2)]
    assert titles == ["", "weights by eager, with the same parameters"]
    for weights in (fused, grouped):
        assert (np.ma.filled(weights, 0)[3] > 0).all()


def test_another_module_is_a_sentence() -> None:
    with pytest.raises(ZooError, match="A Linear has no attention of the zoo to draw"):
        zoo.draw.attention(torch.nn.Linear(2, 2), SRC)  # type: ignore[arg-type]


class Opaque(torch.nn.Module):
    """An attention that keeps its weights to itself."""

    def __init__(self, *_args: object) -> None:
        super().__init__()
        self.num_heads = 2

    def forward(self, query: torch.Tensor, *_others: object) -> torch.Tensor:
        return query


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"layer": 2}, "There is no layer 2: the model has, counted from 1, encoder 1, decoder 1, cross 1"),
        ({"layer": 0}, "There is no layer 0"),
        ({"head": 3}, "There is no head 3: the model has 2"),
        ({"stack": "encodr"}, "There is no stack 'encodr'. Did you mean encoder"),
        ({"source": ["a"]}, "There are 4 source tokens and 1 labels"),
        ({"tgt": None}, "Give the ids that are written as `tgt`"),
        ({"src": "text"}, "A text needs the folder of a trained model"),
        ({"src": [5] * 17}, "The model cannot take this text: The sequence has 17 positions"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(given: dict[str, Any], reason: str) -> None:
    arguments = {"src": SRC, "tgt": TGT, **given}
    with pytest.raises(ZooError) as caught:
        zoo.draw.attention(small(), arguments.pop("src"), arguments.pop("tgt"), **arguments)
    assert reason in str(caught.value)


def test_an_attention_without_weights_is_named_with_those_that_have_some() -> None:
    model = build(SMALL, seed=0, parts={"attention": Opaque})
    with pytest.raises(ZooError, match=r"Opaque has no weights to show.*eager, einsum"):
        zoo.draw.attention(model, SRC, TGT)


def test_an_unknown_decoding_of_a_folder_has_the_nearest_names(reverser: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean beam"):
        zoo.draw.attention(reverser, "zebra", decoding="bream")


def test_tokens_of_any_kind_are_labels(tmp_path: Path) -> None:
    source = ["$x_1$", " the", "\u202eabc\n", "averyveryverylongtoken"]
    target = ["", "日本", "a b", "\t", "</s>"]
    figure = zoo.draw.attention(small(), SRC, TGT, source=source, target=target, stack="cross")
    panel = panels(figure)[0]
    assert labels(panel.xaxis) == ["$x_1$", "␣the", "\\u202eabc\\u00…", "averyveryvery…"]
    assert labels(panel.yaxis) == ["∅", "日本", "a b", "\\u0009", "</s>"]
    assert not [wrong for wrong in misplaced(figure) if "leaves" in wrong]


def test_many_tokens_and_many_heads_stay_readable() -> None:
    sizes = {"num_encoder_layers": 2, "num_decoder_layers": 1, "max_len": 64}
    model = build(SMALL.with_sizes(**sizes), seed=0)
    figure = zoo.draw.attention(model, list(range(3, 19)), [*range(3, 19), 2])
    assert not misplaced(figure)
    assert max(figure.get_size_inches()) * 110 < 2**16  # what Agg can draw


def test_a_folder_without_a_task_is_refused(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, small(), SMALL)
    with pytest.raises(ZooError, match="was trained on no task"):
        zoo.draw.attention(tmp_path, "hello")
