"""Masks, positions, schedules, models, trainings, differences: their data, their texts, their places."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

import zoo.draw
from tests.zoo.draw.support import labels, matrices, misplaced, panels
from zoo.core.blueprint import get_presets, make_blueprint
from zoo.core.errors import UnknownNameError, ZooError
from zoo.core.plugins import get_registry
from zoo.draw.assembly import differences
from zoo.draw.pieces import DIFFER
from zoo.parts.encoding.alibi import alibi_slopes
from zoo.parts.encoding.sinusoidal import SinusoidalPositions
from zoo.training.record import Record, read_record


class TestMask:
    def test_it_is_causal_and_hides_padding(self) -> None:
        figure = zoo.draw.mask("full", lengths=[3, 2], target_lengths=[2, 4])
        encoder, decoder, cross = matrices(figure)[3:]  # the second sentence
        assert encoder.tolist() == [[True, True, False]] * 3
        assert (decoder == np.tril(np.ones((4, 4), bool))).all()
        assert cross.tolist() == [[True, True, False]] * 4
        first = panels(figure)[1]
        assert labels(first.yaxis)[:4] == ["1", "2", "·", "·"]
        assert not misplaced(figure)

    def test_another_policy_is_another_picture(self) -> None:
        causal = matrices(zoo.draw.mask("causal-only", lengths=[3, 2]))
        assert all(one.all() for one in (causal[0], causal[2], causal[3], causal[5]))
        blank = matrices(zoo.draw.mask("blank-rows", lengths=[3, 2]))
        assert blank[4].tolist() == [[True, False, False], [True, True, False], [False] * 3]

    @pytest.mark.parametrize(
        ("lengths", "target_lengths", "reason"),
        [
            ([3], [3, 4], "1 source and 2 target lengths"),
            ([], None, "0 source and 0 target lengths"),
            ([0], None, "A length of 0 cannot be drawn"),
            ([1000], None, "expected 1 to 64"),
        ],
    )
    def test_lengths_that_make_no_batch(
        self, lengths: list[int], target_lengths: list[int] | None, reason: str
    ) -> None:
        with pytest.raises(ZooError, match=reason):
            zoo.draw.mask(lengths=lengths, target_lengths=target_lengths)


class TestPositions:
    def test_a_table_is_what_is_added(self) -> None:
        table, similarity = matrices(zoo.draw.positions(["sinusoidal"], length=6, d_model=8))
        added = SinusoidalPositions(8, 6)(torch.zeros(1, 6, 8))[0].numpy()
        np.testing.assert_allclose(table, added)
        unit = added / np.linalg.norm(added, axis=1, keepdims=True)
        np.testing.assert_allclose(similarity, unit @ unit.T, atol=1e-6)

    def test_rotary_depends_on_the_distance_alone(self) -> None:
        _, similarity = matrices(zoo.draw.positions(["rotary"], length=6, d_model=16, num_heads=2))
        angles = 10000.0 ** -(np.arange(4) / 4)
        expected = [[np.cos((i - j) * angles).mean() for j in range(6)] for i in range(6)]
        np.testing.assert_allclose(similarity, expected, atol=1e-5)

    def test_alibi_falls_with_distance_at_the_slope_of_each_head(self) -> None:
        figure = zoo.draw.positions(["alibi"], length=5, num_heads=4, head=2)
        by_distance, matrix = matrices(figure)
        slopes = alibi_slopes(4)
        np.testing.assert_allclose(by_distance, [[-m * abs(d) for d in range(-4, 5)] for m in slopes])
        np.testing.assert_allclose(matrix[3], [-slopes[1] * abs(j - 3) for j in range(5)])

    def test_nothing_is_said_to_be_nothing(self) -> None:
        figure = zoo.draw.positions(["none"], length=4)
        assert [text.get_text() for axes in panels(figure) for text in axes.texts] == [
            "adds nothing",
            "positions are indistinguishable",
        ]

    @pytest.mark.slow
    def test_all_of_them_fit_on_one_picture(self) -> None:
        names = [v.name for v in get_registry().variants("encoding") if v.origin == "zoo.parts.encoding"]
        figure = zoo.draw.positions(names, length=12)
        assert [axes.get_title().partition(" (")[0] for axes in panels(figure)[::2]] == names
        assert not misplaced(figure)

    @pytest.mark.parametrize(
        ("names", "given", "reason"),
        [
            ([], {}, "Name an encoding"),
            (["rotry"], {}, "Did you mean rotary"),
            (["alibi"], {"num_heads": 5}, "d_model=64 is not divisible by num_heads=5"),
            (["alibi"], {"head": 5}, "There is no head 5"),
            (["alibi"], {"length": 1}, "length=1 cannot be drawn"),
            (["rotary"], {"d_model": 12}, "expected an even head_dim"),
        ],
    )
    def test_what_cannot_be_drawn(self, names: list[str], given: dict[str, int], reason: str) -> None:
        with pytest.raises(ZooError, match=reason):
            zoo.draw.positions(names, **given)


class TestSchedule:
    def test_a_line_has_the_rate_of_every_step(self) -> None:
        figure = zoo.draw.schedule(["noam", "cosine:floor=0.1"], steps=50, warmup=10, lr=0.5)
        noam, cosine, end = figure.axes[0].lines
        steps = np.arange(1, 51)
        np.testing.assert_allclose(
            noam.get_ydata(), 0.5 * np.where(steps <= 10, steps / 10, np.sqrt(10 / steps))
        )
        left = (steps - 11) / 40
        after = 0.1 + 0.9 * (1 + np.cos(math.pi * left)) / 2
        np.testing.assert_allclose(cosine.get_ydata(), 0.5 * np.where(steps <= 10, steps / 10, after))
        assert list(end.get_xdata()) == [10, 10]
        assert figure.axes[0].get_ylabel() == "learning rate"
        assert not misplaced(figure)

    def test_without_a_rate_shares_are_drawn(self) -> None:
        (axes,) = zoo.draw.schedule(["constant"], steps=5).axes
        assert axes.get_ylabel() == "learning rate (share of the highest)"
        assert list(axes.lines[0].get_ydata()) == [1.0] * 5

    def test_what_cannot_be_drawn(self) -> None:
        with pytest.raises(UnknownNameError, match="Did you mean noam"):
            zoo.draw.schedule(["naom"])
        with pytest.raises(ZooError, match="Name a schedule"):
            zoo.draw.schedule([])
        with pytest.raises(ZooError, match="expected at least 1"):
            zoo.draw.schedule(["noam"], steps=0)


class TestModel:
    @pytest.mark.parametrize(
        "name",
        [pytest.param(name, marks=[pytest.mark.slow] * (i % 4 > 0)) for i, name in enumerate(get_presets())],
    )
    def test_every_preset_fits(self, name: str) -> None:
        figure = zoo.draw.model(name)
        assert not misplaced(figure)
        axes = figure.axes[0]
        xs, ys = axes.get_xlim(), axes.get_ylim()
        for text in axes.texts:
            assert xs[0] < text.get_position()[0] < xs[1], text
            assert ys[0] <= text.get_position()[1] < ys[1], text

    def test_one_stack_stands_in_the_middle_and_says_what_it_reads_and_gives(self) -> None:
        for name, reads, gives in (
            ("gpt-tiny", "tokens so far [B, L]", "[B, L, 0]"),
            ("bert-tiny", "tokens [B, S]", "[B, S, 0]"),
            ("vit-tiny", "images [B, 1, 32, 32]", "[B, 1, 0]"),
        ):
            axes = zoo.draw.model(name).axes[0]
            texts = [text.get_text() for text in axes.texts]
            assert reads in texts
            vocabulary = f"{get_presets()[name].blueprint().sizes.tgt_vocab:,}"
            assert f"logits {gives.replace('0', vocabulary)}" in texts
            middles = {
                round(patch.get_x() + patch.get_width() / 2, 2)  # type: ignore[attr-defined]
                for patch in axes.patches
                if patch.get_y() > 3  # type: ignore[attr-defined]
            }
            assert middles == {round(sum(axes.get_xlim()) / 2, 2)}

    def test_texts_stay_inside_their_blocks(self) -> None:
        figure = zoo.draw.model("modern")
        assert not misplaced(figure)
        axes = figure.axes[0]
        renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        for text in axes.texts:
            if text.get_gid() == "block":
                box = text.get_window_extent(renderer).transformed(axes.transData.inverted())
                assert any(
                    patch.get_x() <= box.x0 and box.x1 <= patch.get_x() + patch.get_width()  # type: ignore[attr-defined]
                    for patch in axes.patches
                    if patch.get_y() <= box.y0 <= patch.get_y() + patch.get_height()  # type: ignore[attr-defined]
                ), text.get_text()

    def test_the_paper_differs_from_itself_in_nothing(self) -> None:
        found = differences(get_presets()["vaswani2017"].blueprint())
        assert not [axis for axis, one in found.items() if one.paper]
        texts = [text.get_text() for text in zoo.draw.model("vaswani2017").axes[0].texts]
        assert not [text for text in texts if text.startswith("paper:")]
        assert "Sizes: the paper's." in texts

    def test_what_computes_the_same_is_not_marked(self) -> None:
        same = {"attention": "fused:dropout=0", "norm-type": "torch-layernorm", "mask": "additive"}
        paper = get_presets()["vaswani2017"].blueprint()
        assert not [axis for axis, one in differences(paper.with_choices(**same)).items() if one.paper]
        assert differences(paper.with_choices(attention="fused"))["attention"].paper == "eager:dropout=0"

    def test_one_stack_and_another_optimizer_differ_from_the_paper(self) -> None:
        texts = [text.get_text() for text in zoo.draw.model("gpt2").axes[0].texts]
        for block, paper in {"assembly = decoder": "encoder-decoder", "optimizer = adamw": "adam"}.items():
            assert texts[texts.index(block) + 1] == f"paper: {paper}"

    def test_shapes_and_sizes_are_on_it(self) -> None:
        figure = zoo.draw.model(make_blueprint(d_model=64, num_heads=4, d_ff=96, tgt_vocab=77, norm="pre"))
        texts = [text.get_text() for text in figure.axes[0].texts]
        assert {
            "[B, S, 64]",
            "memory [B, S, 64]",
            "logits [B, L, 77]",
            "64 → 96 → 64",
            "paper: post",
        } <= set(texts)
        assert "cross-attention, 4 heads of 16" in texts
        assert "encoder layer, 6 of them" in texts

    @pytest.mark.parametrize(("assembly", "other"), [("decoder", "encoder"), ("encoder", "decoder")])
    def test_a_model_of_one_stack_has_one_column(self, assembly: str, other: str) -> None:
        figure = zoo.draw.model(
            make_blueprint(assembly=assembly, d_model=64, num_decoder_layers=2, tgt_vocab=77)
        )
        texts = [text.get_text() for text in figure.axes[0].texts]
        assert [text for text in texts if f"{assembly} layer" in text]
        assert not [
            text
            for text in texts
            if f"{other} layer" in text or "cross-attention" in text or "memory" in text
        ]
        assert f"logits [B, {'L' if assembly == 'decoder' else 'S'}, 77]" in texts
        assert not [text for text in texts if f"num_{other}_layers" in text]

    def test_an_unknown_preset_has_the_nearest_names(self) -> None:
        with pytest.raises(UnknownNameError, match="Did you mean modern"):
            zoo.draw.model("moden")


class TestTraining:
    @pytest.mark.slow
    def test_a_run_is_read_and_drawn(self, reverser: Path) -> None:
        record = read_record(reverser)
        assert record.steps == list(range(1, 221))
        assert record.losses[0] > 3 > 0.5 > record.losses[-1]
        assert max(record.rates) == pytest.approx(5e-3)
        assert list(record.norms) == ["embeddings", "encoder 1", "decoder 1", "head"]
        assert [step for step, _ in record.scores] == list(range(22, 221, 22))
        figure = zoo.draw.training(reverser)
        loss, rate, score = figure.axes[:3]
        assert list(loss.lines[0].get_ydata()) == record.losses
        assert list(rate.lines[0].get_ydata()) == record.rates
        assert list(score.lines[0].get_ydata()) == [value for _, value in record.scores]
        assert score.get_ylabel() == "unseen texts right (%)"
        assert not misplaced(figure)

    def test_several_lie_over_each_other(self) -> None:
        records = [
            Record(
                name,
                [1, 2, 3],
                [3.0, 2.0, level],
                [0.1] * 3,
                {f"encoder {i}": [level] * 3 for i in range(1, 15)},
                [(2, 10.0), (3, 30.0)],
                "BLEU",
                [(3, level)],
            )
            for name, level in (("one", 1.0), ("a-second-one-with-a-very-long-name", 0.5), ("third", 0.2))
        ]
        figure = zoo.draw.training(*records)
        assert len(figure.axes) == 6
        legend = figure.axes[0].get_legend()
        assert legend is not None
        shown = [text.get_text() for text in legend.get_texts()]
        assert shown == ["one", "validation", "a-second-one-with-a-ver…", "validation", "third", "validation"]
        assert not misplaced(figure)

    @pytest.mark.slow
    def test_two_folders_of_one_name_have_their_paths(self, reverser: Path, tmp_path: Path) -> None:
        other = tmp_path / "reverser"
        other.mkdir()
        (other / "log.csv").write_text("step,loss,lr\n1,2.5,0.1\n2,2.0,0.1\n")  # an older log, without norms
        legend = zoo.draw.training(reverser, other).axes[0].get_legend()
        assert legend is not None
        assert len({text.get_text() for text in legend.get_texts()}) == 2
        assert zoo.draw.training(other).axes[2].texts[0].get_text() == "no score yet"

    def test_folders_that_differ_far_above_are_told_apart(self, tmp_path: Path) -> None:
        runs = [tmp_path / one for one in ("one/pre/run", "two/pre/run", "two/post/run", "two/other")]
        for run in runs:
            run.mkdir(parents=True)
            (run / "log.csv").write_text("step,loss,lr\n1,2.5,0.1\n")
        legend = zoo.draw.training(*runs).axes[0].get_legend()
        assert legend is not None
        shown = [text.get_text() for text in legend.get_texts()]
        assert shown == ["one/…/run", "two/…/run", "post/run", "other"]

    @pytest.mark.parametrize(
        ("log", "reason"),
        [
            (None, r"is not the folder of a training: there is no log\.csv in it"),
            ("step,loss,lr\n", "has no step yet"),
            ("step,loss\n1,2\n", "is damaged or not written by `zoo train`"),
            ("step,loss,lr\n1,x,3\n", "is damaged"),
        ],
    )
    def test_what_is_no_run(self, log: str | None, reason: str, tmp_path: Path) -> None:
        if log is not None:
            (tmp_path / "log.csv").write_text(log)
        with pytest.raises(ZooError, match=reason):
            zoo.draw.training(tmp_path)
        with pytest.raises(ZooError, match="Name the folder"):
            zoo.draw.training()


PAIRS = [
    ("attention", "eager", "sliding:window=2"),
    ("encoding", "sinusoidal", "alibi"),
    ("norm", "post", "pre"),
    ("norm-type", "layernorm", "rmsnorm"),
    ("feedforward", "relu", "swiglu"),
    ("embedding", "scaled", "three-way"),
    ("head", "logits", "softmax"),
    ("masking", "full", "blank-rows"),
    ("mask", "bool", "additive"),
    ("loss", "cross-entropy", "kl"),
    ("schedule", "noam", "cosine"),
]


class TestDiff:
    @pytest.mark.parametrize(
        ("axis", "a", "b"),
        [
            pytest.param(*pair, id=pair[0], marks=[pytest.mark.slow] * (i % 4 > 0))
            for i, pair in enumerate(PAIRS)
        ],
    )
    @pytest.mark.sampled(3)
    def test_every_axis_has_a_picture(self, axis: str, a: str, b: str) -> None:
        figure = zoo.draw.diff(axis, a, b)
        assert isinstance(figure, Figure)
        assert not misplaced(figure)
        for row in (panels(figure)[i : i + 3] for i in range(0, len(panels(figure)), 3)):
            left, right, gap = (np.ma.asarray(axes.images[0].get_array(), dtype=float) for axes in row)
            np.testing.assert_allclose(gap, right - left, atol=1e-6)

    def test_a_pair_for_every_axis_that_can_be_drawn(self) -> None:
        assert {pair[0] for pair in PAIRS} == DIFFER

    def test_variants_that_compute_the_same_are_equal(self) -> None:
        figure = zoo.draw.diff("attention", "eager", "fused")
        for axes in panels(figure)[2::3]:
            assert np.abs(axes.images[0].get_array()).max() < 1e-5

    def test_a_window_hides_what_is_far(self) -> None:
        eager, sliding = matrices(zoo.draw.diff("attention", "eager", "sliding:window=2"))[:2]
        far = np.abs(np.subtract.outer(np.arange(8), np.arange(8))) > 2
        assert (eager > 0).all()
        assert (sliding[far] == 0).all()

    def test_layers_that_differ_have_a_row_each(self) -> None:
        drawn = panels(zoo.draw.diff("attention", "eager+sliding:window=2", "eager"))
        assert len(drawn) == 3 * 4
        first, second = (np.abs(row.images[0].get_array()).max() for row in drawn[2:6:3])
        assert first == 0
        assert second > 0.01
        assert len(panels(zoo.draw.diff("encoding", "rotary*2+none", "rotary"))) == 3 * 2

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            (("atention", "eager", "fused"), "Did you mean attention"),
            (
                ("attention", "eager+fused+gqa+mqa", "eager+loop+fused"),
                "have 12 different layers, and 6 can be drawn",
            ),
            (("attention", "eager", "fusd"), "Did you mean fused"),
            (("decoding", "greedy", "beam"), "There is nothing to draw for the axis decoding"),
            (("assembly", "decoder", "encoder"), "There is nothing to draw for the axis assembly"),
            (("optimizer", "adam", "sgd"), "`zoo compare --optimizer=adam,sgd --train` trains with each"),
        ],
    )
    def test_what_cannot_be_drawn(self, given: tuple[str, str, str], reason: str) -> None:
        with pytest.raises(ZooError, match=reason):
            zoo.draw.diff(*given)
        with pytest.raises(ZooError, match="There is no head 9"):
            zoo.draw.diff("attention", "eager", "fused", head=9)


def test_a_schedule_with_a_wrong_option_is_a_sentence() -> None:
    with pytest.raises(ZooError, match="floor"):
        zoo.draw.schedule(["cosine:floor=2"])
