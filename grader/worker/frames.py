"""Frames: how judge and worker talk. Two lengths, a JSON header, raw bytes. Standard library only.

header length (4 bytes, little-endian) | body length (4 bytes) | header | body
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from os import readv, writev
from typing import Any

MAX_HEADER = 64 * 2**10
MAX_BODY = 64 * 2**20
MAX_BRACKETS = 30_000  # containers in a header
PREFIX = struct.Struct("<II")
IOV_MAX = 512  # buffers handed to one writev; systems allow 1024

# Bound here, before a submission runs that may replace them in their modules.
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class FrameError(ValueError):
    """Bytes that are not a frame, or a frame that is too long."""


class StreamEndedError(EOFError):
    """The other side has closed its end."""


def encode(header: dict[str, Any], body_size: int) -> bytes:
    """Prefix and header of a frame. Raises FrameError if it would be too long."""
    text = _encode(header).encode()
    if len(text) > MAX_HEADER:
        raise FrameError(f"a header of {len(text):,} bytes, where {MAX_HEADER:,} are the most")
    if body_size > MAX_BODY:
        raise FrameError(f"{body_size / 2**20:,.0f} MB of tensors, where {MAX_BODY // 2**20} MB are the most")
    return PREFIX.pack(len(text), body_size) + text


def lengths(prefix: bytes | bytearray) -> tuple[int, int]:
    """Lengths of header and body. Raises FrameError if they are more than is allowed."""
    header, body = PREFIX.unpack(prefix)
    if not 2 <= header <= MAX_HEADER or body > MAX_BODY:
        raise FrameError(f"a frame that claims a header of {header:,} bytes and a body of {body:,}")
    return header, body


def decode(header: bytes | bytearray) -> dict[str, Any]:
    """The header as a dict. Raises FrameError if it is none."""
    if header.count(b"[") + header.count(b"{") > MAX_BRACKETS:
        raise FrameError("a header with too many containers")
    try:
        found = _decode(header.decode())
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a header that is not JSON ({type(error).__name__})") from error
    if not isinstance(found, dict):
        raise FrameError("a header that is not a JSON object")
    return found


def read_frame(descriptor: int) -> tuple[dict[str, Any], bytearray]:
    """Read one frame from a blocking descriptor.

    Raises:
        StreamEndedError: the other side is gone.
        FrameError: what came is no frame.
    """
    prefix = bytearray(PREFIX.size)
    _fill(descriptor, [memoryview(prefix)])
    header_size, body_size = lengths(prefix)
    header, body = bytearray(header_size), bytearray(body_size)
    _fill(descriptor, [memoryview(header), memoryview(body)])
    return decode(header), body


def write_frame(descriptor: int, header: dict[str, Any], buffers: Sequence[memoryview] = ()) -> None:
    """Write one frame to a blocking descriptor. Raises FrameError, before anything is written, if it is too long."""
    first = encode(header, sum(len(buffer) for buffer in buffers))
    left = [memoryview(first), *buffers]
    while left:
        left = advanced(left, writev(descriptor, left[:IOV_MAX]))


def advanced(buffers: list[memoryview], done: int) -> list[memoryview]:
    """Return what is left of the buffers after `done` bytes."""
    for index, buffer in enumerate(buffers):
        if done < len(buffer):
            return [buffer[done:], *buffers[index + 1 :]]
        done -= len(buffer)
    return []


def _fill(descriptor: int, buffers: list[memoryview]) -> None:
    left = [buffer for buffer in buffers if len(buffer)]
    while left:
        done = readv(descriptor, left)
        if done == 0:
            raise StreamEndedError
        left = advanced(left, done)
