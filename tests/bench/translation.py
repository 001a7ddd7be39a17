"""A file of 1,000 sentences translated with beam 5: with cached keys and values against recomputing the decoder.

As a benchmark, sentences of the toy languages. `python -m tests.bench.translation RUN TEXT` does it once with the
model of a run, and a file of sentences, plain or .gz.
"""

from __future__ import annotations

import gzip
import sys
import time
from functools import partial
from pathlib import Path

import torch

from tests.bench.measure import Action, Benchmark
from zoo.models.builder import build
from zoo.parts.decoding.beam import BeamDecoding
from zoo.training.progress import Progress
from zoo.training.trainer import steady
from zoo.training.translation.dataset import datasets
from zoo.training.translation.presets import MULTI30K_CPU, NAME, TRANSLATE
from zoo.training.translation.run import load_translator, make_tokenizers
from zoo.training.translation.settings import settings_from
from zoo.training.translation.sources import Sources
from zoo.training.translation.translator import Translator
from zoo.training.translation.work import make_trainer
from zoo.training.update import Step

SENTENCES, BEAM = 1000, 5


class Silent:
    """An observer that does nothing."""

    def on_step(self, progress: Progress, step: Step) -> None:
        """Nothing."""

    def on_epoch(self, progress: Progress, train_loss: float, valid_loss: float, score: float) -> None:
        """Nothing."""


def both() -> tuple[Action, Action]:
    """Cached, and not: the same model, trained for two epochs so that its sentences end."""
    cpu, corpora = torch.device("cpu"), Sources().read()
    own = {**TRANSLATE.tasks[NAME], "epochs": 2}
    settings = settings_from(TRANSLATE.recipe, own)
    tokenizers = make_tokenizers(corpora, settings)
    vocab, max_len = tokenizers.src.vocab_size, MULTI30K_CPU.sizes["max_len"]
    blueprint = MULTI30K_CPU.blueprint().with_sizes(src_vocab=vocab, tgt_vocab=vocab)
    model = build(blueprint, seed=0)
    translator = Translator(model, tokenizers, max_len, cpu)
    data = datasets(corpora, tokenizers, max_len)
    make_trainer(model, blueprint, settings, data, translator).run(Silent())
    texts = [pair.src for pair in corpora.train.pairs[:SENTENCES]]

    def action(cached: bool) -> None:
        with steady(cpu, None):
            Translator(model, tokenizers, max_len, cpu, cached=cached)(texts, BeamDecoding(BEAM))

    return partial(action, True), partial(action, False)


BENCHMARKS = (
    Benchmark(
        "translation-beam5",
        f"{SENTENCES:,} sentences of the toy languages with beam {BEAM}, sizes of preset multi30k-cpu: cached keys and "
        "values / decoder recomputed each step; bar: 4 times",
        0.25,
        3,
        both,
    ),
)


def main(run: Path, file: Path) -> None:
    """Print the CPU seconds of both, and how many of the translations differ."""
    torch.set_num_threads(1)
    translator, _ = load_translator(run, torch.device("cpu"))
    raw = file.read_bytes()
    texts = (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode().splitlines()
    found, seconds = [], []
    for translator.cached in (True, False):
        start = time.process_time()
        with steady(translator.device, None):
            found.append(translator(texts, BeamDecoding(BEAM)).texts)
        seconds.append(time.process_time() - start)
    differ = sum(one != other for one, other in zip(*found, strict=True))
    print(
        f"{len(texts):,} sentences, beam {BEAM}: cached {seconds[0]:.1f} s of CPU time, not {seconds[1]:.1f} s;"
    )
    print(f"{seconds[1] / seconds[0]:.1f} times as fast. {differ} translations differ.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
