"""The folder of a training.

    RUN/run.json               what is trained, on what, how; written once
    RUN/tokenizer.json         of both languages, or src.tokenizer.json and tgt.tokenizer.json
    RUN/last/                  checkpoint of the last saved step; names the state and says how far it is
    RUN/state-<hash>.safetensors  optimizer and random numbers of that step
    RUN/best/                  checkpoint of the epoch with the highest BLEU on the validation text
    RUN/record.json, log.csv, epochs.csv  the record of the training: `zoo.training.record`

All is written atomically. A step is saved once last/zoo.json is in its place, and what an older one needs is removed
only then: a process that dies at any point leaves a run that can be resumed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from zoo import __version__
from zoo.core.blueprint import Blueprint
from zoo.core.errors import CombinationError, ZooError
from zoo.core.files import reporting_os_errors, write_whole
from zoo.core.plan import make_plan, plan_part
from zoo.core.registry import FILE_SPEC
from zoo.models.checkpoint import load_checkpoint
from zoo.training.translation.corpus import Corpora
from zoo.training.translation.dataset import Tokenizers
from zoo.training.translation.settings import Settings
from zoo.training.translation.sources import Sources, digest
from zoo.training.translation.tokenizer import Model, Subwords
from zoo.training.translation.translator import Translator

FORMAT = 1
INDEX, BEST, LAST = "run.json", "best", "last"
TOGETHER, APART = ("tokenizer.json",), ("src.tokenizer.json", "tgt.tokenizer.json")
TASK = "translate"


@dataclass(frozen=True)
class Run:
    """What a run's folder says about it."""

    folder: Path
    blueprint: Blueprint
    settings: Settings
    sources: Sources
    digest: str
    tokenizers: Tokenizers

    def check(self, corpora: Corpora) -> None:
        """Raises ZooError unless this is the text that the run was begun with."""
        if digest(corpora) != self.digest:
            raise ZooError(
                f"The training or validation text has changed since the run '{self.folder}' was started. Restore the "
                "old text, or start another run."
            )


def make_tokenizers(corpora: Corpora, settings: Settings, path: Path | None = None) -> Tokenizers:
    """The tokenizers that settings ask for: one from a file, or trained on the training text, one or two.

    Raises ZooError as `Subwords` does.
    """
    if path is not None:
        one = Subwords.load(path)
        return Tokenizers(one, one)
    src = [pair.src for pair in corpora.train.pairs]
    tgt = [pair.tgt for pair in corpora.train.pairs]
    model: Model = "bpe" if settings.model == "bpe" else "unigram"
    if settings.joint:
        one = Subwords.train([*src, *tgt], settings.vocab_size, model)
        return Tokenizers(one, one)
    return Tokenizers(*(Subwords.train(texts, settings.vocab_size, model) for texts in (src, tgt)))


def check_vocabulary(blueprint: Blueprint, tokenizers: Tokenizers) -> None:
    """Raises CombinationError if two vocabularies would share a table (same id, different word), or there is no
    source apart."""
    plan = make_plan(blueprint)
    if not (plan.has("encoder") and plan.has("decoder")):
        raise CombinationError(
            f"The task translate needs assembly=encoder-decoder, and assembly={plan['assembly'].name} was chosen."
        )
    embedding = plan_part("embedding", blueprint["embedding"])
    if embedding.capabilities["one_vocabulary"] and tokenizers.src is not tokenizers.tgt:
        raise CombinationError(
            f"embedding={embedding.name} keeps one table for both languages, and each has its own vocabulary. Take one "
            "vocabulary for both with --joint, or embedding=scaled."
        )


def check_new(folder: Path) -> None:
    """Raises ZooError unless `folder` is one that a run can begin in: it is not there yet, or empty."""
    with reporting_os_errors(f"The run cannot be saved in '{folder}'"):
        if (folder / INDEX).is_file():
            raise ZooError(
                f"'{folder}' already contains a run. Continue it with --resume, or use another folder."
            )
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ZooError(f"'{folder}' exists and is not a run. Use a new or empty folder.")


def begin(run: Run) -> None:
    """Write the folder of a new run. Raises ZooError if it cannot be written."""
    names = TOGETHER if run.tokenizers.src is run.tokenizers.tgt else APART
    index = {
        "format": FORMAT,
        "version": __version__,
        "task": TASK,
        "blueprint": run.blueprint.to_json(),
        "settings": asdict(run.settings),
        "sources": run.sources.to_json(),
        "digest": run.digest,
        "tokenizers": names,
    }
    with reporting_os_errors(f"The run cannot be saved in '{run.folder}'"):
        run.folder.mkdir(parents=True, exist_ok=True)
        for name, tokenizer in zip(names, run.tokenizers, strict=False):
            tokenizer.save(run.folder / name)
        text = json.dumps(index, indent=2, ensure_ascii=False) + "\n"
        write_whole(run.folder / INDEX, text.encode())


def open_run(folder: Path, *, allow_code: bool = False) -> Run:
    """The run in `folder`, with a blueprint that is safe to build, or may run code.

    Raises:
        ZooError: there is no run, its files are damaged, or it has a part from a file and `allow_code` is False.
    """
    path = folder / INDEX
    if not path.is_file():
        missing = f"there is no {INDEX} in it" if folder.is_dir() else "there is no such folder"
        raise ZooError(f"'{folder}' is not a run: {missing}. `zoo train {TASK} RUN` makes one.")
    with reporting_os_errors(f"{path} cannot be read"):
        data = path.read_bytes()
    try:
        index: dict[str, Any] = json.loads(data)
        if index["format"] != FORMAT:
            raise ZooError(f"{path} has format {index['format']!r}; this zoo reads format {FORMAT}.")
        settings, sources = Settings(**index["settings"]), Sources.from_json(index["sources"])
        names, summed = [str(name) for name in index["tokenizers"]], str(index["digest"])
        if tuple(names) not in (TOGETHER, APART):
            raise KeyError("tokenizers")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ZooError(f"{path} is damaged or not a run. Restore it, or train again.") from error
    loaded = [Subwords.load(folder / name) for name in names]
    blueprint = Blueprint.from_json(index["blueprint"])
    parts = dict.fromkeys(one.name for choice in blueprint.choices.values() for one in choice.layers)
    files = [name for name in parts if FILE_SPEC.match(name)]
    if files and not allow_code:
        raise ZooError(
            f"The run in '{folder}' has a part from a file: {', '.join(files)}. Resuming runs that code. If you trust "
            "it, give --allow-code."
        )
    return Run(folder, blueprint, settings, sources, summed, Tokenizers(loaded[0], loaded[-1]))


def load_translator(
    folder: Path, device: torch.device, *, allow_code: bool = False
) -> tuple[Translator, Blueprint]:
    """The best model of the run in `folder`, ready to translate, and its blueprint.

    Raises:
        ZooError: there is no run, it is damaged, no epoch of it is done, or it needs code and may not.
    """
    run = open_run(folder, allow_code=allow_code)
    if not (folder / BEST).is_dir():
        raise ZooError(f"The run in '{folder}' has no finished epoch yet. Continue it with --resume.")
    model, blueprint, _ = load_checkpoint(folder / BEST, allow_code=allow_code, device=device)
    return Translator(model, run.tokenizers, blueprint.sizes.max_len, device), blueprint
