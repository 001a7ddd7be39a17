"""The trial: batches with padding, one real pass, and memory that is asked for before it is taken."""

from __future__ import annotations

import math

import pytest
import torch

from tests.zoo.support import accepted, fitting
from zoo.core.blueprint import Blueprint, Sizes, make_blueprint
from zoo.core.errors import CombinationError
from zoo.core.registry import Variant
from zoo.core.rules import checked_plan
from zoo.models.builder import build
from zoo.models.devices import MemoryLimitError
from zoo.models.trial import build_on, check_memory, padded_tokens, try_out

CPU = torch.device("cpu")


SMALL: dict[str, object] = {
    "d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 7, "tgt_vocab": 7, "max_len": 8,
}  # fmt: skip


def small(**given: object) -> Blueprint:
    return make_blueprint(**{**SMALL, **given})


class TestTokens:
    @pytest.mark.parametrize("pad", [0, 2, 4])
    @pytest.mark.parametrize(("rows", "length"), [(1, 1), (4, 1), (3, 7), (8, 4)])
    def test_rows_are_tokens_then_padding(self, pad: int, rows: int, length: int) -> None:
        sizes = Sizes(src_vocab=5, tgt_vocab=6, max_len=8, pad=pad)
        tokens = padded_tokens(sizes, rows, length, seed=0)
        assert [tuple(side.shape) for side in tokens] == [(rows, length)] * 3
        for side, vocab in zip(tokens, (5, 6, 6), strict=True):
            assert 0 <= side.min() <= side.max() < vocab
            kept = side != pad
            assert torch.equal(kept, kept.cummin(dim=1).values)
            assert kept[0].all()
            assert kept[:, 0].all()

    def test_labels_are_the_inputs_one_ahead(self) -> None:
        tokens = padded_tokens(Sizes(src_vocab=50, tgt_vocab=50), 4, 9, seed=1)
        assert torch.equal(tokens.tgt[:, 1:], tokens.labels[:, :-1])

    def test_padding_grows_from_row_to_row_up_to_half(self) -> None:
        kept = (padded_tokens(Sizes(), 4, 16, seed=0).src != 0).sum(dim=1).tolist()
        assert kept == [16, 14, 12, 10]

    def test_all_tokens_but_padding_occur(self) -> None:
        tokens = padded_tokens(Sizes(src_vocab=5, tgt_vocab=5, pad=3), 8, 64, seed=0)
        assert set(tokens.src.flatten().tolist()) == {0, 1, 2, 3, 4}
        assert 3 not in tokens.src[0]

    def test_the_seed_decides(self) -> None:
        one, same, other = (padded_tokens(Sizes(), 2, 9, seed).src for seed in (1, 1, 2))
        assert torch.equal(one, same)
        assert not torch.equal(one, other)

    def test_what_leaves_no_batch_is_refused(self) -> None:
        with pytest.raises(CombinationError, match="length=9 is over max_len=8"):
            padded_tokens(Sizes(max_len=8), 2, 9, seed=0)
        with pytest.raises(CombinationError, match="contains only padding"):
            padded_tokens(Sizes(tgt_vocab=1), 2, 4, seed=0)


class TestTryOut:
    @pytest.mark.parametrize("variant", accepted(), ids=lambda v: f"{v.axis}/{v.name}")
    def test_every_variant_runs_and_the_gradient_reaches_all_of_it(
        self, variant: Variant, device: torch.device
    ) -> None:
        blueprint = fitting({variant.axis: variant.name}, **SMALL)
        model = build_on(checked_plan(blueprint), device, seed=0)
        trial = try_out(model, blueprint, device)
        assert trial.good
        positions = 1 if variant.axis == "assembly" and variant.capabilities["reads"] == "images" else 8
        assert trial.output_shape == (4, positions, 7)
        assert trial.unreached == ()
        assert trial.reached == len(list(model.parameters()))
        assert trial.seconds > 0

    def test_it_is_the_same_each_time_and_leaves_the_random_state_alone(self) -> None:
        blueprint = small(dropout=0.5)
        model = build(blueprint, seed=0)
        before = torch.random.get_rng_state()
        losses = [try_out(model, blueprint, CPU, seed).loss for seed in (0, 0, 1)]
        assert losses[0] == losses[1] != losses[2]
        assert torch.equal(torch.random.get_rng_state(), before)

    def test_what_the_gradient_does_not_reach_is_named(self) -> None:
        blueprint = small()
        model = build(blueprint, seed=0)
        model.register_parameter("idle", torch.nn.Parameter(torch.ones(2)))
        model.head.bias.requires_grad_(False)
        trial = try_out(model, blueprint, CPU)
        assert trial.unreached == ("idle",)
        assert trial.reached == len(list(model.parameters())) - 2
        assert trial.good

    def test_a_gradient_that_is_not_finite_is_named(self) -> None:
        blueprint = small()
        model = build(blueprint, seed=0)
        with torch.no_grad():
            model.head.weight[3] = math.inf
        trial = try_out(model, blueprint, CPU)
        assert "head.weight" in trial.not_finite
        assert not trial.good


class TestMemory:
    def test_what_cannot_fit_is_refused_before_it_is_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        blueprint = make_blueprint(d_model=1024, num_encoder_layers=24, num_decoder_layers=24)
        with torch.device("meta"):
            count = sum(p.numel() for p in build(blueprint, seed=0).parameters())
        needed = 2 * 4 * count
        monkeypatch.setattr("zoo.models.trial.free_memory", lambda _: needed)
        check_memory(checked_plan(blueprint), CPU)
        monkeypatch.setattr("zoo.models.trial.free_memory", lambda _: needed - 1)
        with pytest.raises(MemoryLimitError, match=r"take \d+ GB, and \d+ GB is free on cpu\. Use a smaller"):
            check_memory(checked_plan(blueprint), CPU)
        monkeypatch.setattr("zoo.models.trial.free_memory", lambda _: None)
        check_memory(checked_plan(blueprint), CPU)

    def test_small_models_are_not_asked_about(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("zoo.models.trial.free_memory", lambda _: 0)
        check_memory(checked_plan(make_blueprint()), CPU)

    @pytest.mark.parametrize(
        "sizes", [{"d_model": 10**7, "num_heads": 1}, {"d_model": 10**20, "num_heads": 1}]
    )
    def test_no_size_ends_in_a_traceback(self, sizes: dict[str, int]) -> None:
        with pytest.raises(MemoryLimitError, match="Use a smaller d_model"):
            build_on(checked_plan(make_blueprint(**sizes)), CPU, seed=0)
