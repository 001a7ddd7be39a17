"""What the rows and columns of a drawn value are, for the exercises of this package; a plugin's have numbers alone."""

from __future__ import annotations

import re

from grader.core.failures import Matrices

AXES = {
    r".*/gradient of .*(bias|gain|shift)": ("", "feature"),
    r"attention/.*/gradient of (key|value)": ("key", "feature"),
    r"attention/.*/(output|gradient of query)": ("query", "feature"),
    r"masks/padding_mask,.*/output": ("all queries", "key"),
    r"masks/.*/output": ("query", "key"),
    r"loss/shift_right,.*/output": ("sentence", "position"),
    r"loss/.*/gradient of .*": ("position", "token id"),
    r"training/.*/(source that the model was given|decoder input)": ("sentence", "position"),
    r"training/.*/head afterwards": ("feature", "token id"),
    r"training/.*/.* afterwards|transformer/.*/gradient of .*_embed": ("token id", "feature"),
    r"transformer/Transformer, encode.*/output|transformer/.*/memory of .*": ("position", "feature"),
    r"transformer/.*/output": ("position", "token id"),
    r"[a-z_]+/.*/gradient of .*weight": ("output feature", "input feature"),
    r"kv_cache/.*, two sequences in turns/.*": ("", ""),  # all outputs in one row
    r"(decoder|encoder|feedforward|kv_cache|norm|positions)/.*/(output|gradient of .*)": (
        "position",
        "feature",
    ),
}
"""By exercise, component with the case, and name of the value; the first that matches counts."""
LEADING = {1: ("sentence",), 2: ("sentence", "head")}


def axes_of(exercise: str, matrices: Matrices) -> tuple[str, str]:
    """What a row and a column are of; "" where it is not known."""
    if any(matrices.axes):
        return matrices.axes
    value = f"{exercise}/{matrices.legend}/{_split(matrices.title)[0]}"
    return next((axes for pattern, axes in AXES.items() if re.fullmatch(pattern, value)), ("", ""))


def place_of(exercise: str, matrices: Matrices) -> str:
    """Which matrix of a larger value it is, in words: "sentence 1, head 0"; "" where that is not known."""
    _, index = _split(matrices.title)
    names = LEADING.get(len(index), ()) if any(axes_of(exercise, matrices)) else ()
    if len(index) == 2 and exercise != "attention":  # a mask [B, 1, T, T] is of all heads
        return ""
    return ", ".join(f"{name} {number}" for name, number in zip(names, index, strict=True))


def _split(title: str) -> tuple[str, list[str]]:
    """The name of a value, and the indices of a title like "output[1, 0]"."""
    name, _, index = title.partition("[")
    return name, index.removesuffix("]").split(", ") if index else []
