"""Choices per layer as a user types them: "sliding:window=64*3+eager". Metadata only, no torch.

A plus sign stands between choices, a star and a number behind one that is taken several times. The pattern is repeated
over the layers of each stack. A comma would separate what `zoo compare` compares, and a colon begins an option.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from zoo.core.errors import ZooError
from zoo.core.registry import FILE_SPEC

T = TypeVar("T")
SEPARATOR = re.compile(r"(?<![0-9.][eE])\+|\+(?![0-9])")
"""A plus sign, but not that of a number: base=1e+6."""
TIMES = re.compile(r"(?P<text>.*?)\*(?P<times>[^*:/]*)\Z", re.DOTALL)
LONGEST = 1024
"""Layers that a pattern may name."""


def split_pattern(text: str) -> list[str]:
    """The choice of each layer of a pattern: "a*2+b" -> a, a, b. A plain choice is a pattern of one.

    Raises ZooError if it is not of this form.
    """
    match = FILE_SPEC.match(text)
    if match and os.path.isfile(match["file"]):  # noqa: PTH113 - its name may have such signs, or be too long
        return [text]
    found: list[str] = []
    for one in SEPARATOR.split(text):
        match = TIMES.match(one)
        name, times = (match["text"], match["times"]) if match else (one, "1")
        if not name or not times.isascii() or not times.isdigit() or not 1 <= int(times[:9]) <= LONGEST:
            raise ZooError(
                f"'{text}': '{one}' is not a choice, or not one for 1 to {LONGEST} layers. Choices per layer are "
                "written as in sliding*3+eager: three layers of sliding, then one of eager, and so on."
            )
        found += [name] * int(times)
        check_length(found)
    return found


def check_length(layers: Sequence[object]) -> None:
    """Raises ZooError for a pattern that is too long."""
    if len(layers) > LONGEST:
        raise ZooError(f"The choices per layer name more than {LONGEST} layers: expected a shorter pattern.")


def format_pattern(texts: Iterable[str]) -> str:
    """The choice of each layer as it is typed: a, a, b -> "a*2+b"."""
    runs = [(text, len(list(run))) for text, run in itertools.groupby(texts)]
    return "+".join(f"{text}*{times}" if times > 1 else text for text, times in runs)


def shortest(layers: Sequence[T]) -> Sequence[T]:
    """The shortest pattern that is the same if repeated: a, b, a, b -> a, b."""
    for period in range(1, len(layers)):
        if len(layers) % period == 0 and all(one == layers[i % period] for i, one in enumerate(layers)):
            return layers[:period]
    return layers


def name_layers(numbers: Sequence[int]) -> str:
    """Layers by number, counted from 1: "layer 4", "layers 1-3, 5-7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [f"{first}" if first == last else f"{first}-{last}" for first, last in runs]
    text = ", ".join(shown[:4]) + (" and so on" if len(shown) > 4 else "")
    return f"layer{'s' * (len(numbers) > 1)} {text}"
