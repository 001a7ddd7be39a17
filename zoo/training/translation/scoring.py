"""BLEU and chrF through sacrebleu, each with the signature that says how it was computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from zoo.core.errors import ZooError, unknown_name

TOKENIZE = ("13a", "intl", "zh", "char", "none")
"""Ways of splitting text into words for BLEU that sacrebleu brings along; the others would download a model."""


class Score(NamedTuple):
    """A measure of a whole corpus, from 0 to 100; as text the line to print.

    Attributes:
        name: of the measure.
        value: 100 says that every translation is its reference.
        signature: sacrebleu's, without which numbers are not comparable.
    """

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f}  {self.signature}"


def bleu(translations: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> Score:
    """BLEU (Papineni et al. 2002) of plain text as papers report it (Post 2018): cased, split by sacrebleu.

    Args:
        translations: plain text, not split into tokens, one a sentence.
        references: one for each translation, plain text too.
        tokenize: how sacrebleu splits both into words; "zh" for Chinese references, else "13a".

    Raises:
        ZooError: there are not as many references as translations, or none; no such way of splitting.
    """
    _check(translations, references)
    if tokenize not in TOKENIZE:
        raise unknown_name("way of splitting for BLEU", tokenize, TOKENIZE)
    return _scored(BLEU(tokenize=tokenize, force=True), "BLEU", translations, references)


def lowercase_bleu(translations: Sequence[str], references: Sequence[str]) -> Score:
    """BLEU of lower-cased text split at all punctuation, unsmoothed: another measure than `bleu`.

    It is near to what tutorials report that score lower-cased spaCy tokens, and comparable with nothing else.
    Arguments and errors are those of `bleu`.
    """
    _check(translations, references)
    metric = BLEU(lowercase=True, tokenize="intl", smooth_method="none", force=True)
    return _scored(metric, "BLEU of lower-cased tokens (not comparable):", translations, references)


def chrf(translations: Sequence[str], references: Sequence[str]) -> Score:
    """chrF2 (Popović 2015), the F-score of character n-grams. Arguments and errors are those of `bleu`."""
    _check(translations, references)
    return _scored(CHRF(), "chrF2", translations, references)


def _check(translations: Sequence[str], references: Sequence[str]) -> None:
    if len(translations) != len(references) or not references:
        raise ZooError(
            f"There are {len(translations):,} translations and {len(references):,} references. "
            "Give one reference for each translation, and at least one."
        )


def _scored(metric: BLEU | CHRF, name: str, translations: Sequence[str], references: Sequence[str]) -> Score:
    value = metric.corpus_score(translations, [references]).score
    return Score(name, value, str(metric.get_signature()))
