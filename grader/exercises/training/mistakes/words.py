"""Mistakes of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from grader.api import Collection
from grader.exercises.training.reference import EOS, FIRST_LETTER, PAD, SOS, Rows, Steps, padded

mistake: Collection[Steps] = Collection(("reverse_words",))
MISTAKES = mistake.mistakes
SHAPE = "src: letters, PAD ...; tgt: letters reversed, EOS, PAD ..."


@mistake(
    "padding-reversed",
    "The padded row is reversed, so PAD comes first in the target. Reverse the letters, then pad.",
    formula=SHAPE,
    hint="Which comes first, reversing or padding?",
)
def padding_reversed(steps: Steps) -> list[Steps]:
    def flipped(eos_last: bool) -> Callable[[Rows], Tensor]:
        def pad(rows: Rows) -> Tensor:
            letters = [row[:-1] for row in rows]
            width = max(map(len, letters))
            full = [[PAD] * (width - len(row)) + row for row in letters]
            return padded([[*row, EOS] for row in full] if eos_last else [[EOS, *row] for row in full])

        return pad

    return [replace(steps, pad_target=flipped(True)), replace(steps, pad_target=flipped(False))]


@mistake(
    "padded-on-the-left",
    "PAD comes before the letters; it must follow them.",
    formula=SHAPE,
    hint="On which side is a short word padded?",
)
def padded_on_the_left(steps: Steps) -> list[Steps]:
    def left(rows: Rows) -> Tensor:
        width = max(map(len, rows))
        return padded([[PAD] * (width - len(row)) + row for row in rows])

    return [
        replace(steps, pad_source=left),
        replace(steps, pad_source=left, pad_target=left),
    ]


@mistake(
    "eos-first",
    "EOS is reversed along with the letters, so the target starts with it; the target must end with EOS.",
    formula=SHAPE,
    hint="Is EOS appended before or after the letters are reversed?",
)
def eos_first(steps: Steps) -> Steps:
    return replace(steps, spelled=lambda ids: [EOS, *reversed(ids)])


@mistake(
    "eos-missing",
    "There is no EOS in the target: the model can never learn when to stop.",
    formula=SHAPE,
    hint="What comes after the last letter?",
)
def eos_missing(steps: Steps) -> Steps:
    return replace(steps, spelled=lambda ids: ids[::-1])


@mistake(
    "eos-after-padding",
    "EOS comes after the padding, in the last column of every row; it must come directly after the letters.",
    formula=SHAPE,
    hint="Which comes first, EOS or padding?",
)
def eos_after_padding(steps: Steps) -> Steps:
    def pad(rows: Rows) -> Tensor:
        letters = [row[:-1] for row in rows]
        width = max(map(len, letters))
        return padded([[*row, *[PAD] * (width - len(row)), EOS] for row in letters])

    return replace(steps, pad_target=pad)


@mistake(
    "sos-in-target",
    "The target begins with SOS; it must begin with the first letter that the decoder should predict. "
    "shift_right adds SOS to the decoder's input.",
    formula=SHAPE,
    hint="Does the model have to predict SOS?",
)
def sos_in_target(steps: Steps) -> list[Steps]:
    return [
        replace(steps, spelled=lambda ids: [SOS, *steps.spelled(ids)]),
        replace(steps, spelled=lambda ids: [SOS, *reversed(ids)]),
    ]


@mistake(
    "not-reversed",
    "The letters of the target are in the order of the word; they must be reversed.",
    formula=SHAPE,
    hint="Spell 'abc' backwards, and compare with your target.",
)
def not_reversed(steps: Steps) -> Steps:
    return replace(steps, spelled=lambda ids: [*ids, EOS])


@mistake(
    "source-reversed",
    "The source is reversed; it must be the word itself.",
    formula=SHAPE,
    hint="reverse() reverses a list in place: where else is that list used?",
)
def source_reversed(steps: Steps) -> list[Steps]:
    return [
        replace(steps, source=lambda ids: ids[::-1]),
        replace(steps, source=lambda ids: ids[::-1], spelled=lambda ids: [*ids, EOS]),
    ]


@mistake(
    "source-with-special-ids",
    "The source contains SOS or EOS; it must consist of letters and PAD only.",
    formula=SHAPE,
    hint="Which of the two rows needs EOS?",
)
def source_with_special_ids(steps: Steps) -> list[Steps]:
    return [
        replace(steps, source=lambda ids: [*ids, EOS]),
        replace(steps, source=lambda ids: [SOS, *ids]),
        replace(steps, source=lambda ids: [SOS, *ids, EOS]),
    ]


@mistake(
    "letter-ids-wrong",
    "The letters have the wrong ids: a is 3 and z is 28, after PAD 0, SOS 1 and EOS 2.",
    formula="id = ord(letter) - ord('a') + 3",
    hint="What is the id of 'a'?",
)
def letter_ids_wrong(steps: Steps) -> list[Steps]:
    def first(number: int) -> Steps:
        return replace(steps, letter=lambda letter: steps.letter(letter) - FIRST_LETTER + number)

    return [first(0), first(1), first(2), first(4), replace(steps, letter=ord)]


@mistake(
    "rows-of-equal-width",
    "src is padded to the length of tgt (or both to a fixed length); each must be as wide as its own "
    "longest row.",
    formula="src [B, longest word], tgt [B, longest word + 1]",
    hint="How long is the longest row of src?",
)
def rows_of_equal_width(steps: Steps) -> list[Steps]:
    def wider(by: int) -> Callable[[Rows], Tensor]:
        return lambda rows: padded(rows, max(map(len, rows)) + by)

    def at_least(width: int) -> Callable[[Rows], Tensor]:
        return lambda rows: padded(rows, max(width, *map(len, rows)))

    return [
        replace(steps, pad_source=wider(1)),
        replace(steps, pad_source=wider(1), pad_target=wider(1)),
        *(
            replace(steps, pad_source=at_least(n), pad_target=at_least(n + more))
            for n in (10, 12, 16)
            for more in (0, 1)
        ),
    ]


@mistake(
    "order-changed",
    "The rows are not in the order of the words (sorted, or the list reversed).",
    formula="row i belongs to words[i]",
    hint="Which word does row 0 belong to?",
)
def order_changed(steps: Steps) -> list[Steps]:
    return [
        replace(steps, words=lambda words: words[::-1]),
        replace(steps, words=sorted),
        replace(steps, words=lambda words: sorted(words, key=len)),
        replace(steps, words=lambda words: sorted(words, key=len, reverse=True)),
    ]


@mistake(
    "pair-swapped",
    "The pair is (tgt, src); it should be (src, tgt).",
    hint="Which of the two contains EOS?",
)
def pair_swapped(steps: Steps) -> Steps:
    return replace(steps, pair=lambda src, tgt: (tgt, src))


@mistake(
    "word-ids-not-int64",
    "The ids are floats or another integer dtype; embeddings need int64.",
    hint="torch.zeros and torch.Tensor make floats; torch.tensor of whole numbers makes int64.",
)
def word_ids_not_int64(steps: Steps) -> list[Steps]:
    return [
        replace(steps, pair=lambda src, tgt: steps.pair(src.float(), tgt.float())),
        replace(steps, pair=lambda src, tgt: steps.pair(src.int(), tgt.int())),
        replace(steps, pair=lambda src, tgt: steps.pair(src, tgt.float())),
    ]


@mistake(
    "batch-second",
    "The tensors are [T, B]; the batch comes first, as src [B, S] and tgt [B, L].",
    hint="pad_sequence(batch_first=?)",
    source="batch_first confusion: DaoyuanLi2816/Molecule-Generator#22",
)
def batch_second(steps: Steps) -> Steps:
    return replace(steps, pair=lambda src, tgt: steps.pair(src.T, tgt.T))


@mistake(
    "lists-returned",
    "Lists of ids are returned; return two padded tensors.",
    hint="Fill rows of different lengths with PAD to make one tensor.",
)
def lists_returned(steps: Steps) -> Steps:
    return replace(steps, pair=lambda src, tgt: (src.tolist(), tgt.tolist()))
