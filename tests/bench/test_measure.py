"""The benchmark's own arithmetic, on a clock that actions move by hand."""

from __future__ import annotations

import contextlib
import csv
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from tests.bench import gpu
from tests.bench.__main__ import BENCHMARKS, NAMES
from tests.bench.measure import Action, Benchmark, Count, Result, all_seconds, measure, process, tally, write
from tests.on_meta import OnMetaOnly
from zoo.core.blueprint import get_preset, make_blueprint
from zoo.models.builder import build
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding


def measured(a: list[float], b: list[float], bar: float) -> Result:
    """What is found for two actions that take so many seconds; the first of each is the warm-up."""
    now = [0.0]

    def action(durations: list[float]) -> Action:
        left = iter(durations)
        return lambda: now.__setitem__(0, now[0] + next(left))

    actions = action(a), action(b)
    return measure(Benchmark("name", "a / b", bar, len(a) - 1, lambda: actions, lambda: now[0]))


def test_the_ratio_is_the_median_of_the_rounds_ratios() -> None:
    result = measured([100, 1, 30, 2], [100, 2, 10, 2], bar=1.0)
    assert (result.ratio, result.median_a, result.median_b, result.met) == (
        "1.000",
        "2.0000",
        "2.0000",
        "yes",
    )
    assert result.rounds == 3


def test_a_bar_that_is_missed_is_said_to_be() -> None:
    assert measured([1, 3], [1, 2], bar=1.49).met == "no"


def test_the_time_of_child_processes_counts() -> None:
    before = all_seconds()
    process([sys.executable, "-c", "sum(range(3_000_000))"])()
    assert all_seconds() - before > 0.01


def test_a_command_that_fails_is_not_measured() -> None:
    with pytest.raises(RuntimeError, match=r"ended with 3:\nout\nerr"):
        process(
            [sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"]
        )()


def test_rows_that_were_not_measured_now_stay(tmp_path: Path) -> None:
    out, result = tmp_path / "results.csv", measured([1, 3], [1, 2], bar=2)
    other = Result(**{**vars(result), "name": "other"})
    write([other, Result(**{**vars(result), "name": "gone"})], out, ["name", "other", "gone"])
    write([result], out, ["name", "other"])
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["name", "other"]
    assert rows[0]["ratio"] == "1.500"


def test_every_benchmark_has_a_name_of_its_own_and_says_what_it_compares() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(" / " in row.what for row in BENCHMARKS)
    assert all(row.rounds >= 3 for row in BENCHMARKS if isinstance(row, Benchmark))


def test_what_is_counted_is_held_against_its_bar() -> None:
    found = [tally(Count("name", "a / b", 0.0, lambda a=a: (a, 4), "things")) for a in (0, 1)]  # type: ignore[misc]
    assert [(one.ratio, one.met, one.median_a, one.unit) for one in found] == [
        ("0.000", "yes", "0", "things"),
        ("0.250", "no", "1", "things"),
    ]


def test_the_rows_of_a_card_can_be_made_and_one_runs_on_the_cpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [row.name for row in gpu.Rows("cuda", gpu.Sizes()).all()]
    assert len(names) == len(set(names)) > 30
    out = tmp_path / "card.csv"
    chosen = ("gpu-rate", "gpu-decoding", "gpu-flex", "gpu-chunked", "gpu-sliding", "gpu-linear")
    only = [word for name in chosen for word in ("--only", name)]
    gpu.main(["--device", "cpu", "--small", *only, "--out", str(out)])
    for row in gpu.Rows("cpu", gpu.SMALL).all():
        if row.name in ("gpu-training-d32", "gpu-inference-d32"):  # the others of these compile, for a minute
            assert isinstance(row, Benchmark)
            assert float(measure(row).median_a) > 0
    printed = capsys.readouterr()
    assert "no bar" in printed.out
    assert printed.err == ""
    with out.open(newline="", encoding="utf-8") as file:
        assert [row["name"] for row in csv.DictReader(file)] == [
            "gpu-rate-d32", "gpu-decoding-d32", "gpu-decoding-graph-d32", "gpu-decoding-tokens-d32",
            "gpu-flex-64", "gpu-chunked-64", "gpu-sliding-64", "gpu-linear-64",
        ]  # fmt: skip


def test_nothing_of_a_row_is_computed_beside_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device that needs no hardware: no tensor is made elsewhere, and (by what a graph captures) none is read."""
    monkeypatch.setattr(
        torch, "autocast", lambda *_, **__: contextlib.nullcontext()
    )  # it knows no such device
    rows, width = gpu.Rows("meta", gpu.SMALL), gpu.SMALL.models[0][0]
    blueprint = make_blueprint(
        attention="fused", d_model=width, num_heads=2, d_ff=4 * width, num_encoder_layers=1, num_decoder_layers=1,
        src_vocab=gpu.SMALL.vocabulary, tgt_vocab=gpu.SMALL.vocabulary, max_len=gpu.SMALL.length,
    )  # fmt: skip
    model = build(blueprint, seed=0)
    actions = {
        "training": rows.training(model),
        "inference": rows.inference(model),
        "graph": partial(gpu.unrolled, model.eval(), rows.batch()[0], gpu.SMALL.length - 1),
        **{choice: rows.layer(choice, gpu.SMALL.lengths[0]) for choice in (*gpu.VARIANTS, "fused")},
    }
    for name, action in actions.items():
        with OnMetaOnly(name):
            action()


def test_what_a_graph_replays_is_greedy_decoding() -> None:
    model = build(get_preset("reverse").blueprint(), seed=0).eval()
    src = torch.randint(3, 29, (2, 6), generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", torch.bfloat16):
        answers = generate(model, src, 5, GreedyDecoding(), eos=-1, cached=True)
    assert torch.equal(gpu.unrolled(model, src, 5), answers)


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a card")
def test_without_a_card_the_benchmark_says_how_to_try_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gpu.main([])
    assert "--device cpu --small" in capsys.readouterr().err
