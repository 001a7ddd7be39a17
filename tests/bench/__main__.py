"""`python -m tests.bench [--only NAME ...] [--out FILE]`: measure, print, and write results.csv."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # read when torch is imported, also by children

import torch

from tests.bench import commands, confinement, decoding, gpt, models, peers, training, translation
from tests.bench.measure import Count, measure, report, tally, write

BENCHMARKS = tuple(
    row
    for part in (commands, confinement, training, models, gpt, decoding, translation, peers)
    for row in part.BENCHMARKS
)
NAMES = [benchmark.name for benchmark in BENCHMARKS]


def main() -> None:
    """Measure the benchmarks asked for, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=NAMES, help="measure this one; may be repeated")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).with_name("results.csv"), help="the CSV file"
    )
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    results = []
    absent = importlib.util.find_spec("x_transformers") is None
    if absent:
        print(
            "x-transformers is not installed: `pip install -e '.[bench]'`. Its rows are left out.",
            file=sys.stderr,
        )
    for benchmark in BENCHMARKS:
        if absent and benchmark in peers.BENCHMARKS:
            continue
        if chosen.only is None or benchmark.name in chosen.only:
            results.append(tally(benchmark) if isinstance(benchmark, Count) else measure(benchmark))
            report(results[-1])
            write(results, chosen.out, NAMES)


if __name__ == "__main__":
    main()
