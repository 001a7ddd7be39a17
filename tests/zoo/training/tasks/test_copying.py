"""Copying words."""

from zoo.training.tasks.base import EOS
from zoo.training.trainer import load_task


def test_a_word_is_answered_by_itself() -> None:
    src, tgt = load_task("copy").batch(["abc", "zebra"])
    assert src.tolist() == [[3, 4, 5, 0, 0], [28, 7, 4, 20, 3]]
    assert tgt.tolist() == [[3, 4, 5, EOS, 0, 0], [28, 7, 4, 20, 3, EOS]]


def test_the_same_words_are_held_out_as_for_spelling_backwards() -> None:
    assert load_task("copy").held_out == load_task("reverse").held_out
