"""Training: the recipe's numbers, seeds, what is left behind, and the score."""

import sys

import pytest
import torch
from torch import Tensor, nn

from zoo.core.blueprint import Sizes, get_preset
from zoo.core.errors import CombinationError, PluginError, UnknownNameError, ZooError
from zoo.core.tasks import Task
from zoo.models.builder import build
from zoo.models.transformer import Transformer
from zoo.parts.decoding.sample import SampleDecoding
from zoo.parts.loss.cross_entropy import CrossEntropyLoss
from zoo.parts.schedule.linear import LinearSchedule
from zoo.training.tasks.base import EOS, PAD, SOS
from zoo.training.tasks.reverse import Reverse
from zoo.training.trainer import (
    DivergedError,
    Recipe,
    check_sizes,
    exact_match,
    load_task,
    shift_right,
    steady,
    train,
)

TASK = Reverse()
SHORT = Recipe(steps=4, batch_size=8)


def small(seed: int = 0, **sizes: float) -> Transformer:
    blueprint = get_preset("reverse").blueprint()
    return build(blueprint.with_sizes(d_model=16, num_heads=2, d_ff=16, **sizes), seed=seed)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"steps": 0}, "steps=0: expected at least 1"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"warmup": 0}, "warmup=0"),
        ({"lr": 0.0}, "lr=0.0: expected a number above 0"),
        ({"lr": float("nan")}, "lr=nan"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_a_recipe_that_cannot_work_is_refused(wrong: dict[str, float], reason: str) -> None:
    with pytest.raises(ZooError, match=reason):
        Recipe(**wrong)  # type: ignore[arg-type]


def test_the_decoder_sees_the_target_one_step_late() -> None:
    assert shift_right(torch.tensor([[7, 8, EOS], [9, EOS, PAD]])).tolist() == [[SOS, 7, 8], [SOS, 9, EOS]]


def test_the_loss_falls(device: torch.device) -> None:
    model = small()
    losses = train(model, TASK, Recipe(steps=40), device=device)
    assert len(losses) == 40
    assert losses[-1] < losses[0] - 0.3
    assert model.training
    assert {parameter.device.type for parameter in model.parameters()} == {device.type}


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_seed_decides_everything(dropout: float) -> None:
    def run(seed: int) -> tuple[list[float], Tensor]:
        torch.manual_seed(seed + 17)  # what the global generator holds must not matter
        model = small(dropout=dropout)
        return train(model, TASK, Recipe(steps=4, batch_size=8, seed=seed)), model.head.weight.detach()

    (losses, weight), (again, same), (other, _) = run(0), run(0), run(1)
    assert losses == again
    assert torch.equal(weight, same)
    assert losses != other


def test_nothing_global_is_changed() -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    seen: list[tuple[int, bool]] = []

    def look(_step: int, _loss: float) -> None:
        seen.append((torch.get_num_threads(), sys.float_info.min / 2 == 0.0))

    torch.set_num_threads(threads + 2)
    try:
        for flush in (True, False):
            supported = torch.set_flush_denormal(flush)
            model = small(dropout=0.1)
            train(model, TASK, SHORT, on_step=look)
            exact_match(model, TASK, ["abc"])
            assert torch.get_num_threads() == threads + 2
            assert (sys.float_info.min / 2 == 0.0) == (flush and supported)
            assert set(seen) == {(1, supported)}
    finally:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(False)
    assert torch.equal(torch.get_rng_state(), state)


def test_it_is_the_plain_loop_of_teacher_forcing_bit_for_bit() -> None:
    recipe = Recipe(steps=5, batch_size=8, warmup=2, seed=4)
    ours, plain = small(dropout=0.2), small(dropout=0.2)
    losses = train(ours, TASK, recipe)
    optimizer = torch.optim.AdamW(
        plain.parameters(), lr=recipe.lr, betas=recipe.betas, eps=recipe.eps, weight_decay=recipe.weight_decay,
        fused=True,
    )  # fmt: skip
    batches = TASK.batches(torch.Generator().manual_seed(recipe.seed), recipe.batch_size)
    expected = []
    with steady(torch.device("cpu")):
        torch.manual_seed(recipe.seed)
        for step in range(recipe.steps):
            optimizer.param_groups[0]["lr"] = recipe.lr * LinearSchedule(recipe.steps, recipe.warmup)(step)
            src, tgt = next(batches)
            loss = CrossEntropyLoss(PAD)(plain(src, shift_right(tgt)), tgt)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            expected.append(loss.item())
    assert losses == expected
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.slow
def test_more_than_one_thread_is_possible() -> None:
    before, seen = torch.get_num_threads(), set()
    train(small(), TASK, SHORT, threads=2, on_step=lambda *_: seen.add(torch.get_num_threads()))
    assert (seen, torch.get_num_threads()) == ({2}, before)


def test_weights_that_are_not_finite_after_the_last_step_are_reported() -> None:
    class Blow(nn.Module):
        def forward(self, output: Tensor, labels: Tensor) -> Tensor:
            return output.sum() * 0 + 1

    model = small()
    poison = next(model.parameters())
    poison.register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(DivergedError, match="Step 1 of 1 left weights that are not finite"):
        train(model, TASK, Recipe(steps=1, batch_size=2), loss=Blow())  # type: ignore[arg-type]


def test_steps_are_told_and_what_the_listener_raises_ends_the_training() -> None:
    told: list[int] = []

    def listen(step: int, _loss: float) -> None:
        told.append(step)
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(small(), TASK, SHORT, on_step=listen)
    assert told == [1, 2, 3]


def test_a_loss_that_is_not_finite_stops_with_a_sentence() -> None:
    model = small()
    with torch.no_grad():
        model.head.weight[5] = float("nan")
    with pytest.raises(DivergedError, match="The loss became nan at step 1 of 4 and training stopped"):
        train(model, TASK, SHORT)


class Speller(nn.Module):
    """Spells every word backwards, but for those that begin with `fails`, which it ends too late."""

    stacks = ("encoder", "decoder")
    cacheable = False

    def __init__(self, fails: int) -> None:
        super().__init__()
        self.fails = fails

    def encode(self, src: Tensor) -> Tensor:
        return src

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor, caches: None = None) -> Tensor:
        done = tgt.size(1) - 1
        rows = [[*reversed([i for i in row if i != PAD]), EOS] for row in src.tolist()]
        rows = [[*row[:-1], 3, EOS] if row[-2] == self.fails else row for row in rows]
        tokens = torch.tensor([row[done] if done < len(row) else 4 for row in rows])
        return nn.functional.one_hot(tokens, 29)[:, None].float()  # [B] -> [B, 1, V]


def test_the_score_counts_words_that_are_right_to_their_end() -> None:
    score = exact_match(Speller(fails=4), TASK, ["abc", "bcd", "lamp"])  # type: ignore[arg-type]
    assert [(e.text, e.got, e.expected, e.right) for e in score.examples] == [
        ("abc", "cba", "cba", True),
        ("bcd", "dcba", "dcb", False),
        ("lamp", "pmal", "pmal", True),
    ]
    assert (score.correct, score.total) == (2, 3)
    assert score.share == pytest.approx(2 / 3)


def test_a_thousand_unseen_words_are_scored_by_default() -> None:
    score = exact_match(Speller(fails=0), TASK)  # type: ignore[arg-type]
    assert [example.text for example in score.examples] == list(TASK.held_out[:1000])
    assert score.share == 1


def test_what_a_decoding_draws_depends_on_the_seed_alone() -> None:
    def spelt(seed: int) -> list[str]:
        torch.rand(1)  # what the global generator holds must not matter
        score = exact_match(small(), TASK, TASK.held_out[:5], decoding=SampleDecoding(), seed=seed)
        return [example.got for example in score.examples]

    assert spelt(1) == spelt(1) != spelt(2)


def test_an_untrained_model_spells_nothing_and_keeps_its_mode(device: torch.device) -> None:
    model = small().train()
    assert exact_match(model, TASK, TASK.held_out[:20], device=device).correct == 0
    assert model.training


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ({"src_vocab": 28}, "src_vocab=28 is too small for the task: expected at least 29"),
        ({"tgt_vocab": 3}, "tgt_vocab=3"),
        ({"max_len": 10}, "max_len=10 .* at least 11"),
        ({"pad": 1}, "pad=1"),
    ],
)
def test_a_model_that_cannot_take_the_task_is_refused(sizes: dict[str, int], reason: str) -> None:
    with pytest.raises(CombinationError, match=reason):
        check_sizes(Sizes(**sizes), TASK)


def test_a_task_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(load_task("reverse"), Reverse)
    with pytest.raises(UnknownNameError, match="Did you mean reverse"):
        load_task("revers")
    monkeypatch.setattr(
        "zoo.training.trainer.get_task", lambda name: Task(name, "", "zoo.training.tasks.reverse:Gone", "")
    )
    with pytest.raises(
        PluginError, match=r"Task 'lost' cannot be loaded from zoo\.training\.tasks\.reverse:Gone"
    ):
        load_task("lost")


@pytest.mark.slow
def test_the_default_recipe_spells_unseen_words() -> None:
    model = build(get_preset("reverse").blueprint(), seed=0)
    train(model, TASK, Recipe(seed=0))
    assert exact_match(model, TASK).share >= 0.99
