"""Comparisons: every combination, refusals as rows, records and CSV files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch

from zoo import __version__
from zoo.blueprint import Blueprint, make_blueprint
from zoo.compare import MEASURED, Conditions, Row, combinations, compare, number_of_stages
from zoo.errors import UnknownNameError, ZooError
from zoo.records import check_csv, records, write_csv
from zoo.training import DivergedError

CONDITIONS = Conditions(batch=2, length=4, seed=0, device=torch.device("cpu"))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.compare.ROUNDS", 1)
    monkeypatch.setattr("zoo.measure.LEAST_SECONDS", 0.001)


def small(**given: object) -> Blueprint:
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 1}
    return make_blueprint(**{"src_vocab": 29, "tgt_vocab": 29, "max_len": 16, **sizes, **given})


class TestCombinations:
    def test_all_of_them_in_the_order_given_once_each(self) -> None:
        found = combinations(
            small(), {"attention": ["eager:bias=false", "fused"], "norm": ["pre", "post", "pre"]}
        )
        assert [(str(one["attention"]), one["norm"].name) for one in found] == [
            ("eager:bias=false", "pre"),
            ("eager:bias=false", "post"),
            ("fused:bias=true", "pre"),
            ("fused:bias=true", "post"),
        ]
        assert {one.sizes for one in found} == {small().sizes}

    def test_no_choice_is_the_base(self) -> None:
        assert combinations(small(norm="post"), {}) == [small(norm="post")]

    def test_an_unknown_name_is_the_users_mistake(self) -> None:
        with pytest.raises(UnknownNameError, match="Did you mean fused"):
            combinations(small(), {"attention": ["eager", "fuse"]})


class TestCompare:
    def test_every_number_is_there(self) -> None:
        base = small()
        stages: list[str] = []
        rows = compare(combinations(base, {"attention": ["eager", "fused"]}), CONDITIONS, stages.append)
        assert len(stages) == number_of_stages(rows, CONDITIONS)  # type: ignore[arg-type]
        for row in rows:
            assert row.parameters
            assert row.flops
            assert row.forward_s
            assert row.step_s
            assert row.memory_bytes
            assert (row.score, row.note) == (None, "")
        assert rows[0].flops == rows[1].flops
        assert rows[0].parameters == rows[1].parameters
        assert rows[0].difference == 0
        assert rows[1].difference is not None
        assert rows[1].difference < 1e-5

    def test_the_difference_is_to_eager_with_the_same_options(self) -> None:
        row = compare(combinations(small(), {"attention": ["loop:bias=false"]}), CONDITIONS)[0]
        assert row.difference is not None
        assert row.difference < 1e-5

    def test_a_combination_that_is_refused_is_a_row_with_the_reason(self) -> None:
        base = small(src_vocab=30)
        rows = compare(combinations(base, {"embedding": ["scaled", "shared"]}), CONDITIONS)
        assert rows[0].parameters
        assert all(getattr(rows[1], name) is None for name in MEASURED)
        assert "embedding=shared keeps one table for both sides" in rows[1].note

    def test_all_refused(self) -> None:
        rows = compare([small(num_heads=3)], CONDITIONS)
        assert "not divisible" in rows[0].note

    def test_a_part_that_fails_when_it_runs_is_a_row_with_the_reason(self, tmp_path: Path) -> None:
        head = "from zoo.attention.eager import EagerAttention\nclass Mine(EagerAttention):\n"
        (tmp_path / "mine.py").write_text(f"{head}    def forward(self, *args):\n        return 1 / 0\n")
        (tmp_path / "like.py").write_text(f"{head}    pass\n")
        mine, like = f"{tmp_path / 'mine.py'}:Mine", f"{tmp_path / 'like.py'}:Mine"
        rows = compare(combinations(small(), {"attention": [mine, "eager", like]}), CONDITIONS)
        assert "ZeroDivisionError (line 4)" in rows[0].note
        assert rows[1].step_s
        assert rows[2].step_s
        assert rows[2].difference is None
        assert rows[2].note == f"attention={like} does not declare that it equals eager."

    def test_training_gives_a_score(self) -> None:
        conditions = Conditions(2, 4, 0, torch.device("cpu"), task="reverse", steps=2)
        blueprints = combinations(small(), {"norm": ["pre"]})
        stages: list[str] = []
        row = compare(blueprints, conditions, stages.append)[0]
        assert row.score is not None
        assert 0 <= row.score <= 1
        assert len(stages) == number_of_stages(blueprints, conditions)

    def test_training_that_diverges_leaves_the_other_numbers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def diverge(*_args: object, **_kwargs: object) -> None:
            raise DivergedError("The loss became nan.")

        monkeypatch.setattr("zoo.compare.train", diverge)
        conditions = Conditions(2, 4, 0, torch.device("cpu"), task="reverse", steps=2)
        row = compare([small()], conditions)[0]
        assert row.step_s
        assert (row.score, row.note) == (None, "The loss became nan.")

    @pytest.mark.gpu
    def test_on_cuda(self) -> None:
        conditions = Conditions(2, 4, 0, torch.device("cuda"))
        rows = compare(combinations(small(), {"attention": ["eager", "fused"]}), conditions)
        for row in rows:
            assert row.memory_bytes
            assert row.memory_bytes >= 16 * (row.parameters or 0)
            assert row.difference is not None
            assert row.difference < 1e-4


class TestRecords:
    ROWS = (Row(small(), parameters=7, forward_s=0.5, note='a "note", with a comma'), Row(small(norm="post")))

    def test_records_hold_choices_sizes_numbers_machine_and_versions(self) -> None:
        one, two = records(self.ROWS, CONDITIONS)
        assert one.keys() == two.keys()
        assert (one["norm"], two["norm"], one["d_model"], one["batch"], one["length"]) == (
            "pre",
            "post",
            8,
            2,
            4,
        )
        assert (one["parameters"], one["forward_s"], one["flops"]) == (7, 0.5, None)
        assert (one["device"], one["torch"], one["zoo"]) == ("cpu", torch.__version__, __version__)
        assert one["processor"]
        assert (one["task"], one["steps"]) == (None, None)

    def test_a_csv_file_reads_back_and_is_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "out.csv"
        path.write_text("old")
        flat = records(self.ROWS, CONDITIONS)
        write_csv(path, flat)
        with path.open(newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file))
        assert [list(row) for row in found] == [list(row) for row in flat]
        assert found[0]["note"] == 'a "note", with a comma'
        assert (found[0]["parameters"], found[1]["parameters"]) == ("7", "")
        assert list(tmp_path.iterdir()) == [path]

    def test_a_write_that_fails_leaves_the_old_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "out.csv"
        path.write_text("old")

        def full(*_args: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("csv.DictWriter.writerows", full)
        with pytest.raises(ZooError, match="cannot be written: No space left on device"):
            write_csv(path, records(self.ROWS, CONDITIONS))
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_path_that_cannot_become_a_file_is_refused_early(self, tmp_path: Path) -> None:
        with pytest.raises(ZooError, match="is no regular file"):
            check_csv(tmp_path)
        with pytest.raises(ZooError, match="there is no directory"):
            check_csv(tmp_path / "gone" / "out.csv")
        check_csv(tmp_path / "out.csv")
