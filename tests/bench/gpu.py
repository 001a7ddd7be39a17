"""`python -m tests.bench.gpu [--only NAME ...] [--out FILE] [--small] [--device cpu]`: what a card does.

Seconds of wall time, with the card's work ended before and after; both sides of a row in turn, median of the ratios.
In bfloat16 by autocast, but for the grade. `--small` shrinks all sizes, to try the code where there is no card; its
numbers say nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from tests import solution_file
from tests.bench.commands import zoo
from tests.bench.measure import Action, Benchmark, Count, Result, cpu_model, measure, report, tally, write
from tests.bench.models import DROPOUT, TorchModel
from tests.bench.peers import PeerLogits, ours
from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.models.builder import build
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.parts.decoding.stepper import Stepper

NO_BAR = math.inf
VARIANTS = ("flex", "chunked", "sliding:window=256", "linear")


@dataclass(frozen=True)
class Sizes:
    """What is measured: on a card, or small, to try the code.

    Attributes:
        models: d_model, layers (per side) and heads of the models.
        batch, length: of their batches.
        lengths: tokens of one row, for the variants of attention.
        matrix: rows and columns of the products whose rate is the card's.
    """

    models: tuple[tuple[int, int, int], ...] = ((512, 6, 8), (1024, 12, 16))
    batch: int = 64
    length: int = 256
    lengths: tuple[int, ...] = (4096, 16384)
    matrix: int = 8192
    rounds: int = 11
    vocabulary: int = 1000


SMALL = Sizes(((32, 1, 2),), 2, 16, (64,), 64, 1, 100)


@torch.no_grad()
def unrolled(model: nn.Module, src: Tensor, steps: int) -> Tensor:
    """The most probable tokens [B, steps] after `src` [B, S], with a cache and without a look at any on the way."""
    with torch.autocast(
        src.device.type, torch.bfloat16, cache_enabled=False
    ):  # a graph keeps no copies of weights
        stepper = Stepper(model, src, cached=True, pad=0)  # type: ignore[arg-type]
        tokens = src.new_full((src.size(0),), 1)
        for _ in range(steps):
            tokens = stepper.step(tokens).argmax(-1)
    return torch.cat((stepper.tokens[:, 1:], tokens[:, None]), dim=1)


class Rows:
    """The rows for a device.

    Args:
        device: "cuda", or "cpu" to try the code.
    """

    def __init__(self, device: str, sizes: Sizes) -> None:
        self.device, self.sizes = device, sizes

    def seconds(self) -> float:
        """Seconds of wall time, once the card has done what it was given."""
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def row(
        self,
        name: str,
        what: str,
        bar: float,
        make: Callable[[], tuple[Action, Action]],
        rounds: int | None = None,
    ) -> Benchmark:
        """A row of wall time."""
        return Benchmark(name, what, bar, rounds or self.sizes.rounds, make, self.seconds, "s")

    def all(self) -> list[Benchmark | Count]:
        """Every row that can be measured here."""
        rows: list[Benchmark | Count] = []
        for width, layers, heads in self.sizes.models:
            rows += self.of_models(width, layers, heads)
        for length in self.sizes.lengths:
            rows += self.of_attentions(length)
        return [*rows, self.grade(), self.training_test()]

    def of_models(self, width: int, layers: int, heads: int) -> list[Benchmark | Count]:
        """Training and inference against torch and x-transformers, compiled or not, and against bare products."""
        shape = {
            "d_model": width, "num_heads": heads, "d_ff": 4 * width,
            "num_encoder_layers": layers, "num_decoder_layers": layers,
        }  # fmt: skip
        vocabulary, length = self.sizes.vocabulary, self.sizes.length
        about = f"bf16, d_model {width}, {layers}+{layers} layers, batch {self.sizes.batch} x {length}"
        blueprint = make_blueprint(
            attention="fused", norm="pre", dropout=DROPOUT, src_vocab=vocabulary, tgt_vocab=vocabulary,
            max_len=length, **shape,
        )  # fmt: skip

        def plain() -> nn.Module:
            return build(blueprint, seed=0)

        rows = self.pairs_of_models(blueprint, shape, plain, about)
        rate = 1 / 0.45 if (width, layers) == (1024, 12) else NO_BAR
        rows.append(
            self.row(
                f"gpu-rate-d{width}",
                f"training: attention=fused / products of square bf16 matrices with as many operations; {about}",
                rate,
                lambda: self.against_products(plain()),
            )
        )
        rows.append(
            self.row(
                f"gpu-decoding-d{width}",
                f"greedy decoding of {length - 1} tokens: cached / decoder recomputed; {about}",
                1.0,
                lambda: (self.decoding(plain(), True), self.decoding(plain(), False)),
                rounds=3,
            )
        )
        rows.append(
            self.row(
                f"gpu-decoding-graph-d{width}",
                f"greedy decoding of {length - 1} tokens, cached: one CUDA graph of all steps / step by step; {about}",
                NO_BAR,
                lambda: (self.graphed(plain()), self.decoding(plain(), True)),
                rounds=3,
            )
        )
        rows.append(
            Count(
                f"gpu-decoding-tokens-d{width}",
                f"tokens per second, greedy decoding, cached: one CUDA graph of all steps / step by step; {about}",
                NO_BAR,
                lambda: (
                    self.tokens_per_second(self.graphed(plain())),
                    self.tokens_per_second(self.decoding(plain(), True)),
                ),
                "tokens/s",
            )
        )
        return rows

    def pairs_of_models(
        self, blueprint: Blueprint, shape: dict[str, int], plain: Callable[[], nn.Module], about: str
    ) -> list[Benchmark | Count]:
        """Training and inference: the model against torch's, compiled against not, and against x-transformers."""
        width, sizes = shape["d_model"], (self.sizes.vocabulary, self.sizes.length)

        def compiled() -> nn.Module:
            return torch.compile(build(blueprint, seed=0))  # type: ignore[return-value]

        def torchs() -> nn.Module:
            return TorchModel(blueprint)

        kinds = {"training": (self.training, 0.75, 1 / 1.2), "inference": (self.inference, NO_BAR, NO_BAR)}
        rows: list[Benchmark | Count] = []
        for kind, (work, bar, compiled_bar) in kinds.items():
            pairs = {
                "": (plain, torchs, "attention=fused norm=pre / nn.Transformer (norm_first=True)", bar),
                "-compiled": (compiled, plain, "torch.compile / eager, both attention=fused", compiled_bar),
                "-compiled-torch": (
                    compiled,
                    torchs,
                    "torch.compile(attention=fused) / nn.Transformer",
                    NO_BAR,
                ),
            }
            if importlib.util.find_spec("x_transformers"):
                kin = (
                    partial(ours, shape, *sizes),
                    partial(PeerLogits, shape, *sizes),
                )
                pairs["-peer"] = (*kin, "attention=fused feedforward=gelu / x-transformers", NO_BAR)
            rows += [
                self.row(
                    f"gpu-{kind}-d{width}{end}",
                    f"{kind}: {what}; {about}",
                    limit,
                    partial(lambda work, a, b: (work(a()), work(b())), work, a, b),
                )
                for end, (a, b, what, limit) in pairs.items()
            ]
        return rows

    def batch(self) -> tuple[Tensor, Tensor]:
        """Two unpadded batches of tokens [B, T]."""
        shape = (self.sizes.batch, self.sizes.length)
        src, tgt = torch.randint(3, self.sizes.vocabulary, (2, *shape), device=self.device)
        return src, tgt

    def training(self, model: nn.Module) -> Action:
        """Forward, backward and a step of AdamW."""
        src, tgt = self.batch()
        model = model.to(self.device).train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

        def action() -> None:
            optimizer.zero_grad()
            with torch.autocast(self.device, torch.bfloat16):
                logits = model(src, tgt)
            nn.functional.cross_entropy(logits.float().flatten(0, 1), tgt.flatten()).backward()
            optimizer.step()

        return action

    def inference(self, model: nn.Module) -> Action:
        """A forward pass in eval mode without gradients."""
        src, tgt = self.batch()
        model = model.to(self.device).eval()

        def action() -> None:
            with torch.no_grad(), torch.autocast(self.device, torch.bfloat16):
                model(src, tgt)

        return action

    def against_products(self, model: nn.Module) -> tuple[Action, Action]:
        """A training step, and products of large square matrices with as many floating point operations."""
        step, size = self.training(model), self.sizes.matrix
        with FlopCounterMode(display=False) as counter:
            step()
        times = max(1, round(counter.get_total_flops() / (2 * size**3)))
        a = torch.randn(size, size, device=self.device, dtype=torch.bfloat16)

        def products() -> None:
            for _ in range(times):
                a @ a

        return step, products

    def decoding(self, model: nn.Module, cached: bool) -> Action:
        """Greedy decoding; no row ends before."""
        src, _ = self.batch()
        model = model.to(self.device).eval()

        def action() -> None:
            with torch.autocast(self.device, torch.bfloat16):
                generate(model, src, self.sizes.length - 1, GreedyDecoding(), eos=-1, cached=cached)  # type: ignore[arg-type]

        return action

    def graphed(self, model: nn.Module) -> Action:
        """Greedy decoding with a cache, captured with all of its steps and then replayed; on the CPU it just runs."""
        src, _ = self.batch()
        model = model.to(self.device).eval()
        answer = partial(unrolled, model, src, self.sizes.length - 1)
        if self.device != "cuda":
            return answer
        aside, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            answer()  # what is set up at the first call cannot be captured
        torch.cuda.current_stream().wait_stream(aside)
        with torch.cuda.graph(graph):
            answer()
        return graph.replay

    def tokens_per_second(self, decode: Action) -> int:
        """Of all rows of a batch together; median of three, after a first one."""
        seconds = []
        for _ in range(4):
            before = self.seconds()
            decode()
            seconds.append(self.seconds() - before)
        return round(self.sizes.batch * (self.sizes.length - 1) / median(seconds[1:]))

    def of_attentions(self, length: int) -> list[Benchmark | Count]:
        """Time and peak memory of one causal layer's forward and backward pass, against the fused kernel's."""
        rows: list[Benchmark | Count] = []
        for choice in VARIANTS:
            name = choice.partition(":")[0]
            what = f"attention={choice} / fused: a decoder of one layer, forward and backward, 1 x {length}, bf16"
            pair = partial(self.attentions, choice, length)
            rows.append(self.row(f"gpu-{name}-{length}", f"time, {what}", NO_BAR, pair))
            if self.device == "cuda":
                peaks = partial(self.peaks, pair)
                rows.append(Count(f"gpu-{name}-{length}-memory", f"peak, {what}", NO_BAR, peaks, "B"))
        return rows

    def attentions(self, choice: str, length: int) -> tuple[Action, Action]:
        """A variant, and the fused kernel."""
        return self.layer(choice, length), self.layer("fused", length)

    def layer(self, choice: str, length: int) -> Action:
        """Forward and backward pass of a decoder of one layer."""
        width, _, heads = self.sizes.models[0]
        blueprint = make_blueprint(
            assembly="decoder", attention=choice, norm="pre", num_decoder_layers=1, d_model=width, num_heads=heads,
            d_ff=4 * width, tgt_vocab=self.sizes.vocabulary, max_len=length,
        )  # fmt: skip
        model = build(blueprint, seed=0).to(self.device)
        tokens = torch.randint(3, self.sizes.vocabulary, (1, length), device=self.device)

        def action() -> None:
            with torch.autocast(self.device, torch.bfloat16):
                logits = model(tokens)  # type: ignore[call-arg]
            logits.float().logsumexp(-1).mean().backward()

        return action

    def peaks(self, make: Callable[[], tuple[Action, Action]]) -> tuple[int, int]:
        """Bytes at the peak of each, beside what both models hold all the time."""
        found = []
        for action in make():
            action()
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            action()
            torch.cuda.synchronize()
            found.append(torch.cuda.max_memory_allocated() - before)
        return found[0], found[1]

    def grade(self) -> Benchmark:
        """A grade of a right file without its training test."""
        file = solution_file("attention")
        command = partial(zoo, "grade", str(file), "--quick", "--seed", "1")
        return self.row(
            "gpu-grade",
            f"zoo grade attention/solution.py --quick: --device={self.device} / --device=cpu, wall time",
            1.5,
            lambda: (command("--device", self.device), command("--device", "cpu")),
            rounds=1 if self.sizes is SMALL else 5,
        )

    def training_test(self) -> Benchmark:
        """A grade of a right file with nothing but its training test."""
        file = solution_file("attention")
        command = partial(zoo, "grade", str(file), "--seed", "1", "--only", "training")
        return self.row(
            "gpu-training-test",
            f"zoo grade attention/solution.py --only training: --device={self.device} / --device=cpu, wall time",
            NO_BAR,
            lambda: (command("--device", self.device), command("--device", "cpu")),
            rounds=1 if self.sizes is SMALL else 3,
        )


def machine(device: str) -> str:
    """The card with its driver's version of CUDA, and the processor beside it."""
    if device == "cpu":
        return cpu_model()
    card = torch.cuda.get_device_properties(0)
    driver = Path("/proc/driver/nvidia/version")
    version = driver.read_text(encoding="utf-8").split("  ")[1] if driver.is_file() else "unknown"
    size = f"{card.total_memory / 2**30:.0f} GiB"
    return f"{card.name}, {size}, driver {version}, CUDA {torch.version.cuda}, {cpu_model()}"


def main(arguments: list[str] | None = None) -> None:
    """Measure the rows asked for, or all; each is written at once."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.gpu", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="measure rows whose names begin so")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).with_name("results-gpu.csv"), help="the CSV file"
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: to try the code")
    parser.add_argument("--small", action="store_true", help="small sizes, to try the code")
    chosen = parser.parse_args(arguments)
    if chosen.device == "cuda" and not torch.cuda.is_available():
        parser.error("torch sees no CUDA device here; --device cpu --small tries the code")
    rows = Rows(chosen.device, SMALL if chosen.small else Sizes()).all()
    results: list[Result] = []
    for row in rows:
        if chosen.only is not None and not row.name.startswith(tuple(chosen.only)):
            continue
        try:
            result = tally(row) if isinstance(row, Count) else measure(row)
        except (RuntimeError, NotImplementedError) as error:  # no memory for it, or not for this device
            print(f"{row.name}: not measured: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        results.append(replace(result, machine=machine(chosen.device)))
        report(results[-1])
        write(results, chosen.out, [one.name for one in rows])


if __name__ == "__main__":
    main()
