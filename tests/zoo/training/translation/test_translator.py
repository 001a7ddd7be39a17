"""Translations: in order, one for each text, the same however they are batched."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.zoo.training.translation.support import CPU, WORDS, corpora, make_run, settings, small, train
from zoo.core.errors import ZooError
from zoo.models.builder import build
from zoo.parts.decoding.beam import BeamDecoding
from zoo.parts.decoding.sample import SampleDecoding
from zoo.training.translation.dataset import encoded
from zoo.training.translation.run import load_translator, make_tokenizers
from zoo.training.translation.translator import LONGER, Translator

TOKENIZERS = make_tokenizers(corpora(), settings())


def translator(tokens: int = 4096, cached: bool | None = None, max_len: int = 32) -> Translator:
    """An untrained one: what it says depends on every token of its source. float64, so that no two tie."""
    model = build(small(TOKENIZERS, init="gpt2:std=0.5", max_len=max_len), seed=0).double()
    return Translator(model, TOKENIZERS, max_len, CPU, tokens=tokens, cached=cached)


TEXTS = ["drei vier eins", "zwei", "fünf fünf fünf eins", "", "zwei drei", " \t", "eins"]


@pytest.mark.parametrize("decoding", [None, BeamDecoding(3)], ids=["greedy", "beam"])
@pytest.mark.parametrize("tokens", [1, 8, 4096])
def test_each_text_has_its_translation_however_they_are_batched(
    tokens: int, decoding: BeamDecoding | None
) -> None:
    one = translator(tokens)
    longest = translator()
    alone = [longest([text], decoding).texts[0] for text in TEXTS]
    assert one(TEXTS, decoding).texts == alone
    assert len(set(alone)) >= 4  # they do differ


def test_nothing_in_nothing_out() -> None:
    assert translator()([]).texts == []
    assert translator()(["", "  "]).texts == ["", ""]


def test_computing_all_anew_gives_the_same() -> None:
    beam = BeamDecoding(4)
    assert translator(cached=False)(TEXTS, beam) == translator(cached=True)(TEXTS, beam)


def test_of_a_long_text_the_beginning_is_translated_and_that_is_said() -> None:
    long = "eins " * 40
    found = translator()(["eins", long, "zwei"])
    assert found.cut == [1]
    ids = TOKENIZERS.src.encode(long)[:32]
    assert found.texts[1] == translator()([TOKENIZERS.src.decode(ids)]).texts[0]


def test_a_text_is_cut_from_one_token_too_many_on() -> None:
    text = "eins zwei drei"
    length = len(TOKENIZERS.src.encode(text))
    assert translator(max_len=length)([text]).cut == []
    assert translator(max_len=length - 1)([text]).cut == [0]


def test_a_translation_ends_in_time() -> None:
    """A model that never says EOS."""
    one = translator(max_len=200)
    with torch.no_grad():
        one.model.head.bias[2] = -1e9
    rows = len(TOKENIZERS.tgt.encode(one(["eins"]).texts[0]))
    assert rows <= len(TOKENIZERS.src.encode("eins")) + LONGER


def test_drawing_follows_the_seed_and_leaves_torchs_generator_alone() -> None:
    one, draw = translator(), SampleDecoding()
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, again, other = (one(TEXTS, draw, seed).texts for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert torch.equal(torch.get_rng_state(), before)


def test_the_mode_of_the_model_stays() -> None:
    one = translator()
    one.model.train()
    one(["eins"])
    assert one.model.training


def test_a_run_is_loaded_with_its_tokenizer(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    with pytest.raises(ZooError, match="no finished epoch"):
        load_translator(run.folder, CPU)
    trained = train(run)
    loaded, blueprint = load_translator(run.folder, CPU)
    texts = list(WORDS)
    if trained.progress.best_epoch == trained.progress.epoch:
        assert loaded(texts) == trained.translator(texts)
    assert blueprint == run.blueprint
    assert not loaded.model.training


def test_long_pairs_are_left_out_of_training_and_counted() -> None:
    train_part = corpora().train
    longest = max(
        max(TOKENIZERS.src.length(pair.src), TOKENIZERS.tgt.length(pair.tgt) + 1) for pair in train_part.pairs
    )
    every = encoded(train_part, TOKENIZERS, longest)
    assert len(every.ids) == len(train_part.pairs)
    fewer = encoded(train_part, TOKENIZERS, longest - 1)
    assert len(fewer.ids) == len(fewer.corpus.pairs) < len(train_part.pairs)
    assert fewer.corpus.report.too_long == len(train_part.pairs) - len(fewer.ids)
    for (src, tgt), pair in zip(fewer.ids, fewer.corpus.pairs, strict=True):
        assert (TOKENIZERS.src.decode(src), TOKENIZERS.tgt.decode(tgt)) == pair
