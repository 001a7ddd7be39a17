"""Comparisons: every combination, refusals and failures as rows, seeds, records and CSV files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import torch

from zoo import __version__
from zoo.analysis.benchmarking import group_sizes, measure_times
from zoo.analysis.compare import (
    Candidate,
    Conditions,
    Row,
    Spread,
    Training,
    combinations,
    compare,
    number_of_stages,
    unfit,
)
from zoo.analysis.records import COSTS, check_csv, csv_text, records, write_csv
from zoo.core.blueprint import Blueprint, get_preset, make_blueprint
from zoo.core.errors import UnknownNameError, ZooError
from zoo.core.recipe import Recipe
from zoo.core.rules import checked_plan
from zoo.models.trial import build_on
from zoo.training.trainer import DivergedError, exact_match, load_task, train

CPU = torch.device("cpu")
CONDITIONS = Conditions(batch=2, length=4, seeds=(0,), device=CPU)
REVERSE = Conditions(batch=2, length=4, seeds=(0,), device=CPU, task="reverse", steps=2)

pytestmark = pytest.mark.usefixtures("timed_once")


def small(**given: object) -> Blueprint:
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 1}
    return make_blueprint(**{"src_vocab": 29, "tgt_vocab": 29, "max_len": 16, **sizes, **given})


def crossed(base: Blueprint, **choices: list[str]) -> list[Candidate]:
    return combinations([Candidate(base)], choices)


class TestCombinations:
    def test_all_of_them_in_the_order_given_once_each(self) -> None:
        found = crossed(small(), attention=["eager:bias=false", "fused"], norm=["pre", "post", "pre"])
        given = [(one.blueprint["attention"].options["bias"], one.blueprint["norm"].name) for one in found]
        assert given == [(False, "pre"), (False, "post"), (True, "pre"), (True, "post")]
        assert {one.blueprint.sizes for one in found} == {small().sizes}

    def test_every_base_with_every_choice(self) -> None:
        bases = [Candidate(small(), "one", {"lr": 1e-3}), Candidate(small(norm="post", d_ff=4), "two")]
        found = combinations(bases, {"mask": ["bool", "drop"]})
        assert [(c.preset, c.blueprint["norm"].name, c.blueprint["mask"].name) for c in found] == [
            ("one", "pre", "bool"), ("one", "pre", "drop"), ("two", "post", "bool"), ("two", "post", "drop"),
        ]  # fmt: skip
        assert [c.blueprint.sizes.d_ff for c in found] == [8, 8, 4, 4]
        assert [dict(c.recipe) for c in found] == [{"lr": 1e-3}, {"lr": 1e-3}, {}, {}]

    def test_no_choice_is_the_base(self) -> None:
        assert combinations([Candidate(small(norm="post"))], {}) == [Candidate(small(norm="post"))]

    def test_an_unknown_name_is_the_users_mistake(self) -> None:
        with pytest.raises(UnknownNameError, match="Did you mean fused"):
            crossed(small(), attention=["eager", "fuse"])


class TestCompare:
    def test_every_number_is_there(self) -> None:
        stages: list[str] = []
        candidates = crossed(small(), attention=["eager", "fused"])
        rows = compare(candidates, CONDITIONS, stages.append)
        assert len(stages) == number_of_stages(candidates, CONDITIONS)
        for row in rows:
            assert row.outcome == "measured"
            assert row.parameters
            assert row.flops
            assert row.forward_s
            assert row.step_s
            assert row.memory_bytes
            assert (row.scores, row.trainings, row.note, row.timing_group) == (None, (), "", 0)
        assert rows[0].flops == rows[1].flops
        assert rows[0].parameters == rows[1].parameters
        assert rows[0].difference == 0
        assert rows[1].difference is not None
        assert rows[1].difference < 1e-5

    def test_the_difference_is_to_eager_with_the_same_options(self) -> None:
        row = compare(crossed(small(), attention=["loop:bias=false"]), CONDITIONS)[0]
        assert row.difference is not None
        assert row.difference < 1e-5

    def test_a_combination_that_is_refused_is_a_row_with_the_reason_and_the_rule(self) -> None:
        rows = compare(crossed(small(src_vocab=30), embedding=["scaled", "shared"]), CONDITIONS)
        assert rows[0].parameters
        assert all(getattr(rows[1], name) is None for name in COSTS)
        assert rows[1].outcome == "refused"
        assert "embedding=shared keeps one table for both sides" in rows[1].note
        assert "(rule one-vocabulary)" in rows[1].note

    def test_all_refused(self) -> None:
        rows = compare([Candidate(small(num_heads=3))], CONDITIONS)
        assert "not divisible" in rows[0].note

    def test_a_part_that_fails_when_it_runs_is_a_row_with_the_reason(self, tmp_path: Path) -> None:
        head = "from zoo.parts.attention.eager import EagerAttention\nclass Mine(EagerAttention):\n"
        (tmp_path / "mine.py").write_text(f"{head}    def forward(self, *args):\n        return 1 / 0\n")
        (tmp_path / "like.py").write_text(f"{head}    pass\n")
        mine, like = f"{tmp_path / 'mine.py'}:Mine", f"{tmp_path / 'like.py'}:Mine"
        rows = compare(crossed(small(), attention=[mine, "eager", like]), REVERSE)
        assert rows[0].outcome == "failed"
        assert "ZeroDivisionError (line 4)" in rows[0].note
        assert rows[0].trainings == ()
        assert rows[1].step_s
        assert rows[2].step_s
        assert rows[2].difference is None
        assert rows[2].note == f"attention={like} does not declare that it equals eager."

    def test_a_part_that_fails_only_later_keeps_the_other_numbers(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "builtins.tired_calls", [], raising=False
        )  # the file itself is read several times
        (tmp_path / "tired.py").write_text(
            "from zoo.parts.feedforward.relu import ReluFeedForward\n"
            "class Mine(ReluFeedForward):\n    def forward(self, x):\n        tired_calls.append(1)\n"
            "        if len(tired_calls) > 14:\n            raise RuntimeError('tired')\n"
            "        return super().forward(x)\n"
        )
        rows = compare(crossed(small(), feedforward=[f"{tmp_path / 'tired.py'}:Mine", "relu"]), CONDITIONS)
        assert rows[0].outcome == "measured"
        assert rows[0].parameters == rows[1].parameters
        assert (rows[0].forward_s, rows[0].step_s) == (None, None)
        assert "RuntimeError (line 6): tired" in rows[0].note
        assert rows[1].step_s

    def test_what_does_not_fit_into_memory_is_a_row(self) -> None:
        rows = compare([Candidate(small(d_model=10**6, num_heads=10)), Candidate(small())], CONDITIONS)
        assert rows[0].outcome == "failed"
        assert "and their gradients take" in rows[0].note
        assert rows[1].step_s

    def test_an_error_that_is_no_sentence_is_told_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_args: object) -> None:
            raise RuntimeError("size mismatch")

        monkeypatch.setattr("zoo.analysis.benchmarking.count_flops", broken)
        row = compare([Candidate(small())], CONDITIONS)[0]
        assert (row.outcome, row.note) == ("failed", "RuntimeError: size mismatch")

    @pytest.mark.parametrize(
        ("sizes", "conditions", "said"),
        [
            ({"max_len": 3}, CONDITIONS, "4 tokens long, which is over max_len=3. Take a shorter --length"),
            ({"src_vocab": 9}, REVERSE, "src_vocab=9 is too small for the task: expected at least 29."),
            ({"max_len": 5}, REVERSE, "max_len=5 is too small for the task"),
            ({"pad": 3}, REVERSE, "pad=3: the tasks of the zoo pad with 0."),
        ],
    )
    def test_sizes_that_do_not_fit_are_a_row_with_the_reason(
        self, sizes: dict[str, int], conditions: Conditions, said: str
    ) -> None:
        rows = compare([Candidate(small(**sizes)), Candidate(small())], conditions)
        assert rows[0].outcome == "refused"
        assert said in rows[0].note
        assert "(rule " in rows[0].note
        assert rows[1].parameters
        task = load_task("reverse") if conditions.task else None
        assert unfit(Candidate(small(**sizes)), conditions, task) == rows[0].note
        assert unfit(Candidate(small()), conditions, task) == ""
        assert unfit(Candidate(small(max_len=4)), CONDITIONS, None) == ""

    @pytest.mark.gpu
    def test_on_cuda(self) -> None:
        conditions = Conditions(2, 4, (0,), torch.device("cuda"))
        rows = compare(crossed(small(), attention=["eager", "fused"]), conditions)
        for row in rows:
            assert row.memory_bytes
            assert row.memory_bytes >= 16 * (row.parameters or 0)
            assert row.difference is not None
            assert row.difference < 1e-4


class TestTraining:
    def test_a_score_and_a_loss_for_every_seed(self) -> None:
        conditions = Conditions(2, 4, (3, 1, 4), CPU, "reverse", 2)
        candidates = crossed(small(), norm=["pre"])
        stages: list[str] = []
        row = compare(candidates, conditions, stages.append)[0]
        assert [one.seed for one in row.trainings] == [3, 1, 4]
        losses = [one.loss for one in row.trainings if one.loss is not None]
        assert len(set(losses)) == 3
        assert row.losses == Spread(sorted(losses)[1], min(losses), max(losses))
        assert row.scores is not None
        assert 0 <= row.scores.least <= row.scores.median <= row.scores.most <= 1
        assert len(stages) == number_of_stages(candidates, conditions)

    def test_it_is_the_training_of_zoo_train(self) -> None:
        candidate = Candidate(
            small(loss="label-smoothing", schedule="noam"), "some", {"lr": 1e-2, "warmup": 3}
        )
        (row,) = compare([candidate], Conditions(2, 4, (5,), CPU, "reverse", 4))
        recipe = Recipe(lr=1e-2, warmup=3, steps=4, seed=5)
        task, model = load_task("reverse"), build_on(checked_plan(candidate.blueprint), CPU, 5)
        from zoo.models.builder import build_loss, build_schedule

        loss, schedule = build_loss(candidate.blueprint), build_schedule(candidate.blueprint, 4, 3)
        losses = train(model, task, recipe, loss=loss, schedule=schedule)
        score = exact_match(model, task).share
        assert row.trainings == (Training(5, score, losses[-1]),)

    def test_the_decoding_is_the_blueprints_and_repeats(self, monkeypatch: pytest.MonkeyPatch) -> None:
        used: list[str] = []
        real = exact_match

        def spy(*args: Any, **given: Any) -> Any:
            used.append(type(given["decoding"]).__name__)
            return real(*args, **given)

        monkeypatch.setattr("zoo.training.scoring.exact_match", spy)
        candidates = crossed(small(), decoding=["sample", "greedy"])
        first, second = (compare(candidates, REVERSE) for _ in range(2))
        assert used == ["SampleDecoding", "GreedyDecoding"] * 2
        assert [row.trainings for row in first] == [row.trainings for row in second]

    def test_training_that_diverges_with_a_seed_leaves_the_other_numbers(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = train

        def diverge(*args: Any, **given: Any) -> Any:
            if args[2].seed != 1:
                raise DivergedError("The loss became nan.")
            return real(*args, **given)

        monkeypatch.setattr("zoo.analysis.benchmarking.train", diverge)
        conditions = Conditions(2, 4, (0, 1, 2), CPU, "reverse", 2)
        row = compare([Candidate(small())], conditions)[0]
        assert row.step_s
        assert [one.score is None for one in row.trainings] == [True, False, True]
        assert row.losses is not None
        assert row.losses.least == row.losses.most == row.trainings[1].loss
        assert row.note == "Seeds 0, 2: The loss became nan."
        alone = compare([Candidate(small())], REVERSE)[0]
        assert (alone.scores, alone.note) == (None, "The loss became nan.")


class TestTimes:
    def test_neighbours_go_together_while_there_is_room(self) -> None:
        assert group_sizes([3, 3, 3, 9, 1], 6) == [2, 1, 1, 1]
        assert group_sizes([3, 3], None) == [2]
        assert group_sizes([], 5) == []
        assert group_sizes([9], 1) == [1]

    def test_what_memory_does_not_hold_at_once_is_timed_in_groups(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("zoo.analysis.benchmarking.free_memory", lambda _device: 20)
        times = measure_times([small()] * 3, [5, 5, 5], CONDITIONS.setting)
        assert [one.group for one in times] == [0, 0, 1]
        assert all(one.forward_s and one.step_s for one in times)


class TestRecords:
    ROWS = (
        Row(
            Candidate(small(), "reverse", get_preset("reverse").recipe),
            parameters=7,
            forward_s=0.5,
            trainings=(Training(0, 0.5, 2.0), Training(1, 0.75, 1.0), Training(2, problem="no")),
            note='a "note", with a comma',
        ),
        Row(Candidate(small(norm="post"), "other", {"lr": 0.5, "betas": (0.8, 0.9)}), "refused"),
    )
    CONDITIONS = Conditions(2, 4, (0, 1, 2), CPU, "reverse", 300, jobs=2)

    def test_records_hold_choices_sizes_numbers_machine_and_versions(self) -> None:
        one, two = records(self.ROWS, self.CONDITIONS)
        assert one.keys() == two.keys()
        assert (one["preset"], one["norm"], two["norm"], one["d_model"]) == ("reverse", "pre", "post", 8)
        assert (one["batch"], one["length"], one["seeds"], one["jobs"]) == (2, 4, [0, 1, 2], 2)
        assert (one["outcome"], one["parameters"], one["forward_s"], one["flops"]) == (
            "measured",
            7,
            0.5,
            None,
        )
        assert (one["score_median"], one["score_least"], one["score_most"]) == (0.625, 0.5, 0.75)
        assert (one["loss_median"], one["scores"], one["last_losses"]) == (
            1.5,
            [0.5, 0.75, None],
            [2, 1, None],
        )
        assert (one["train_steps"], one["train_lr"], one["train_beta1"]) == (300, Recipe().lr, 0.9)
        assert (two["train_lr"], two["train_beta1"], two["train_beta2"]) == (0.5, 0.8, 0.9)
        assert (two["outcome"], two["score_median"], two["scores"]) == ("refused", None, [])
        assert (one["device"], one["torch"], one["zoo"]) == ("cpu", torch.__version__, __version__)
        assert one["processor"]

    def test_nothing_is_said_of_a_training_that_was_not(self) -> None:
        (one,) = records([Row(Candidate(small()))], CONDITIONS)
        assert (one["preset"], one["task"], one["train_steps"], one["train_lr"]) == (None, None, None, None)
        assert one["train_beta1"] is None

    def test_a_csv_file_reads_back_and_is_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "out.csv"
        path.write_text("old")
        flat = records(self.ROWS, self.CONDITIONS)
        write_csv(path, flat)
        with path.open(newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file))
        assert path.read_text(encoding="utf-8") == csv_text(flat)
        assert [list(row) for row in found] == [list(row) for row in flat]
        assert found[0]["note"] == 'a "note", with a comma'
        assert (found[0]["parameters"], found[1]["parameters"]) == ("7", "")
        assert (found[0]["seeds"], found[0]["scores"]) == ("0 1 2", "0.5 0.75 -")
        assert list(tmp_path.iterdir()) == [path]

    def test_a_write_that_fails_leaves_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "out.csv"
        path.write_text("old")

        def full(*_args: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pathlib.Path.replace", full)
        with pytest.raises(ZooError, match="cannot be written: No space left on device"):
            write_csv(path, records(self.ROWS, CONDITIONS))
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_path_that_cannot_become_a_file_is_refused_early(self, tmp_path: Path) -> None:
        with pytest.raises(ZooError, match="is not a regular file"):
            check_csv(tmp_path)
        with pytest.raises(ZooError, match="there is no directory"):
            check_csv(tmp_path / "gone" / "out.csv")
        check_csv(tmp_path / "out.csv")
