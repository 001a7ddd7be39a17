"""The words, which of them are held out, and how a word becomes tokens and back."""

import pytest
import torch

from zoo.core.errors import ZooError
from zoo.training.tasks.base import EOS, PAD, SOS
from zoo.training.tasks.reverse import Reverse


@pytest.fixture(scope="module")
def task() -> Reverse:
    return Reverse()


def test_words_are_many_and_of_3_to_10_small_letters(task: Reverse) -> None:
    words = [*task.training, *task.held_out]
    assert len(words) == len(set(words)) >= 20_000
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)
    assert {len(word) for word in words} == set(range(3, 11))


def test_held_out_words_are_enough_and_apart(task: Reverse) -> None:
    assert len(task.held_out) >= 1000
    assert not set(task.held_out) & set(task.training)


def test_the_split_depends_on_the_word_alone(task: Reverse) -> None:
    """Frozen: a model saved by one version must not have seen what another version calls unseen."""
    assert task.held_out[:5] == ("pandering", "pointing", "loathings", "immobile", "grumbled")


def test_the_first_thousand_are_a_fair_sample(task: Reverse) -> None:
    every = [*task.training, *task.held_out]
    for letters in ("abcdefgh", "ijklmnopq", "rstuvwxyz"):
        sample = sum(word[0] in letters for word in task.held_out[:1000]) / 1000
        assert sample == pytest.approx(sum(word[0] in letters for word in every) / len(every), abs=0.05)


def test_batches_hold_training_words_only_and_follow_their_generator(task: Reverse) -> None:
    def draw(seed: int) -> list[torch.Tensor]:
        batches = task.batches(torch.Generator().manual_seed(seed), 64)
        return [next(batches).src for _ in range(30)]

    first, again, other = draw(0), draw(0), draw(1)
    seen = {task.decode([i for i in row if i != PAD]) for src in first for row in src.tolist()}
    assert len(seen) > 1000
    assert seen <= set(task.training)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], other[0])


def test_a_batch_may_be_larger_than_the_word_list(task: Reverse) -> None:
    src, _ = next(task.batches(torch.Generator(), len(task.training) + 1))
    assert src.size(0) == len(task.training) + 1


def test_source_is_padded_letters_and_target_is_reversed_letters_with_an_end(task: Reverse) -> None:
    src, tgt = task.batch(["abc", "zebra"])
    assert src.tolist() == [[3, 4, 5, PAD, PAD], [28, 7, 4, 20, 3]]
    assert tgt.tolist() == [[5, 4, 3, EOS, PAD, PAD], [3, 20, 4, 7, 28, EOS]]
    assert src.dtype == tgt.dtype == torch.int64


@pytest.mark.parametrize("word", ["abc", "abcdefghij", "zyx"])
def test_what_is_encoded_decodes_to_itself(task: Reverse, word: str) -> None:
    assert task.decode(task.encode(word)) == word
    assert task.decode([*task.encode_answer(task.answer(word)), EOS, PAD, 5]) == word[::-1]


def test_tokens_that_no_answer_holds_are_shown(task: Reverse) -> None:
    assert task.decode([3, PAD, 4, SOS]) == "a?b?"


def test_sizes_are_enough_for_the_longest_word(task: Reverse) -> None:
    src, tgt = task.batch(["abcdefghij", "zzz"])
    assert task.max_len == max(src.size(1), tgt.size(1))
    assert int(src.max()) == task.src_vocab - 1
    assert int(tgt.max()) == task.tgt_vocab - 1


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("naïve", "'ï' is not one of a to z"),
        ("a-b", "'-'"),
        ("Hello", "'H' is not one of a to z. Write it in small letters"),
        ("word1", "'1'"),
        ("ab", "has 2 letters: expected 3 to 10"),
        ("abcdefghijk", "has 11 letters"),
        ("", "has 0 letters"),
    ],
)
def test_other_words_are_refused(task: Reverse, word: str, reason: str) -> None:
    with pytest.raises(ZooError, match=reason):
        task.encode(word)


def test_ids_of_no_letter_show_as_a_question_mark() -> None:
    """A model may have a larger vocabulary than the task."""
    assert Reverse().decode([3, 29, 0, 500, 28, 2, 4]) == "a???z"
