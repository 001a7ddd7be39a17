"""The lines of Python source, as Python counts them."""

from __future__ import annotations


def split_lines(source: str, *, keepends: bool = False) -> list[str]:
    r"""Split source text into lines, so that their numbers are those of Python's parser.

    It ends lines at `\n`, `\r` and `\r\n` only; `str.splitlines` also does at form feeds, U+0085, U+2028 and others.

    Args:
        source: the text.
        keepends: keep the line ends.
    """
    lines = source.encode("utf-8", "surrogatepass").splitlines(keepends)  # bytes end lines as Python does
    return [line.decode("utf-8", "surrogatepass") for line in lines]
