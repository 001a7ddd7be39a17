"""The judge's end of the pipes: whatever comes back, it neither crashes, hangs nor takes much memory."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import time
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.core.submission import Opaque
from grader.sandbox.frames import Channel, DeadlineError, FrameError, StreamEndedError
from grader.worker import frames
from grader.worker.values import Packer, unpack, unpack_named, unpack_tensors

Ends = tuple[Channel, int, int]
# What `remote` turns into a SubmissionError.
REFUSALS = (ValueError, TypeError, KeyError, RuntimeError, AttributeError, OverflowError)


@pytest.fixture
def ends() -> Iterator[Ends]:
    """A channel, and the other side's descriptors for reading and writing."""
    theirs_to_read, ours_to_write = os.pipe()
    ours_to_read, theirs_to_write = os.pipe()
    channel = Channel(ours_to_read, ours_to_write)
    yield channel, theirs_to_read, theirs_to_write
    channel.close()
    for descriptor in (theirs_to_read, theirs_to_write):
        try:
            os.close(descriptor)
        except OSError:
            assert descriptor == theirs_to_write  # a test closed it, to be the side that goes away


def soon() -> float:
    return time.monotonic() + 0.05


def test_a_frame_arrives_as_it_was_sent(ends: Ends) -> None:
    channel, read, write = ends
    parts = [memoryview(b"ab"), memoryview(b"c")]
    channel.send({"op": "x", "text": "\ud800é"}, parts, soon())
    assert frames.read_frame(read) == ({"op": "x", "text": "\ud800é"}, bytearray(b"abc"))
    frames.write_frame(write, {"n": 1}, parts)
    assert channel.receive(soon()) == ({"n": 1}, bytearray(b"abc"))


def test_a_side_that_does_not_answer_is_not_waited_for(ends: Ends) -> None:
    with pytest.raises(DeadlineError):
        ends[0].receive(soon())


def test_a_side_that_dribbles_is_not_waited_for(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the deadline it still sends, but never as much as is read."""
    channel, _, write = ends
    os.write(write, frames.PREFIX.pack(2, 0) + b"{}")
    turns, readv = itertools.count(), os.readv

    def dribbling(descriptor: int, buffers: list[memoryview]) -> int:
        if next(turns) % 2 == 0:
            raise BlockingIOError
        return readv(descriptor, [buffers[0][:1]])

    monkeypatch.setattr(os, "readv", dribbling)
    with pytest.raises(DeadlineError):
        channel.receive(time.monotonic())


def test_a_side_that_does_not_read_is_not_waited_for(ends: Ends) -> None:
    with pytest.raises(DeadlineError):
        ends[0].send({}, [memoryview(bytes(2**23))], soon())


def test_a_side_that_is_gone_is_told(ends: Ends) -> None:
    os.close(ends[2])
    with pytest.raises(StreamEndedError):
        ends[0].receive(soon())


@pytest.mark.parametrize(
    "raw",
    [
        frames.PREFIX.pack(2**32 - 1, 0),
        frames.PREFIX.pack(2, 2**32 - 1),
        frames.PREFIX.pack(0, 0),
        frames.PREFIX.pack(3, 0) + b"[1]",
        frames.PREFIX.pack(2, 0) + b"\xff\xff",
        frames.PREFIX.pack(60_000, 0) + b"[" * 60_000,
        frames.PREFIX.pack(20_000, 0) + b'{"a":' * 4_000,
        frames.PREFIX.pack(9_000, 0) + b'{"n":' + b"1" * 8_994 + b"}",
    ],
)
def test_what_is_no_frame_is_refused(ends: Ends, raw: bytes) -> None:
    channel, _, write = ends
    os.write(write, raw)
    with pytest.raises(FrameError):
        channel.receive(soon())


def test_too_long_a_frame_is_not_sent(ends: Ends) -> None:
    with pytest.raises(FrameError, match="header"):
        ends[0].send({"x": "a" * 70_000}, [], soon())
    with pytest.raises(FrameError, match="MB of tensors"):
        frames.encode({}, 2**26 + 1)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_header_or_refused(raw: bytes) -> None:
    with contextlib.suppress(FrameError):
        assert isinstance(frames.decode(raw), dict)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["t", "u", "float32", "é"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("tuldox"), inner, max_size=2),
    max_leaves=12,
)  # fmt: skip


@given(_JSON, st.binary(max_size=130))
def test_any_json_is_a_value_or_refused(packed: object, body: bytes) -> None:
    for read in (
        lambda: unpack_tensors(packed, bytearray(body)),
        lambda: unpack(packed, [torch.ones(2)], Opaque),
        lambda: unpack_named(packed, [torch.ones(2)]),
    ):
        with contextlib.suppress(*REFUSALS):
            read()


@given(st.data())
def test_a_changed_answer_is_an_answer_or_refused(data: st.DataObject) -> None:
    packer = Packer()
    value = packer.pack(
        (torch.arange(6.0).reshape(2, 3), [True, None, {"a": torch.ones(2, dtype=torch.bool)}], "x")
    )
    raw = bytearray(frames.encode({"n": 1, "value": value, "tensors": packer.table}, 0)[frames.PREFIX.size :])
    body = bytearray(b"".join(packer.buffers()))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(32, 126))
    try:
        header = frames.decode(raw)
        found = unpack_tensors(header["tensors"], body)
        unpack(header["value"], found, Opaque)
    except REFUSALS:
        return
    assert sum(x.numel() * x.element_size() for x in found) <= len(body)


@pytest.mark.parametrize("shape", [[2**39, 2**39], [-1], [True], [2.0], [1] * 17, "ab", None])
def test_a_shape_that_lies_takes_no_memory(shape: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpack_tensors([["float32", shape, "cpu"]], bytearray(64))


@pytest.mark.parametrize("shape", [[2**39, 0], [2**20, 2**20, 0], [0, 2**21]])
def test_a_tensor_without_numbers_has_no_endless_rows(shape: list[int]) -> None:
    assert unpack_tensors([["float32", [2**10, 0, 2**10], "cpu"]], bytearray())[0].shape == (2**10, 0, 2**10)
    with pytest.raises(ValueError, match="without numbers"):
        unpack_tensors([["float32", shape, "cpu"]], bytearray())


def test_what_was_on_a_card_comes_as_bytes_of_the_frame() -> None:
    """The device in the table is a word: no handle to memory of the worker comes with it."""
    body = bytearray(torch.ones(16).numpy().tobytes())  # 64 bytes
    (found,) = unpack_tensors([["float32", [16], "cuda"]], body)
    body[:4] = bytes(4)
    assert found.device.type == "cpu"
    assert found.tolist() == [0.0, *[1.0] * 15]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "bool", "int64", "uint8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (3, 1, 2)])
def test_tensors_keep_their_bits(dtype: str, shape: tuple[int, ...]) -> None:
    original = (torch.randn(shape) * 3).to(getattr(torch, dtype))
    packer = Packer()
    packed = packer.pack([original.t() if original.dim() == 2 else original, original, original])
    found = unpack_tensors(json.loads(json.dumps(packer.table)), bytearray(b"".join(packer.buffers())))
    first, second, third = unpack(packed, found, Opaque)
    assert torch.equal(first, original.t() if original.dim() == 2 else original)
    assert torch.equal(second, original)
    assert second.dtype == original.dtype
    assert second is third


def test_numbers_that_are_not_finite_travel() -> None:
    values = [math.inf, -math.inf, torch.tensor([math.nan, -math.inf])]
    packer = Packer()
    packed = frames.decode(frames.encode({"v": packer.pack(values)}, 0)[frames.PREFIX.size :])["v"]
    found = unpack_tensors(packer.table, bytearray(b"".join(packer.buffers())))
    inf, minus, tensor = unpack(packed, found, Opaque)
    assert (inf, minus) == (math.inf, -math.inf)
    assert tensor.isnan().tolist() == [True, False]


def test_a_byte_that_is_no_bool_becomes_one() -> None:
    (found,) = unpack_tensors([["bool", [3], "cpu"]], bytearray(b"\x00\x07\xff" + bytes(61)))
    assert found.view(torch.uint8).tolist() == [0, 1, 1]


def test_named_tensors_travel_as_one_for_each_dtype() -> None:
    named = {
        "a": torch.ones(2, 3),
        "b": None,
        "c": torch.zeros(1, dtype=torch.float64),
        "d": torch.tensor(5.0),
    }
    packer = Packer()
    packed = json.loads(json.dumps(packer.pack_named(named)))
    assert len(packer.table) == 2
    back = unpack_named(packed, unpack_tensors(packer.table, bytearray(b"".join(packer.buffers()))))
    assert back["b"] is None
    assert all(torch.equal(back[name], x) for name, x in named.items() if x is not None)
