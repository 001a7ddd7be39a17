"""Sentence pairs from files: what is read, what is left out, and a sentence for every file that cannot be used."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import NamedTuple

from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors

GZIP = b"\x1f\x8b"  # begins every gzip file, and no UTF-8 text
BOM = "\ufeff"


class Pair(NamedTuple):
    """A sentence and its translation."""

    src: str
    tgt: str


@dataclass(frozen=True)
class Report:
    """What was read, and what of it was left out; as text a sentence for people.

    Attributes:
        read: pairs that the files hold.
        empty: pairs left out since a side has nothing but whitespace.
        too_long: pairs left out since a side has too many tokens.
    """

    read: int
    empty: int = 0
    too_long: int = 0

    def __str__(self) -> str:
        read = f"{_counted(self.read, 'pair')} read"
        if not self.empty and not self.too_long:
            return f"{read}, none left out."
        why = [f"{self.empty:,} with an empty side"] if self.empty else []
        why += [f"{self.too_long:,} too long"] if self.too_long else []
        return f"{read}, {self.empty + self.too_long:,} left out: {', '.join(why)}."


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs in the order of their files, and what was left out of them."""

    pairs: tuple[Pair, ...]
    report: Report

    def __len__(self) -> int:
        return len(self.pairs)


class Corpora(NamedTuple):
    """What is trained on, what decides when to stop, and what is scored once at the end."""

    train: Corpus
    valid: Corpus
    test: Corpus


def read_aligned(src: Path, tgt: Path) -> Corpus:
    r"""The pairs of two files: line n of one is the translation of line n of the other.

    UTF-8, plain or gzip (told by content, not by name). A line ends with "\n" or "\r\n" and nowhere else; a
    byte-order mark at the start is no part of the text. The rest of a line is left as it is.

    Raises:
        ZooError: a file is missing, cannot be read or unpacked, or is no UTF-8 text; the files have different
            numbers of lines; no pair is left.
    """
    sources, targets = read_lines(src), read_lines(tgt)
    if len(sources) != len(targets):
        raise ZooError(
            f"'{src}' has {_counted(len(sources), 'line')} and '{tgt}' has {len(targets):,}. Line n of one must be "
            "the translation of line n of the other: give two files with the same number of lines."
        )
    return _corpus((Pair(*sides) for sides in zip(sources, targets, strict=True)), f"'{src}' and '{tgt}'")


def read_tsv(path: Path) -> Corpus:
    """The pairs of one file with a sentence, a tab and its translation on each line; else as `read_aligned`.

    There is no header and no quoting. Raises ZooError for a line with more or fewer than two columns, too.
    """
    pairs = []
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t") if line.strip() else ["", ""]
        if len(columns) != 2:
            raise ZooError(
                f"'{path}', line {number}: expected two columns, a sentence, a tab and its translation; got "
                f"{_counted(len(columns), 'column')}. Write other tabs as spaces."
            )
        pairs.append(Pair(*columns))
    return _corpus(pairs, f"'{path}'")


def limited(corpus: Corpus, lengths: Sequence[tuple[int, int]], max_len: int) -> Corpus:
    """The pairs of which neither side has more than `max_len` tokens; the others are counted in the report.

    Args:
        corpus: some pairs.
        lengths: tokens of source and of target, for each pair.
        max_len: how many tokens a side may have.

    Raises:
        ZooError: no pair is left.
        ValueError: there are not as many lengths as pairs.
    """
    if len(lengths) != len(corpus):
        raise ValueError(f"{len(corpus)} pairs and {len(lengths)} lengths")
    short = [max(sides) <= max_len for sides in lengths]
    pairs = tuple(compress(corpus.pairs, short))
    if not pairs:
        raise ZooError(
            f"All {len(short):,} sentence pairs have a side with more than {max_len} tokens. Use a larger --max-len."
        )
    too_long = corpus.report.too_long + len(short) - len(pairs)
    return Corpus(pairs, replace(corpus.report, too_long=too_long))


def read_lines(path: Path) -> list[str]:
    """The lines of a text file as `read_aligned` describes it, without their ends. Raises ZooError."""
    data = _content(path)
    try:
        text = data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        raise ZooError(
            f"'{path}', line {_line_at(data, error.start)}: the byte 0x{data[error.start]:02X} is not valid "
            "UTF-8. Convert the file, e.g. with `iconv -f LATIN1 -t UTF-8`."
        ) from None
    if "\0" in text:
        raise ZooError(
            f"'{path}', line {text.count(chr(10), 0, text.index(chr(0))) + 1}: there is a NUL character. UTF-8 text "
            "has none; is the file UTF-16? Convert it, e.g. with `iconv -f UTF-16 -t UTF-8`."
        )
    lines = text.split("\n")  # splitlines would split at U+2028, U+0085 and others too
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _content(path: Path) -> bytes:
    with reporting_os_errors(f"'{path}' cannot be read"):
        try:
            data = path.read_bytes()
            return gzip.decompress(data) if data.startswith(GZIP) else data
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ZooError(
                f"'{path}' is a gzip file that is damaged or cut off. Download or pack it again."
            ) from error


def _line_at(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def _corpus(pairs: Iterable[Pair], where: str) -> Corpus:
    read = tuple(pairs)
    full = tuple(pair for pair in read if pair.src.strip() and pair.tgt.strip())
    if not full:
        raise ZooError(f"{where}: there is no sentence pair; expected one per line, with text on both sides.")
    return Corpus(full, Report(len(read), empty=len(read) - len(full)))


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
