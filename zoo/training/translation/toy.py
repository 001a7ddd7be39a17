"""Two small languages made up for the purpose, and sentences of both: something to translate with no data at hand.

Lomi puts the verb last and adjectives before their noun; -ra is the plural, and -n marks the one something is done to,
so the two may stand in either order. Vask puts the verb second, adjectives after their noun, and makes article,
adjective and verb agree with gender and number, of which Lomi's adjectives and verbs say nothing:

    Eri tasun puna kelora mirati.            yesterday house-n small dog-ra see-past
    Li vundes piki spekitan la hulm yeder.   the dogs small saw the house yesterday

No word of Vask can be told from a single word of Lomi.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from zoo.training.translation.corpus import Corpora, Corpus, Pair, Report

TRAIN, VALID, TEST = 5_000, 250, 250

# Lomi -> Vask; of a noun with its gender.
NOUNS = {
    "kelo": ("vund", "m"), "tasu": ("hulm", "f"), "mipe": ("katz", "f"), "doru": ("berg", "m"),
    "lavi": ("flod", "f"), "suke": ("brod", "m"), "nemo": ("kind", "m"), "zite": ("blum", "f"),
    "palu": ("fisk", "m"), "goma": ("ross", "f"), "wiko": ("stern", "m"), "hesu": ("birn", "f"),
}  # fmt: skip
ADJECTIVES = {
    "puna": "pik", "gore": "stor", "lisa": "fahl", "teko": "rund", "mavu": "grim", "sono": "weis",
}  # fmt: skip
VERBS = {
    "mira": "spek", "foli": "such", "dape": "hab", "kuno": "trag", "zeli": "lieb", "vasu": "find",
}  # fmt: skip
TIMES = {"eri": "yeder", "omo": "nuv", "tula": "morn"}
ARTICLES = {("m", False): "lo", ("f", False): "la", ("m", True): "li", ("f", True): "le"}


class _Phrase(NamedTuple):
    """A noun with what belongs to it, in both languages."""

    lomi: str
    vask: str
    plural: bool


def toy_corpora(seed: int = 0) -> Corpora:
    """5,000 pairs of Lomi and Vask to train on, 250 to validate and 250 to test; no sentence is in two parts.

    The same seed gives the same pairs on every machine.
    """
    draw = random.Random(seed)
    pairs: dict[Pair, None] = {}  # a set that keeps its order
    while len(pairs) < TRAIN + VALID + TEST:
        pairs[_sentence(draw)] = None
    drawn = tuple(pairs)
    parts = drawn[:TRAIN], drawn[TRAIN : TRAIN + VALID], drawn[TRAIN + VALID :]
    return Corpora(*(Corpus(part, Report(len(part))) for part in parts))


def _sentence(draw: random.Random) -> Pair:
    """A sentence in both languages: a statement or a question, perhaps denied, past or with a time."""
    actor, patient = _phrase(draw), _phrase(draw)
    verb, past = draw.choice(list(VERBS)), draw.random() < 0.5
    asked, denied = draw.random() < 0.2, draw.random() < 0.2
    time = draw.choice(list(TIMES)) if draw.random() < 0.4 else ""

    nouns = [actor.lomi, f"{patient.lomi}n"]
    if draw.random() < 0.5:
        nouns.reverse()
    lomi = [time, *nouns, f"{verb}{'ti' if past else ''}", "na" if denied else "", "ka" if asked else ""]
    spoken = f"{VERBS[verb]}{'it' if past else ''}{'an' if actor.plural else 'a'}"
    opening = [spoken, actor.vask] if asked else [actor.vask, spoken]
    vask = [*opening, "nok" if denied else "", patient.vask, TIMES.get(time, "")]
    end = "?" if asked else "."
    return Pair(_written(lomi, end), _written(vask, end))


def _phrase(draw: random.Random) -> _Phrase:
    """A noun, one or many, with up to two adjectives."""
    noun, plural = draw.choice(list(NOUNS)), draw.random() < 0.5
    adjectives = draw.sample(list(ADJECTIVES), draw.choice((0, 1, 1, 2)))
    stem, gender = NOUNS[noun]
    article = ARTICLES[gender, plural]
    described = [f"{ADJECTIVES[one]}{article[-1]}" for one in adjectives]  # ends as the article does
    lomi = " ".join([*adjectives, f"{noun}{'ra' if plural else ''}"])
    vask = " ".join([article, f"{stem}{'es' if plural else ''}", *described])
    return _Phrase(lomi, vask, plural)


def _written(words: list[str], end: str) -> str:
    """Words as a sentence: without empty ones, with a capital letter and its end."""
    sentence = " ".join(filter(None, words))
    return f"{sentence[0].upper()}{sentence[1:]}{end}"
