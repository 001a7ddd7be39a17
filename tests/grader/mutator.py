"""Changes frames of the protocol between judge and worker, for tests that feed them to either side."""

from __future__ import annotations

import copy
import json
import math
import random
import struct
from collections.abc import Sequence
from typing import Any

from grader.worker import frames

ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 99, 2**31, 2**63, 10**300, 1e308, math.nan, 0.5, "", "t", "x" * 3_000, "\ud800", "\0",
    "float32", "bool", [], {}, [[]], [0] * 5_000, [2**39, 2**39], {"t": 0}, {"t": 99}, {"t": True}, {"o": "x"},
    {"i": 1}, {"i": 10**9}, {"y": "int8"}, {"d": [[1]]}, {"d": [["a", 1], ["a", 2]]}, {"u": 1}, {"l": [None]},
    {"t": 0, "u": []}, ["float32", [2, 2], "cpu"], ["a", [2]], [["a", [2]], {"t": 0}],
)  # fmt: skip
ODD_LENGTHS = (0, 1, 2, 3, 2**16, 2**16 + 1, 2**20, 2**26, 2**26 + 1, 2**31, 2**32 - 1)


class Mutator:
    """Changes frames. Args: seed; frames: others to take pieces of."""

    def __init__(self, seed: int, frames: Sequence[bytes]) -> None:
        self.random, self.frames = random.Random(seed), frames

    def changed(self, frame: bytes) -> bytes:
        """The frame with one to three changes: to its values, its bytes or its lengths."""
        for _ in range(self.random.choice((1, 1, 2, 3))):
            frame = self.random.choice((self._values, self._values, self._bytes, self._lengths, self._ends))(
                frame
            )
        return frame[: 2**19]

    def _values(self, frame: bytes) -> bytes:
        """Another value somewhere in its header, with lengths that fit."""
        try:
            size, _ = frames.PREFIX.unpack_from(frame)
            header = json.loads(frame[8 : 8 + size])
        except (struct.error, ValueError, RecursionError):
            return self._bytes(frame)
        places: list[tuple[Any, Any]] = []

        def walk(node: Any) -> None:
            for key in node if isinstance(node, dict) else range(len(node)):
                places.append((node, key))
                if isinstance(node[key], (dict, list)):
                    walk(node[key])

        if not isinstance(header, dict):
            return frame
        walk(header)
        if places:
            self._change(*self.random.choice(places))
        if self.random.random() < 0.1:
            header[self.random.choice(("failure", "drop", "tensors", "x"))] = self._odd()
        text = json.dumps(header).encode()
        body = frame[8 + size :]
        return frames.PREFIX.pack(len(text), len(body)) + text + body

    def _change(self, node: Any, key: Any) -> None:
        act = self.random.randrange(8)
        if act == 0:
            del node[key]
        elif act == 1:
            deep: Any = node[key]
            for _ in range(self.random.choice((1, 3, 17, 100))):
                deep = {"l": [deep]} if self.random.random() < 0.9 else [deep]
            node[key] = deep
        elif act == 2 and type(node[key]) is int:
            node[key] += self.random.choice((-1, 1, 2**20))
        else:
            node[key] = self._odd()

    def _odd(self) -> Any:
        return copy.deepcopy(self.random.choice(ODD_VALUES))

    def _bytes(self, frame: bytes) -> bytes:
        raw, draw = bytearray(frame), self.random
        if len(raw) < 12:
            return bytes(raw) + draw.randbytes(12)
        start = draw.randrange(8, len(raw))
        end = min(start + draw.choice((1, 1, 2, 8, 40)), len(raw))
        act = draw.randrange(5)
        if act == 0:
            raw[start] ^= 1 << draw.randrange(8)
        elif act == 1:
            raw[start:end] = draw.randbytes(end - start)
        elif act == 2:
            del raw[start:end]
        elif act == 3:
            raw[start:start] = raw[start:end] * draw.choice((1, 2, 100))
        else:
            other = draw.choice(self.frames)
            raw[start:end] = other[min(start, len(other) - 1) :][:200]
        return bytes(raw)

    def _lengths(self, frame: bytes) -> bytes:
        """Other lengths before the same bytes."""
        if len(frame) < 8:
            return frame + bytes(8)
        lengths = list(frames.PREFIX.unpack_from(frame))
        which = self.random.randrange(2)
        near = max(lengths[which] + self.random.choice((-64, -1, 1, 64)), 0) % 2**32
        lengths[which] = self.random.choice((*ODD_LENGTHS, near))
        return frames.PREFIX.pack(*lengths) + frame[8:]

    def _ends(self, frame: bytes) -> bytes:
        """Less, or more, than a frame."""
        if self.random.random() < 0.5:
            return frame[: self.random.randrange(len(frame) + 1)]
        return frame + self.random.choice((b"\0" * 64, frame, self.random.randbytes(40)))
