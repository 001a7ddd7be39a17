"""Sentence pairs as ids: those that fit, and the report of the others."""

from __future__ import annotations

from zoo.training.tasks.base import EOS
from zoo.training.translation.corpus import Corpus, Pair, Report
from zoo.training.translation.dataset import Tokenizers, encoded
from zoo.training.translation.tokenizer import Subwords


def test_a_target_needs_room_for_its_end_and_a_source_does_not() -> None:
    """One byte is one token here: pairs of so many tokens on either side."""
    subwords = Subwords.train(["ab"], vocab_size=259)
    pairs = tuple(Pair("x" * src, "y" * tgt) for src, tgt in ((4, 3), (5, 1), (1, 4), (4, 4)))
    dataset = encoded(Corpus(pairs, Report(4)), Tokenizers(subwords, subwords), 4)
    assert dataset.lengths == [(4, 4)]
    assert dataset.corpus == Corpus(pairs[:1], Report(4, too_long=3))
    batch = dataset.batch([0])
    assert (batch.src.size(1), batch.tgt.size(1), batch.tgt[0, -1].item()) == (4, 4, EOS)
