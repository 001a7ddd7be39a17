"""Text of strangers, safe to show: control and bidirectional characters become visible escapes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

MOST_MARKS = 3  # combining characters on one letter


def shown_characters(text: str) -> Iterator[str]:
    r"""The text shown for each character: itself, or an escape such as "\u202e" where it would change how text is read.

    Escaped are all of Unicode's category C (controls, directions, unassigned, surrogates), the separators of lines and
    paragraphs, and combining characters beyond `MOST_MARKS` on one letter.
    """
    marks = 0
    for c in text:
        kind = unicodedata.category(c)
        marks = marks + 1 if kind[0] == "M" else 0
        hidden = kind[0] == "C" or kind in ("Zl", "Zp") or marks > MOST_MARKS
        yield c.encode("unicode_escape").decode() if hidden else c


def visible(text: str) -> str:
    """Text of any number of lines; line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in "\n\t" else shown for c, shown in zip(text, shown_characters(text), strict=True))
