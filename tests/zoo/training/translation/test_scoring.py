"""BLEU and chrF: what sacrebleu says, with its signature, and that measures are told apart."""

import socket

import pytest
import sacrebleu

from zoo.core.errors import ZooError
from zoo.training.translation.scoring import TOKENIZE, bleu, chrf, lowercase_bleu

REFERENCES = ["A dog runs over the green meadow.", "Two men stand in front of a house."]
TRANSLATIONS = ["A dog runs on the green meadow.", "Two men are in front of a house."]


def test_a_perfect_translation_has_100() -> None:
    for measure in (bleu, chrf, lowercase_bleu):
        assert measure(REFERENCES, REFERENCES).value == pytest.approx(100)


def test_an_empty_translation_has_0() -> None:
    for measure in (bleu, chrf, lowercase_bleu):
        assert measure(["", ""], REFERENCES).value == 0


def test_scores_are_those_of_sacrebleu() -> None:
    assert bleu(TRANSLATIONS, REFERENCES).value == sacrebleu.corpus_bleu(TRANSLATIONS, [REFERENCES]).score
    assert chrf(TRANSLATIONS, REFERENCES).value == sacrebleu.corpus_chrf(TRANSLATIONS, [REFERENCES]).score


def test_bleu_by_hand() -> None:
    """Of "a b c d x" against "a b c d e": 4/5, 3/4, 2/3 and 1/2 of the n-grams, and no brevity penalty."""
    expected = 100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert bleu(["a b c d x"], ["a b c d e"]).value == pytest.approx(expected)
    assert lowercase_bleu(["a B c d x"], ["A b C d e"]).value == pytest.approx(expected)


def test_case_counts_in_bleu_and_not_in_the_other_measure() -> None:
    lower = [one.lower() for one in REFERENCES]
    assert bleu(lower, REFERENCES).value < 100
    assert lowercase_bleu(lower, REFERENCES).value == pytest.approx(100)


def test_lines_name_measure_value_and_signature() -> None:
    version = sacrebleu.__version__
    assert str(bleu(REFERENCES, REFERENCES)) == (
        f"BLEU 100.00  nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"
    )
    assert str(chrf(REFERENCES, REFERENCES)) == (
        f"chrF2 100.00  nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}"
    )
    other = str(lowercase_bleu(REFERENCES, REFERENCES))
    assert other.startswith("BLEU of lower-cased tokens (not comparable): 100.00  nrefs:1|case:lc|")


def test_chinese_is_split_into_characters() -> None:
    score = bleu(["两个男人站在房子前面"], ["两个男人站在屋子前面"], "zh")
    assert 40 < score.value < 100
    assert "tok:zh" in score.signature


@pytest.mark.parametrize("tokenize", TOKENIZE)
def test_nothing_is_downloaded(tokenize: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    assert bleu(REFERENCES, REFERENCES, tokenize).value == pytest.approx(100)


def test_splitting_that_needs_a_download_is_refused() -> None:
    with pytest.raises(ZooError, match=r"no way of splitting for BLEU 'flores200'.*13a, .*zh"):
        bleu(REFERENCES, REFERENCES, "flores200")


@pytest.mark.parametrize("measure", [bleu, chrf, lowercase_bleu])
def test_as_many_references_as_translations(measure: object) -> None:
    assert callable(measure)
    with pytest.raises(ZooError, match="2 translations and 1 references"):
        measure(TRANSLATIONS, REFERENCES[:1])
    with pytest.raises(ZooError, match="at least one"):
        measure([], [])


def test_line_breaks_and_other_whitespace_in_a_translation_do_no_harm() -> None:
    assert bleu([REFERENCES[0].replace(" ", "\n\u2028 "), REFERENCES[1]], REFERENCES).value == pytest.approx(
        100
    )
