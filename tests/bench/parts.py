"""What each part costs: `python -m tests.bench.parts` measures a training step with it, and writes parts.csv.

A decoder of one layer, with one part exchanged at a time, reads BATCH texts of LENGTH tokens. Time is CPU time of one
thread, forward and backward, the median of rounds in which all variants of an axis are measured in turn. Memory is what
the forward pass keeps for the backward pass, parameters apart.
"""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn

from tests.bench.measure import cpu_model, own_seconds
from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.core.plan import make_plan
from zoo.core.plugins import DEFAULT_PLUGINS, get_registry
from zoo.core.rules import problems
from zoo.models.builder import build

COSTS = Path(__file__).with_name("parts.csv")
AXES = ("attention", "encoding", "feedforward", "norm", "norm-type")
BATCH, LENGTH, VOCAB, ROUNDS = 4, 128, 100, 15
SIZES = {"d_model": 128, "num_heads": 4, "d_ff": 512, "num_decoder_layers": 1, "dropout": 0.0}
VOCABULARIES = {"src_vocab": VOCAB, "tgt_vocab": VOCAB, "max_len": LENGTH}


def blueprints(axis: str) -> dict[str, Blueprint]:
    """The model of each variant of an axis that comes with the zoo and fits."""
    names = [one.name for one in get_registry().variants(axis) if one.origin in DEFAULT_PLUGINS]
    made = {
        name: make_blueprint(assembly="decoder", **{axis.replace("-", "_"): name}, **SIZES, **VOCABULARIES)
        for name in names
    }
    return {name: one for name, one in made.items() if not problems(make_plan(one))}


def forward_of(model: nn.Module) -> Callable[[], Tensor]:
    """A forward pass of a model; what it returns has a backward pass."""
    tokens = torch.randint(1, VOCAB, (BATCH, LENGTH), generator=torch.Generator().manual_seed(0))

    def forward() -> Tensor:
        model.zero_grad(set_to_none=True)
        result: Tensor = model(tokens).square().mean()
        return result

    return forward


def seconds(forwards: Iterable[Callable[[], Tensor]], rounds: int) -> list[float]:
    """The CPU seconds of a forward and backward pass of each, the median of rounds after one that does not count."""
    several = list(forwards)
    taken: list[list[float]] = [[] for _ in several]
    for number in range(rounds + 1):
        for forward, times in zip(several, taken, strict=True):
            start = own_seconds()
            forward().backward()
            if number:
                times.append(own_seconds() - start)
    return [median(times) for times in taken]


def kept_bytes(model: nn.Module) -> int:
    """The bytes that a forward pass keeps for its backward pass; of one storage once, of parameters none."""
    own = {one.untyped_storage().data_ptr() for one in model.parameters()}
    kept: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        if (place := tensor.untyped_storage().data_ptr()) not in own:
            kept[place] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        forward_of(model)()
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


def measure(axis: str, rounds: int = ROUNDS) -> list[dict[str, str]]:
    """A row for each variant of an axis: microseconds and bytes per token."""
    models = {name: build(one, seed=0) for name, one in blueprints(axis).items()}
    times = seconds(map(forward_of, models.values()), rounds)
    return [
        {
            "axis": axis,
            "variant": name,
            "microseconds": f"{1e6 * time / (BATCH * LENGTH):.1f}",
            "bytes": str(round(kept_bytes(model) / (BATCH * LENGTH))),
            "date": datetime.now(timezone.utc).date().isoformat(),
            "machine": f"{cpu_model()}, {os.cpu_count()} cores",
            "torch": torch.__version__,
            "python": platform.python_version(),
        }
        for (name, model), time in zip(models.items(), times, strict=True)
    ]


def read() -> list[Mapping[str, str]]:
    """The rows that were measured last."""
    with COSTS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Measure all, print, and write the file."""
    torch.set_num_threads(1)
    rows = [row for axis in AXES for row in measure(axis)]
    with COSTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(f"{row['axis']:<12} {row['variant']:<20} {row['microseconds']:>6} us  {row['bytes']:>8} bytes")


if __name__ == "__main__":
    main()
