"""A tiny translator that trains in a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.models.builder import build
from zoo.training.trainer import Trainer
from zoo.training.translation.corpus import Corpora, Corpus, Pair, Report
from zoo.training.translation.dataset import Tokenizers, datasets
from zoo.training.translation.keeper import Keeper
from zoo.training.translation.run import Run, begin, make_tokenizers
from zoo.training.translation.settings import Settings
from zoo.training.translation.sources import Sources, digest
from zoo.training.translation.translator import Translator
from zoo.training.translation.work import TranslationWork, make_trainer

CPU = torch.device("cpu")
WORDS = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "fünf": "five"}


def corpus(count: int, start: int = 0) -> Corpus:
    """Pairs of one to five words, all different."""
    names = list(WORDS)
    rows = []
    for number in range(start, start + count):
        digits = [(number // 5**place) % 5 for place in range(1 + number % 5)]
        rows.append(Pair(" ".join(names[d] for d in digits), " ".join(WORDS[names[d]] for d in digits)))
    return Corpus(tuple(rows), Report(count))


def corpora() -> Corpora:
    """Sixty pairs to train on, ten to validate on, none to test on."""
    return Corpora(corpus(60), corpus(10, 60), Corpus((), Report(0)))


def small(tokenizers: Tokenizers, **choices: Any) -> Blueprint:
    """A blueprint of a small model for these tokenizers."""
    sizes = {"d_model": 16, "num_heads": 2, "d_ff": 16, "num_encoder_layers": 1, "num_decoder_layers": 1}
    vocabularies = {"src_vocab": tokenizers.src.vocab_size, "tgt_vocab": tokenizers.tgt.vocab_size}
    given = {"loss": "label-smoothing", "schedule": "noam", "dropout": 0.1, "max_len": 32, **sizes, **choices}
    return make_blueprint(**given, **vocabularies)


def settings(**given: Any) -> Settings:
    """Settings for `corpora`."""
    return Settings(
        **{"vocab_size": 280, "tokens": 64, "epochs": 2, "warmup": 5, "lr": 5e-3, "patience": 0, **given}
    )


def make_run(folder: Path, **given: Any) -> Run:
    """A new run in `folder`, its folder written."""
    chosen = settings(**given)
    tokenizers = make_tokenizers(corpora(), chosen)
    run = Run(folder, small(tokenizers), chosen, Sources(), digest(corpora()), tokenizers)
    begin(run)
    return run


def trainer_of(run: Run) -> Trainer[TranslationWork]:
    """A fresh trainer of a run on `corpora`."""
    model = build(run.blueprint, seed=run.settings.seed)
    data = datasets(corpora(), run.tokenizers, run.blueprint.sizes.max_len)
    translator = Translator(model, run.tokenizers, run.blueprint.sizes.max_len, CPU)
    return make_trainer(model, run.blueprint, run.settings, data, translator)


def train(run: Run) -> Trainer[TranslationWork]:
    """Train a run, or what is left of it, to its end."""
    trainer = trainer_of(run)
    with Keeper(run, trainer) as keeper:
        trainer.run(keeper)
    return trainer
