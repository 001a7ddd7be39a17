"""Sorting and adding."""

from __future__ import annotations

import pytest

from zoo.core.errors import ZooError
from zoo.training.tasks.base import EOS, PAD
from zoo.training.trainer import load_task


def test_the_letters_of_a_word_in_order() -> None:
    task = load_task("sort")
    src, tgt = task.batch(["zebra", "bbca"])
    assert task.decode(src[0].tolist()) == "zebra"
    assert [task.decode(row) for row in tgt.tolist()] == ["aberz", "abbc"]
    assert tgt[1].tolist()[-2:] == [EOS, PAD]
    assert task.held_out == load_task("reverse").held_out


def test_sums_are_right_and_held_out_ones_apart() -> None:
    task = load_task("add")
    assert task.answer("58+67") == "125"
    assert not set(task.training) & set(task.held_out)
    assert len(task.training) + len(task.held_out) == 10_000
    assert len(task.held_out) >= 900
    for text in task.held_out[:50]:
        a, b = map(int, text.split("+"))
        ids = task.encode_answer(task.answer(text))
        assert task.decode([*ids, EOS]) == str(a + b)
        assert max(len(ids) + 1, len(task.encode(text))) <= task.max_len
    assert task.decode([3, 99, PAD]) == "0??"


@pytest.mark.parametrize("text", ["", "12", "1+2+3", "a+b", "100+1", "1+", "-1+2", "1 + 2", "\u0661+1"])
def test_what_is_no_sum_is_refused(text: str) -> None:
    with pytest.raises(ZooError, match=r"expected two numbers from 0 to 99, as in 58\+67"):
        load_task("add").encode(text)


def test_of_what_is_no_sum_only_a_part_is_shown() -> None:
    with pytest.raises(ZooError, match=r"^'1{12}\.\.\.1{13}': expected two numbers"):
        load_task("add").encode("1" * 3000)
