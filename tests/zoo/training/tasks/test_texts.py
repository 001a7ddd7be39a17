"""Reading texts, and their characters and subwords as ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.core.tasks import Inputs
from zoo.training.tasks.base import EOS, PAD
from zoo.training.tasks.texts import Characters, from_json, make_vocabulary, read_texts, split, to_json


def test_the_text_that_comes_with_the_zoo() -> None:
    (text,) = read_texts(Inputs())
    assert 100_000 < len(text) < 300_000
    assert text.startswith("CHAPTER I\n")
    assert text.isascii()
    assert len(set(text)) < 100


@pytest.mark.parametrize("subwords", [None, 300])
def test_a_vocabulary_gives_texts_back_also_from_json(subwords: int | None) -> None:
    texts = ["Ein früher Vogel.\n\tEr singt, er singt!", "こんにちは"]
    vocabulary = make_vocabulary(texts, subwords)
    again = from_json(to_json(vocabulary))
    assert again.vocab_size == vocabulary.vocab_size
    for text in texts:
        ids = vocabulary.encode(text)
        assert min(ids) >= 3
        assert max(ids) < vocabulary.vocab_size
        assert again.encode(text) == ids
        assert again.decode([*ids, EOS, 5]) == text


def test_characters_are_counted_from_3_in_order() -> None:
    vocabulary = Characters.of(["ba", "c"])
    assert vocabulary.encode("abc") == [3, 4, 5]
    assert vocabulary.decode([3, 6, PAD, 4]) == "a\ufffd\ufffdb"
    with pytest.raises(ZooError, match=r"The character 'z' is not in the text .* It knows 3 characters: abc"):
        vocabulary.encode("abz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"ab\0c", "is not a text: it contains null bytes"),
        (b"caf\xe9", "is not text in UTF-8: byte 3 is 0xe9"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_text_is_refused(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ZooError, match=message):
        read_texts(Inputs((str(path),)))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"is a directory\. Name the files in it"):
        read_texts(Inputs((str(tmp_path),)))


def test_line_ends_and_byte_order_marks_are_those_of_python(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_texts(Inputs((str(path), str(path)))) == ["a\nb", "a\nb"]


@pytest.mark.parametrize("length", [1, 9, 10, 11, 105])
def test_the_last_tenth_is_held_out(length: int) -> None:
    text = "".join(map(chr, range(100, 100 + length)))
    training, held_out = split(text)
    assert training + held_out == text
    assert len(held_out) == length // 10
