"""The toy languages: each pair is a translation by the rules, which a second author writes down here."""

import hashlib
import subprocess
import sys
from itertools import chain

from zoo.training.translation import toy
from zoo.training.translation.toy import ADJECTIVES, ARTICLES, NOUNS, TIMES, VERBS, toy_corpora

CORPORA = toy_corpora()
PAIRS = [pair for part in CORPORA for pair in part.pairs]


def noun_phrase(words: list[str]) -> tuple[str, bool, bool]:
    """Lomi words up to a noun -> Vask, whether plural, whether something is done to it."""
    *adjectives, noun = words
    patient = noun.endswith("n")
    noun = noun.removesuffix("n")
    plural = noun.endswith("ra")
    stem, gender = NOUNS[noun.removesuffix("ra") if plural else noun]
    ending = {("m", False): "o", ("f", False): "a", ("m", True): "i", ("f", True): "e"}[gender, plural]
    described = [ADJECTIVES[one] + ending for one in adjectives]
    return " ".join([f"l{ending}", stem + ("es" if plural else ""), *described]), plural, patient


def translated(lomi: str) -> str:
    """Lomi -> Vask, from the words alone."""
    words = lomi[:-1].lower().split()
    asked, denied = words[-1] == "ka", "na" in words
    time = [TIMES[words.pop(0)]] if words[0] in TIMES else []
    words = [word for word in words if word not in ("ka", "na")]
    verb = words.pop()
    past = verb not in VERBS
    first_noun = next(i for i, word in enumerate(words) if word not in ADJECTIVES)
    phrases = [noun_phrase(words[: first_noun + 1]), noun_phrase(words[first_noun + 1 :])]
    (actor, many, _), (patient, _, marked) = sorted(phrases, key=lambda one: one[2])
    assert marked
    spoken = (
        VERBS[verb.removesuffix("ti") if past else verb] + ("it" if past else "") + ("an" if many else "a")
    )
    opening = [spoken, actor] if asked else [actor, spoken]
    vask = " ".join([*opening, *(["nok"] if denied else []), patient, *time])
    return vask.capitalize() + ("?" if asked else ".")


def test_every_pair_is_a_translation_by_the_rules() -> None:
    for pair in PAIRS:
        assert translated(pair.src) == pair.tgt


def test_the_example_in_the_docstring_is_one() -> None:
    lines = [line.strip() for line in (toy.__doc__ or "").splitlines() if line.startswith("    ")]
    lomi, vask = (line.partition("   ")[0] for line in lines)
    assert translated(lomi) == vask


def test_parts_are_a_few_thousand_pairs_and_apart() -> None:
    assert [len(part) for part in CORPORA] == [5000, 250, 250]
    assert len({pair.src for pair in PAIRS}) == len(PAIRS)
    assert all(str(part.report).endswith("none left out.") for part in CORPORA)


def test_every_word_of_the_other_parts_is_trained_on() -> None:
    trained = {word for pair in CORPORA.train.pairs for word in chain(*map(str.split, pair))}
    for part in (CORPORA.valid, CORPORA.test):
        unseen = {word for pair in part.pairs for word in chain(*map(str.split, pair))} - trained
        assert not unseen


def test_no_word_can_be_translated_alone() -> None:
    """Each word of the sources comes with several forms in Vask, and its place says nothing."""
    for adjective, stem in ADJECTIVES.items():
        forms = {
            word.strip(".?")
            for pair in PAIRS
            if adjective in pair.src.split()
            for word in pair.tgt.split()
            if word.startswith(stem)
        }
        assert forms == {stem + article[-1] for article in ARTICLES.values()}


def test_the_one_acted_on_comes_first_as_often_as_last() -> None:
    first = sum("n " in pair.src.partition(" na")[0].rsplit(maxsplit=2)[0] for pair in PAIRS)
    assert 0.2 < first / len(PAIRS) < 0.8


def test_one_seed_gives_the_same_pairs_everywhere_and_another_gives_others() -> None:
    """Frozen: what one version trained on, another must not call a test."""
    told = hashlib.sha256("\n".join("\t".join(pair) for pair in PAIRS).encode()).hexdigest()
    assert told[:16] == "7d5760491bd71a21"
    assert toy_corpora(1).train.pairs != CORPORA.train.pairs


def test_corpora_need_neither_torch_nor_tokenizers() -> None:
    code = "import sys, zoo.training.translation.toy\n"
    code += "print(sorted({'torch', 'tokenizers', 'sacrebleu'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"
