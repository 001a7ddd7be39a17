"""Subwords: what comes back from ids, files of others, and a sentence for each that cannot be used."""

import hashlib
import json
import random
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from zoo.core.errors import ZooError
from zoo.training.tasks.base import EOS, PAD, SOS
from zoo.training.translation.tokenizer import Model, Subwords
from zoo.training.translation.toy import toy_corpora

TEXTS = [
    "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.",
    "两个年轻的白人男子在户外的灌木丛附近。",
    *(side for pair in toy_corpora().train.pairs[:1000] for side in pair),
]
STRANGE = [
    "",
    " ",
    "  two  spaces \t tab\n newline ",
    "Grüße, Ünïcödé, naïve",
    "中文和日本語、한국어",
    "🎉👩‍👩‍👧 e\u0301 \ufeff \u200b \u2028 \x85 \0 \x7f \U0010ffff",
    "<pad> <sos> <eos> <s> </s> <unk> [PAD] <|endoftext|>",
    "ĠÃ¤Ċ",
    "a" * 3000,
]
MODELS: tuple[Model, ...] = ("bpe", "unigram")
UNICODE = st.text(st.characters(exclude_categories=["Cs"]))


@cache
def trained(model: Model = "bpe") -> Subwords:
    return Subwords.train(TEXTS, 600, model)


@pytest.mark.parametrize("model", MODELS)
class TestTrainedHere:
    @pytest.mark.parametrize("text", STRANGE, ids=repr)
    def test_strange_text_comes_back_unchanged(self, model: Model, text: str) -> None:
        assert trained(model).decode(trained(model).encode(text)) == text

    @given(UNICODE)
    def test_any_text_comes_back_unchanged(self, model: Model, text: str) -> None:
        assert trained(model).decode(trained(model).encode(text)) == text

    @given(UNICODE)
    def test_no_text_becomes_a_special_token(self, model: Model, text: str) -> None:
        ids = trained(model).encode(text)
        assert all(EOS < one < trained(model).vocab_size for one in ids)
        assert trained(model).length(text) == len(ids)

    def test_the_size_is_as_asked_and_no_text_has_more_tokens_than_bytes(self, model: Model) -> None:
        assert 400 < trained(model).vocab_size <= 600  # of unigrams there may be fewer worth having
        ids = trained(model).encode_all(TEXTS)
        assert all(len(one) <= len(text.encode()) for one, text in zip(ids, TEXTS, strict=True))
        assert sum(map(len, ids)) < sum(len(text.encode()) for text in TEXTS) / 2

    def test_saved_and_loaded_it_is_equal(self, model: Model, tmp_path: Path) -> None:
        trained(model).save(tmp_path / "tokenizer.json")
        loaded = Subwords.load(tmp_path / "tokenizer.json")
        assert loaded == trained(model)
        assert loaded.vocab_size == trained(model).vocab_size
        assert loaded.encode_all(STRANGE) == trained(model).encode_all(STRANGE)
        assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]

    def test_many_at_once_are_as_one_by_one(self, model: Model) -> None:
        assert trained(model).encode_all(STRANGE) == [trained(model).encode(text) for text in STRANGE]
        assert trained(model).encode_all([]) == []

    def test_few_texts_give_a_small_vocabulary(self, model: Model) -> None:
        small = Subwords.train(["one two three"] * 3, 5000, model)
        assert 259 <= small.vocab_size < 400
        assert small.decode(small.encode("中 one")) == "中 one"

    @pytest.mark.parametrize("texts", [["a"], [" "], ["\0"], ["a", ""]], ids=repr)
    def test_next_to_no_text_gives_the_bytes(self, model: Model, texts: list[str]) -> None:
        bare = Subwords.train(texts, 300, model)
        assert bare.vocab_size == 259
        assert bare.decode(bare.encode("中 one")) == "中 one"

    @pytest.mark.parametrize("texts", [[], ["", ""]], ids=repr)
    def test_no_text_is_refused(self, model: Model, texts: list[str]) -> None:
        with pytest.raises(ZooError, match="no text to learn subwords from"):
            Subwords.train(texts, 300, model)


class TestIds:
    def test_decoding_ends_at_eos_and_skips_padding_and_start(self) -> None:
        ids = trained().encode("Zwei Männer.")
        assert trained().decode([SOS, *ids[:2], PAD, *ids[2:], EOS, *ids]) == "Zwei Männer."

    @given(st.lists(st.integers(0, 700)))
    def test_whatever_a_model_generates_is_some_text(self, ids: list[int]) -> None:
        trained().decode(ids).encode()

    def test_the_same_texts_give_the_same_tokens_in_another_start_of_python(self) -> None:
        code = (
            "import hashlib; from zoo.training.translation.tokenizer import Subwords;"
            "from zoo.training.translation.toy import toy_corpora;"
            "s = Subwords.train((x for p in toy_corpora().valid.pairs for x in p), 500);"
            "print(hashlib.sha256(s.content.encode()).hexdigest())"
        )
        printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        here = Subwords.train((side for pair in toy_corpora().valid.pairs for side in pair), 500)
        assert printed.stdout.strip() == hashlib.sha256(here.content.encode()).hexdigest()

    def test_others_are_not_equal(self) -> None:
        assert trained("bpe") != trained("unigram")
        assert trained() != Subwords.train(TEXTS, 500)
        assert trained() != "tokenizer"

    def test_neither_training_nor_loading_asks_the_network(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*args: object, **options: object) -> None:
            raise AssertionError("the network was asked")

        monkeypatch.setattr(socket, "socket", refuse)
        monkeypatch.setattr(socket, "create_connection", refuse)
        Subwords.train(TEXTS, 300).save(tmp_path / "a")
        Subwords.load(tmp_path / "a").encode("x")
        assert "huggingface_hub" not in sys.modules


def word_level(vocab: dict[str, int], **options: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(vocab, **options))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    return tokenizer


class TestFilesOfOthers:
    """Tokenizers as they are downloaded: with special tokens, templates, cutting and padding of their own."""

    def bert_like(self, path: Path) -> Subwords:
        tokenizer = word_level({"[UNK]": 0, "[CLS]": 1, "[PAD]": 2, "ein": 3, "hund": 4}, unk_token="[UNK]")
        tokenizer.normalizer = normalizers.Lowercase()  # type: ignore[assignment]
        tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A", special_tokens=[("[CLS]", 1)])  # type: ignore[assignment]
        tokenizer.enable_truncation(2)
        tokenizer.enable_padding(length=8, pad_id=2, pad_token="[PAD]")
        tokenizer.save(str(path))
        return Subwords.load(path)

    def test_nothing_is_cut_padded_or_put_in_front(self, tmp_path: Path) -> None:
        subwords = self.bert_like(tmp_path / "tokenizer.json")
        assert subwords.encode("Ein Hund Ein Hund") == [6, 7, 6, 7]
        assert subwords.encode_all(["Ein", "Ein Hund Ein"]) == [[6], [6, 7, 6]]
        assert subwords.decode([6, 7, EOS, 6]) == "ein hund"
        assert subwords.vocab_size == 8

    def test_gpt_like_special_tokens_are_plain_text(self, tmp_path: Path) -> None:
        path = tmp_path / "tokenizer.json"
        trained().save(path)
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>"])
        tokenizer.add_tokens([AddedToken("<tool>", special=False, normalized=False)])
        tokenizer.save(str(path))
        subwords = Subwords.load(path)
        assert subwords.vocab_size == trained().vocab_size + 3
        text = "a <|endoftext|> in <|im_start|> the <tool> text <eos>"
        ids = subwords.encode(text)
        assert subwords.decode(ids) == text
        assert ids.count(subwords.vocab_size - 1) == 1  # <tool>, which is no special token
        assert not {subwords.vocab_size - 2, subwords.vocab_size - 3} & set(ids)

    def test_its_own_tokens_for_start_and_padding_do_not_become_ours(self, tmp_path: Path) -> None:
        tokenizer = word_level({"<pad>": 0, "<sos>": 1, "<eos>": 2, "x": 3}, unk_token="x")
        tokenizer.add_special_tokens(["<pad>", "<sos>", "<eos>"])
        tokenizer.save(str(tmp_path / "a"))
        subwords = Subwords.load(tmp_path / "a")
        assert min(subwords.encode("<pad> <sos> <eos> x")) > EOS

    def test_gaps_between_ids_are_kept(self, tmp_path: Path) -> None:
        word_level({"a": 0, "b": 10}, unk_token="a").save(str(tmp_path / "a"))
        subwords = Subwords.load(tmp_path / "a")
        assert subwords.vocab_size == 14
        assert subwords.encode("b a") == [13, 3]

    def test_saved_again_it_is_equal(self, tmp_path: Path) -> None:
        subwords = self.bert_like(tmp_path / "tokenizer.json")
        subwords.save(tmp_path / "again.json")
        assert Subwords.load(tmp_path / "again.json") == subwords


class TestWhatCannotBeUsed:
    @pytest.mark.parametrize("size", [-1, 0, 258])
    def test_a_vocabulary_without_room_for_bytes(self, size: int) -> None:
        with pytest.raises(ZooError, match=f"vocabulary of {size} is too small: .* alone are 259"):
            Subwords.train(TEXTS, size)

    def test_an_unknown_model(self) -> None:
        with pytest.raises(ZooError, match="no tokenizer model 'wordpiece'"):
            Subwords.train(TEXTS, 300, "wordpiece")  # type: ignore[arg-type]

    @pytest.mark.parametrize("text", ["\ud800", "ok \udfff"])
    def test_a_lone_surrogate(self, text: str) -> None:
        with pytest.raises(ZooError, match="is not valid Unicode"):
            trained().encode(text)
        with pytest.raises(ZooError, match="is not valid Unicode"):
            Subwords.train(["fine", text], 300)

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"no json",
            b"[]",
            b"{}",
            b"null",
            b"\xff\xfe",
            b'{"model": {"type": "BPE"}}',
            b'{"version": "9.0", "model": {"type": "Magic"}}',
        ],
    )
    def test_a_file_that_is_no_tokenizer(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "tokenizer.json"
        path.write_bytes(content)
        with pytest.raises(ZooError, match=r"tokenizer\.json' cannot be used"):
            Subwords.load(path)

    def test_a_file_that_is_cut_off(self, tmp_path: Path) -> None:
        path = tmp_path / "tokenizer.json"
        trained().save(path)
        whole = path.read_bytes()
        for end in (1, len(whole) // 2, len(whole) - 3):
            path.write_bytes(whole[:end])
            with pytest.raises(ZooError, match="This is not a tokenizer"):
                Subwords.load(path)

    def test_merges_of_unknown_tokens(self, tmp_path: Path) -> None:
        path = tmp_path / "tokenizer.json"
        trained().save(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        content["model"]["merges"].append(["nowhere", "found"])
        path.write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(ZooError, match="This is not a tokenizer"):
            Subwords.load(path)

    def test_an_empty_vocabulary(self, tmp_path: Path) -> None:
        Tokenizer(models.BPE()).save(str(tmp_path / "a"))
        with pytest.raises(ZooError, match="has no tokens"):
            Subwords.load(tmp_path / "a")

    def test_text_that_a_file_cannot_read(self, tmp_path: Path) -> None:
        word_level({"a": 0}, unk_token="[UNK]").save(str(tmp_path / "a"))
        with pytest.raises(ZooError, match="cannot read the text"):
            Subwords.load(tmp_path / "a").encode("unknown")

    def test_a_missing_file_and_a_directory(self, tmp_path: Path) -> None:
        with pytest.raises(ZooError, match="nowhere' cannot be read: there is no such file"):
            Subwords.load(tmp_path / "nowhere")
        with pytest.raises(ZooError, match="cannot be read: it is a directory"):
            Subwords.load(tmp_path)

    def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        with pytest.raises(ZooError, match="cannot be saved as"):
            trained().save(tmp_path / "nowhere" / "tokenizer.json")
        assert list(tmp_path.iterdir()) == []


def damaged(content: Any, draw: random.Random) -> None:
    """Put something that does not belong there at one place of a `tokenizer.json`, outside the vocabulary mostly."""
    while True:
        keys = list(content) if isinstance(content, dict) else range(len(content))
        key = draw.choice(keys)
        if not isinstance(content[key], dict | list) or not content[key] or draw.random() < 0.3:
            break
        content = content[key]
    content[key] = draw.choice(
        [None, -1, 1e300, "", "x", [], {}, True, 2**60, [["a", "b"]], {"type": "Replace"}]
    )


@pytest.mark.parametrize("model", MODELS)
def test_a_damaged_file_is_a_sentence_or_a_tokenizer(model: Model) -> None:
    """Never another error, whatever place of the file holds nonsense."""
    draw, whole = random.Random(0), Subwords.train(TEXTS[:40], 300, model).content
    refused = 0
    for _ in range(200):
        content = json.loads(whole)
        damaged(content, draw)
        try:
            subwords = Subwords(json.dumps(content))
            subwords.decode(subwords.encode("Ein Hund <eos> 中"))
        except ZooError:
            refused += 1
    assert 100 < refused < 200
