"""Results of a learner's code, reduced to plain values; and tensors as bytes."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .failures import FailureError
from .frames import MAX_BODY, FrameError

MAX_DEPTH = 16  # of containers in containers
MAX_PARTS = 4_000  # values in one value
MAX_DIMENSIONS = 16  # of a tensor
MOST_EMPTY = 2**20  # rows, columns and so on of a tensor without numbers
ALIGNMENT = 64  # bytes; each tensor of a frame starts at a multiple of it
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.bool, torch.uint8, torch.int8,
        torch.int16, torch.int32, torch.int64, torch.complex64, torch.complex128,
    )
}  # fmt: skip
_frombuffer = torch.frombuffer  # bound before a submission runs that may replace it
_PADDING = memoryview(bytes(ALIGNMENT))
NAMES = {dtype: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True)
class Opaque:
    """Something that is not a tensor, number, string, None or a container of those."""

    type_name: str


def plain(value: Any) -> Any:
    """Reduce a value to a tree of dense tensors, tuples, lists, dicts, None, bool, int, float, str and Opaque.

    Named tuples and other subclasses of a container count as that container; what can be unpacked (a generator, a
    dataclass with `__iter__`) as a tuple; numpy's and other libraries' numbers as Python's.

    Raises:
        FailureError: the value has too many parts.
    """
    left = MAX_PARTS

    def reduce(item: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise FailureError("protocol", f"your code returned a value of more than {MAX_PARTS:,} parts")
        if isinstance(item, Tensor):
            return item if (odd := _odd_tensor(item)) is None else Opaque(odd)
        if item is None or type(item) in (bool, float, str):
            return item
        if type(item) is int:
            return item if abs(item) < 2**63 else Opaque("int beyond 64 bits")
        if (number := _number(item)) is not None:
            return reduce(number, depth)
        if not isinstance(item, (dict, tuple, list)) and not _unpacks(item):
            return Opaque(_type_name(item))
        if depth == MAX_DEPTH:
            return Opaque(f"{_type_name(item)}, nested too deeply")
        if isinstance(item, dict):
            return {_key(key): reduce(part, depth + 1) for key, part in item.items()}
        parts = [reduce(part, depth + 1) for part in item]
        return parts if isinstance(item, list) else tuple(parts)

    return reduce(value, 0)


def _number(item: Any) -> int | float | None:
    """A number that is none of Python's own types (numpy's, a fraction, an enum's) as one of these."""
    if type(item).__module__ == "numpy" and type(item).__name__ in ("bool", "bool_"):
        return bool(item)
    if isinstance(item, numbers.Integral):
        return int(item)
    return float(item) if isinstance(item, numbers.Real) else None


def _unpacks(item: Any) -> bool:
    """Return whether `a, b = item` could be written: not for text, modules, arrays and what is a class itself."""
    if isinstance(item, (str, bytes, bytearray, nn.Module, type)) or hasattr(item, "__array__"):
        return False
    return callable(getattr(type(item), "__iter__", None))


def _key(key: Any) -> str | int:
    return key if type(key) is str or (type(key) is int and abs(key) < 2**63) else f"<{_type_name(key)}>"


def _type_name(value: Any) -> str:
    return type(value).__name__[:100]


def _odd_tensor(tensor: Tensor) -> str | None:
    """Why a tensor cannot be sent as it is, in words; None if it can."""
    if type(tensor) is not Tensor and type(tensor) is not nn.Parameter:
        return f"{_type_name(tensor)}, a subclass of Tensor"
    if tensor.is_quantized:
        return "quantized tensor"
    if tensor.is_nested:
        return "nested tensor"
    if tensor.layout != torch.strided:
        return "sparse tensor"
    if tensor.is_meta:
        return "meta tensor, which has no values"
    if tensor.dtype not in NAMES:
        return f"tensor of {str(tensor.dtype).removeprefix('torch.')}"
    if tensor.dim() > MAX_DIMENSIONS:
        return f"tensor of {tensor.dim()} dimensions, where {MAX_DIMENSIONS} are the most"
    return None


def tensors(value: Any) -> Iterator[Tensor]:
    """The tensors of a plain value, depth first, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)


class Handed:
    """A reference to an instance in the worker, as an argument of a call."""

    number: int


class Packer:
    """Writes values down as JSON, and collects their tensors. A tensor met twice is collected once."""

    def __init__(self) -> None:
        self.kept: list[Tensor] = []  # contiguous, on the CPU: what the buffers are views of
        self.table: list[list[Any]] = []  # dtype, shape, device of each
        self._size = 0
        self._places: dict[int, int] = {}
        self._originals: list[Tensor] = []  # alive, so that no id is used twice

    def pack(self, value: Any) -> Any:
        """The JSON form: scalars as they are; {"t": tensor}, {"u": tuple}, {"l": list}, {"d": pairs}, {"i": instance},
        {"y": dtype}, {"o": type}."""
        if isinstance(value, Tensor):
            return {"t": self._place(value)}
        if isinstance(value, Mapping):
            return {"d": [[key, self.pack(item)] for key, item in value.items()]}
        if isinstance(value, tuple):
            return {"u": [self.pack(item) for item in value]}
        if isinstance(value, list):
            return {"l": [self.pack(item) for item in value]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, Handed):
            return {"i": value.number}
        if isinstance(value, torch.dtype) and value in NAMES:
            return {"y": NAMES[value]}
        return {"o": value.type_name if hasattr(value, "type_name") else _type_name(value)}

    def pack_named(self, named: Mapping[str, Tensor | None]) -> list[Any]:
        """Many small tensors as few: [[name, shape] of each, all their numbers in one tensor], one for each dtype."""
        groups: dict[torch.dtype | None, list[str]] = {}
        for name, tensor in named.items():
            groups.setdefault(None if tensor is None else tensor.dtype, []).append(name)
        packed: list[Any] = []
        for names in groups.values():
            group = [tensor for name in names if (tensor := named[name]) is not None]
            if not group:
                packed.append([[(name, None) for name in names], None])
                continue
            flat = torch.cat([tensor.detach().reshape(-1) for tensor in group])  # [numbers of all]
            packed.append([[(n, list(x.shape)) for n, x in zip(names, group, strict=True)], self.pack(flat)])
        return packed

    def buffers(self) -> list[memoryview]:
        """The tensors' bytes, each padded to the alignment."""
        found: list[memoryview] = []
        for tensor in self.kept:
            raw = tensor.reshape(-1).view(torch.uint8).numpy().data  # [bytes]
            if padding := -len(raw) % ALIGNMENT:
                found += [raw, _PADDING[:padding]]
            elif len(raw):
                found.append(raw)
        return found

    def _place(self, tensor: Tensor) -> int:
        if (place := self._places.get(id(tensor))) is None:
            self._size += _padded(tensor.numel() * tensor.element_size())
            if self._size > MAX_BODY:  # before it is copied: an expanded tensor may be of any size
                raise FrameError(
                    f"{self._size / 2**20:,.0f} MB of tensors, where {MAX_BODY // 2**20} MB are the most"
                )
            place = self._places[id(tensor)] = len(self.table)
            self._originals.append(tensor)
            self.table.append([NAMES[tensor.dtype], list(tensor.shape), tensor.device.type])
            self.kept.append(tensor.detach().resolve_conj().resolve_neg().cpu().contiguous())
        return place


def unpack_tensors(table: Any, body: bytearray) -> list[Tensor]:
    """The tensors of a frame. They share the body's memory.

    Raises:
        ValueError: the table is not one, or does not describe this body.
    """
    if not isinstance(table, list) or len(table) > MAX_PARTS:
        raise ValueError("the table of tensors is not a list")
    found, offset = [], 0
    for entry in table:
        dtype, shape = _entry(entry)
        size = math.prod(shape) * dtype.itemsize
        if offset + size > len(body):
            raise ValueError("a tensor is longer than the frame")
        found.append(_view(body, dtype, shape, offset))
        offset += _padded(size)
    if offset != len(body):
        raise ValueError(f"expected {offset} bytes of tensors, got {len(body)}")
    return found


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _entry(entry: Any) -> tuple[torch.dtype, list[int]]:
    if type(entry) is not list or len(entry) != 3:
        raise ValueError("an entry of the table of tensors is not [dtype, shape, device]")
    name, shape, device = entry
    if type(name) is not str or type(device) is not str:
        raise ValueError("an entry of the table of tensors is not [dtype, shape, device]")
    if name not in DTYPES or not _is_shape(shape):
        raise ValueError("a tensor's dtype or shape is unknown")
    return DTYPES[name], shape


def _view(body: bytearray, dtype: torch.dtype, shape: list[int], offset: int) -> Tensor:
    count = math.prod(shape)
    if count == 0:
        if math.prod(n for n in shape if n) > MOST_EMPTY:  # as lists, it would fill the memory
            raise ValueError(f"a tensor without numbers has the shape {shape}")
        return torch.empty(shape, dtype=dtype, device="cpu")
    if dtype == torch.bool:  # a byte that is neither 0 nor 1 is no bool
        return _frombuffer(body, dtype=torch.uint8, count=count, offset=offset).reshape(shape).ne(0)
    return _frombuffer(body, dtype=dtype, count=count, offset=offset).reshape(shape)


def unpack(
    packed: Any,
    found: list[Tensor],
    opaque: Callable[[str], Any],
    depth: int = 0,
    *,
    instance: Callable[[int], Any] | None = None,
) -> Any:
    """The value that `Packer.pack` wrote down.

    Args:
        found: the frame's tensors.
        opaque: makes the stand-in for what has no plain value, from its type's name.
        instance: finds the instance of a number; no instance is allowed if there is none.

    Raises:
        ValueError: nothing that `pack` writes.
    """
    if packed is None or isinstance(packed, (bool, int, float, str)):
        return packed
    if depth > MAX_DEPTH or not isinstance(packed, dict) or len(packed) != 1:
        raise ValueError("not a packed value")
    kind, content = next(iter(packed.items()))
    if kind == "t" and type(content) is int and 0 <= content < len(found):
        return found[content]
    if kind == "y" and isinstance(content, str) and content in DTYPES:
        return DTYPES[content]
    if kind == "o" and isinstance(content, str):
        return opaque(content[:200])
    if kind == "i" and instance is not None and type(content) is int:
        return instance(content)
    if not isinstance(content, list):
        raise ValueError("not a packed value")
    if kind == "d":
        return {
            _checked_key(pair): unpack(pair[1], found, opaque, depth + 1, instance=instance)
            for pair in content
        }
    if kind not in ("u", "l"):
        raise ValueError("not a packed value")
    parts = [unpack(part, found, opaque, depth + 1, instance=instance) for part in content]
    return tuple(parts) if kind == "u" else parts


def unpack_named(packed: Any, found: list[Tensor]) -> dict[str, Tensor | None]:
    """The tensors that `Packer.pack_named` wrote down; those of one dtype share their memory.

    Raises:
        ValueError: nothing that `pack_named` writes.
    """
    named: dict[str, Tensor | None] = {}
    for entries, packed_flat in packed:
        if not all(isinstance(name, str) for name, _ in entries):
            raise ValueError("a name that is not a string")
        if packed_flat is None:
            named.update((name, None) for name, _ in entries)
            continue
        flat = unpack(packed_flat, found, Opaque)
        if not isinstance(flat, Tensor) or not all(_is_shape(shape) for _, shape in entries):
            raise ValueError("no tensor, or no shapes, for the names")
        parts = flat.split(
            [math.prod(shape) for _, shape in entries]
        )  # raises RuntimeError if the sum is another
        named.update((name, x.view(shape)) for (name, shape), x in zip(entries, parts, strict=True))
    return named


def _is_shape(shape: Any) -> bool:
    if type(shape) is not list or len(shape) > MAX_DIMENSIONS:
        return False
    for n in shape:  # noqa: SIM110 - `all` costs three times as much, for each tensor of each frame
        if type(n) is not int or not 0 <= n < 2**40:
            return False
    return True


def _checked_key(pair: Any) -> str | int:
    if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) not in (str, int):
        raise ValueError("a packed dict holds no pairs")
    key: str | int = pair[0]
    return key
