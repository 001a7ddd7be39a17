"""`zoo evaluate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import accelerate_option, allow_code_option, decoding_option, device_option, json_option
from zoo.cli.sources import FILE, source_files, source_options
from zoo.cli.text import columns, print_json, wrapped
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    import torch

    from zoo.training.translation.corpus import Corpus
    from zoo.training.translation.scoring import Score


@dataclass(frozen=True)
class Scores:
    """The scores of a corpus's translations.

    Attributes:
        corpus: sentences and references.
        translations: in the same order.
        cut: how many sentences were too long, so that only their beginning was translated.
        decoding: how translations were chosen.
        measures: BLEU, chrF, and the other BLEU.
    """

    corpus: Corpus
    translations: list[str]
    cut: int
    decoding: str
    measures: tuple[Score, ...]

    def text(self) -> str:
        """Return the scores with their signatures, as text."""
        lines = [f"Test text: {self.corpus.report} Decoding: {self.decoding}."]
        if self.cut:
            lines.append(f"{self.cut:,} sentences were too long for the model and were truncated.")
        for one in self.measures:
            lines += [f"{one.name} {one.value:.2f}", f"  {one.signature}"]
        return "\n".join(map(wrapped, lines))

    def examples(self, count: int) -> str:
        """The first few sentences, their translations and those expected, one below another."""
        several = zip(self.corpus.pairs[:count], self.translations, strict=False)
        return "\n\n".join(
            columns([("text", pair.src), ("got", got), ("expected", pair.tgt)]) for pair, got in several
        )

    def to_json(self) -> dict[str, Any]:
        """The measures, and the translations."""
        return {
            "decoding": self.decoding,
            "cut": self.cut,
            "measures": [one._asdict() for one in self.measures],
            "translations": self.translations,
        }


def scores(
    folder: Path,
    corpus: Corpus,
    device: torch.device,
    decoding: str | None,
    *,
    tokenize: str = "13a",
    allow_code: bool = False,
    accelerate: bool = False,
    threads: int | None = None,
) -> Scores:
    """Translate a corpus with the best model of a run and score it. Raises ZooError as `load_translator`."""
    from zoo.models.builder import build_decoding
    from zoo.training.trainer import steady
    from zoo.training.translation.run import load_translator
    from zoo.training.translation.scoring import bleu, chrf, lowercase_bleu

    translator, blueprint = load_translator(folder, device, allow_code=allow_code)
    if accelerate:
        from zoo.accelerate import accelerate as make_faster

        make_faster(translator.model)
    if decoding is not None:
        blueprint = blueprint.with_choices(decoding=decoding)
    with steady(device, threads):
        found = translator([pair.src for pair in corpus.pairs], build_decoding(blueprint))
    sides = found.texts, [pair.tgt for pair in corpus.pairs]
    measures = (bleu(*sides, tokenize), chrf(*sides), lowercase_bleu(*sides))
    return Scores(corpus, found.texts, len(found.cut), str(blueprint["decoding"]), measures)


@click.command()
@click.argument("folder", metavar="RUN", type=FILE)
@source_options("test")
@decoding_option
@click.option(
    "--tokenize",
    default="13a",
    show_default=True,
    metavar="NAME",
    help="How BLEU splits text into words: 13a, intl, zh, char or none.",
)
@allow_code_option
@device_option
@accelerate_option
@json_option
def evaluate(
    folder: Path,
    decoding: str | None,
    tokenize: str,
    allow_code: bool,
    device: str,
    accelerate: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Translate a test set with the best model of a run and score it.

    Uses the run's test set if none is given. Prints, with sacrebleu signatures: BLEU, as reported in papers; chrF2; and
    BLEU of lower-cased tokens, which is closer to what tutorials report and not comparable to the first.

    \b
    Examples:
      zoo evaluate de-en --test-src=test.de.gz --test-tgt=test.en.gz
      zoo evaluate de-en --decoding=greedy --json
    """
    from zoo.models.devices import resolve_device
    from zoo.training.translation.run import open_run
    from zoo.training.translation.sources import read

    files = source_files(given, "test")
    where = resolve_device(device)
    corpus = read(files) if files else open_run(folder, allow_code=allow_code).sources.read().test
    if not corpus.pairs:
        raise ZooError(f"The run in '{folder}' has no test text. Use --test-src and --test-tgt.")
    found = scores(
        folder,
        corpus,
        where,
        decoding,
        tokenize=tokenize,
        allow_code=allow_code,
        accelerate=accelerate,
    )
    if as_json:
        print_json(found.to_json())
    else:
        click.echo(found.text())
