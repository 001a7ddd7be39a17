"""Steps, accumulation, validation, early stopping."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.zoo.training.translation.support import CPU, corpora, make_run, settings, small, trainer_of
from zoo.core.errors import UnknownNameError, ZooError
from zoo.models.builder import build, build_loss, build_schedule
from zoo.models.checkpoint import load_checkpoint
from zoo.training.progress import Progress
from zoo.training.tasks.base import PAD
from zoo.training.trainer import DivergedError
from zoo.training.translation.dataset import datasets
from zoo.training.translation.keeper import Keeper
from zoo.training.translation.run import make_tokenizers
from zoo.training.translation.settings import Settings, settings_from
from zoo.training.translation.work import TranslationWork
from zoo.training.update import Loss, Step, Updater, check_precision


class Told:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, Step]] = []
        self.epochs: list[tuple[int, float, float, float]] = []

    def on_step(self, progress: Progress, step: Step) -> None:
        self.steps.append((progress.step, step))

    def on_epoch(self, progress: Progress, train_loss: float, valid_loss: float, score: float) -> None:
        self.epochs.append((progress.epoch, train_loss, valid_loss, score))


def updater(**given: Any) -> tuple[Updater, Any]:
    """An updater of a small model without dropout, and its training set."""
    chosen = settings(**given)
    tokenizers = make_tokenizers(corpora(), chosen)
    blueprint = small(tokenizers, dropout=0.0)
    data = datasets(corpora(), tokenizers, 32)
    loss = Loss(build(blueprint, seed=0).train(), build_loss(blueprint), CPU)
    schedule = build_schedule(blueprint, 10, chosen.warmup)
    return Updater(loss, chosen.recipe(), schedule, 10, chosen.clip), data.train


def test_accumulated_batches_are_one_big_batch() -> None:
    one, data = updater(clip=0.5)
    several, _ = updater(clip=0.5)
    for each in (one, several):
        each.model.double()
    rows = list(range(12))
    whole = one.step(0, [data.batch(rows)])
    parts = several.step(0, [data.batch(rows[:1]), data.batch(rows[1:4]), data.batch(rows[4:])])
    assert whole.tokens == parts.tokens == sum(len(data.ids[i][1]) + 1 for i in rows)
    # what is told of the loss is summed in float32
    assert math.isclose(whole.loss, parts.loss, rel_tol=3 * torch.finfo(torch.float32).eps)
    for name, gradient in ((n, p.grad) for n, p in one.model.named_parameters()):
        other = dict(several.model.named_parameters())[name].grad
        torch.testing.assert_close(other, gradient, rtol=1e-9, atol=1e-12)


def test_the_gradient_is_clipped_and_0_leaves_it() -> None:
    norms = {}
    for clip in (0.0, 0.01):
        one, data = updater(clip=clip)
        one.step(0, [data.batch(range(8))])
        norms[clip] = math.sqrt(
            sum(float(p.grad.square().sum()) for p in one.model.parameters() if p.grad is not None)
        )
    assert norms[0.0] > 0.1
    assert math.isclose(norms[0.01], 0.01, rel_tol=1e-3)


def test_the_rate_follows_the_schedule_and_stays_beyond_its_end() -> None:
    one, data = updater(warmup=5, lr=1e-2)
    rates = [one.step(number, [data.batch([0])]).lr for number in (0, 4, 9, 10, 50)]
    assert rates[:2] == pytest.approx([2e-3, 1e-2])
    assert rates[2] == rates[3] == rates[4] == pytest.approx(1e-2 * math.sqrt(5 / 10))


def test_a_loss_that_is_not_finite_ends_the_training_and_keeps_the_weights() -> None:
    one, data = updater()
    with torch.no_grad():
        next(iter(one.model.parameters())).fill_(math.nan)
    before = [p.clone() for p in one.model.parameters()]
    with pytest.raises(DivergedError, match="at step 4"):
        one.step(3, [data.batch([0, 1])])
    assert all(torch.equal(a, b) for a, b in zip(before[1:], list(one.model.parameters())[1:], strict=True))


def test_padding_does_not_count(tmp_path: Path) -> None:
    one, data = updater()
    batch = data.batch([0, 4])
    assert (batch.tgt == PAD).any()
    assert one.step(0, [batch]).tokens == int((batch.tgt != PAD).sum())


def test_an_epoch_has_every_pair_once_and_what_is_told_adds_up(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", epochs=3, accumulate=2)
    trainer, told = trainer_of(run), Told()
    for epoch in range(3):
        assert sorted(i for group in trainer.work.groups(epoch) for batch in group for i in batch) == list(
            range(60)
        )
    progress = trainer.run(told)
    sizes = [len(trainer.work.groups(epoch)) for epoch in range(3)]
    assert [number for number, _ in told.steps] == list(range(1, sum(sizes) + 1))
    assert [epoch for epoch, *_ in told.epochs] == [1, 2, 3]
    assert progress.finished
    first = [step for _, step in told.steps[: sizes[0]]]
    mean = sum(step.loss * step.tokens for step in first) / sum(step.tokens for step in first)
    assert told.epochs[0][1] == pytest.approx(mean)
    assert told.epochs[2][1] < told.epochs[0][1]  # it learns


def test_the_validation_loss_is_the_mean_over_tokens_whatever_the_batches(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    trainer = trainer_of(run)
    trainer.model.eval()
    with torch.no_grad():
        whole = trainer.updater.loss(trainer.work.data.valid.batch(range(10))).item()
    assert trainer.work.valid_loss() == pytest.approx(whole, rel=1e-5)


def test_it_stops_when_bleu_has_not_risen_for_so_many_epochs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([10.0, 30.0, 20.0, 30.0, 29.0, 99.0])
    monkeypatch.setattr(TranslationWork, "valid_bleu", lambda _: next(scores))
    run = make_run(tmp_path / "run", epochs=9, patience=3)
    trainer = trainer_of(run)
    with Keeper(run, trainer) as keeper:
        progress = trainer.run(keeper)
    assert (progress.epoch, progress.best_epoch, progress.best) == (5, 2, 30.0)
    assert load_checkpoint(run.folder / "best").extra["epoch"] == 2
    assert load_checkpoint(run.folder / "last").extra["progress"]["epoch"] == 5


def test_patience_0_never_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TranslationWork, "valid_bleu", lambda _: 1.0)
    assert trainer_of(make_run(tmp_path / "run", epochs=4)).run(Told()).epoch == 4


@pytest.mark.parametrize(("threads", "flush"), [(None, True), (2, False)])
def test_nothing_global_is_changed(tmp_path: Path, threads: int | None, flush: bool) -> None:
    seen: set[tuple[int, bool]] = set()

    class Look(Told):
        def on_step(self, progress: Progress, step: Step) -> None:
            seen.add((torch.get_num_threads(), sys.float_info.min / 2 == 0.0))

    before, state = torch.get_num_threads(), torch.get_rng_state()
    torch.set_num_threads(3)
    try:
        supported = torch.set_flush_denormal(flush)
        trainer = trainer_of(make_run(tmp_path / "run", epochs=1))
        trainer.threads = threads
        trainer.run(Look())
        assert (torch.get_num_threads(), sys.float_info.min / 2 == 0.0) == (3, flush and supported)
    finally:
        torch.set_num_threads(before)
        torch.set_flush_denormal(False)
    assert seen == {(threads or 3, supported)}
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tokens": 0}, "tokens=0: expected at least 1"),
        ({"clip": -1.0}, "clip=-1.0"),
        ({"clip": math.nan}, "clip=nan"),
        ({"epochs": 0}, "epochs=0"),
        ({"lr": 0.0}, "lr=0.0"),
        ({"patience": -1}, "patience=-1"),
        ({"accumulate": 0}, "accumulate=0"),
    ],
)
def test_settings_out_of_range_are_told(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ZooError, match=words):
        Settings(**given)


@pytest.mark.parametrize("given", [{"model": "words"}, {"precision": "half"}])
def test_unknown_kinds_are_told(given: dict[str, str]) -> None:
    with pytest.raises(UnknownNameError):
        Settings(**given)


def test_what_is_asked_for_wins_over_the_preset() -> None:
    found = settings_from(
        {"lr": 1.0, "steps": 7, "warmup": 9}, {"epochs": 3, "warmup": 8}, {"epochs": 4, "lr": None}
    )
    assert (found.lr, found.warmup, found.epochs) == (1.0, 8, 4)


def test_a_sentence_longer_than_a_batch_is_told(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="the longest sentence has"):
        trainer_of(make_run(tmp_path / "run", tokens=2))


def test_bf16_is_refused_where_the_cpu_has_no_instructions_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    with pytest.raises(ZooError, match="no instructions for bf16"):
        check_precision("bf16", CPU)
    check_precision("float32", CPU)
