"""Records how a submission comes to its result: the torch calls made from its file, and what its lines changed.

The record goes to the judge, who compares it with a right run. It is a claim like every answer: whoever forges it is
shown a wrong line of their own file.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from itertools import islice
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from .batched import batched, whole

MOST_EVENTS = 4_000
MOST_VALUES = 4_000
MOST_NUMBERS = 2**20  # of all values together
MOST_OF_ONE = 2**15  # numbers in one value; of a larger one only the shape is kept
MOST_SECONDS = 10.0
MOST_FRAMES = 400  # looked through from a torch call up to the submission's
MOST_CALLERS = 6
MOST_TEXT = 120
MOST_ITEMS = 400  # in a list of plain values
MOST_LOCALS = 40
MOST_LINES = 4_000  # that ran
WRITTEN = "_torchdynamo_inline"  # of a scripted function: the one that it was made of
# Calls that give what lies in memory, which is NaN in a record:
EMPTY = frozenset({"empty", "empty_like", "new_empty", "empty_strided"})
READS = frozenset({"item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__array__"})

_Position = tuple[
    int, int, int, int
]  # line, end line, column, end column; columns are -1 where Python has none
_Moment = tuple[int, int]  # version of a tensor, writes into its storage
_without_functions = (
    torch._C.DisableTorchFunction
)  # what is asked of a tensor here is no call of the submission's
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Recorder(TorchFunctionMode):
    """While it is entered, what the submission does is recorded. It may be entered again and again.

    Args:
        filename: of the submission.
        patches: by the number of a torch call, a value that its result is replaced with.
        namespace: of the submission's module. Its scripted functions run as they are written meanwhile: what
            TorchScript runs cannot be seen.
    """

    def __init__(
        self,
        filename: str,
        patches: Mapping[int, Tensor] | None = None,
        namespace: MutableMapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._filename, self._patches = filename, dict(patches or {})
        self._namespace = {} if namespace is None else namespace
        self._scripted: dict[str, Any] = {}
        self._events: list[list[Any]] = []
        self._values: list[
            list[Any]
        ] = []  # shape, dtype, offset of its numbers, requires a gradient, written by
        self._written: dict[
            int | None, int
        ] = {}  # by address of a storage: the value that was last written into it
        # by address of a storage:
        self._empty: dict[int | None, _Moment] = {}  # when nothing was in it yet
        self._writes = Counter[int | None]()  # `x.data` has versions of its own
        self._numbers: list[Tensor] = []
        self._size = 0
        self._calls = 0
        self._known: dict[int, tuple[Tensor, _Moment, int]] = {}  # by id: the tensor, when, its value
        self._aliases: dict[tuple[Any, ...], int] = {}  # by place in memory: value
        self._frames: dict[FrameType, int] = {}
        self._locals: dict[
            FrameType, tuple[int, dict[str, Any]]
        ] = {}  # the line that runs, and what was before it
        self._open: tuple[FrameType, list[Any]] | None = None  # a call into other code, and its event
        self._positions: dict[CodeType, list[_Position]] = {}
        self._ran: set[int] = set()  # lines
        self._end = time.monotonic() + MOST_SECONDS
        self._before: Any = None

    def log(self) -> tuple[bytes, Tensor]:
        """Return what was recorded: a JSON text, and the numbers of all values.

        The lines that ran are left out where not all of them are known.
        """
        self._close()
        ran = [] if self._full else sorted(self._ran)[:MOST_LINES]
        text = _encode({"events": self._events, "values": self._values, "ran": ran}).encode()
        numbers = torch.cat(self._numbers) if self._numbers else torch.zeros(0, dtype=torch.float64)
        return text, numbers

    def __enter__(self) -> Recorder:
        super().__enter__()  # type: ignore[no-untyped-call]
        self._scripted = {
            name: one for name, one in self._namespace.items() if isinstance(one, torch.jit.ScriptFunction)
        }
        for name, one in self._scripted.items():
            self._namespace[name] = getattr(one, WRITTEN, one)
        self._before = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(self, *exc: Any) -> None:
        sys.settrace(self._before)
        self._namespace.update(self._scripted)
        super().__exit__(*exc)  # type: ignore[no-untyped-call]

    @property
    def _full(self) -> bool:
        return len(self._events) >= MOST_EVENTS or time.monotonic() > self._end

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        frame, inner = self._caller()
        if frame is None or (self._full and not self._patches):
            return func(*args, **kwargs)
        given = list(islice(_tensors((args, kwargs)), 64))
        inputs = list(dict.fromkeys(self._value(x) for x in given))
        versions = [_version(x) for x in given]
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(func, "__self__", None), "__name__", name)
        try:
            result = func(*args, **kwargs)
        except Exception:
            self._calls += 1
            if self._calls in self._patches:
                result = self._patches[self._calls].to(given[0] if given else torch.get_default_dtype())
                self._calls -= 1
            else:
                if not self._full:
                    self._close()
                    self._note(frame, None, name, args, kwargs, inputs, [], [], changed=False)
                raise
        changed = [x for x, version in zip(given, versions, strict=True) if _version(x) != version]
        self._writes.update(s for x in changed if (s := _storage(x)) is not None)
        outputs = list(islice(_tensors((result,)), 16)) or changed[:1]
        if not outputs and name not in READS:
            return result  # a shape, a dtype
        self._calls += 1
        if self._calls in self._patches:
            result = self._patched(result, changed)
            outputs = list(islice(_tensors((result,)), 16)) or changed[:1]
        if self._full:
            return result
        if name in EMPTY and not changed:
            self._empty |= {_storage(x): self._moment(x) for x in outputs}
        found = [self._value(x) for x in outputs]
        for x, value in zip(changed[:1], found, strict=False):
            self._written[_storage(x)] = value
        said = [_plain(result, self._value)] if not outputs else []
        self._note(frame, inner, name, args, kwargs, inputs, found, said, changed=bool(changed))
        return result

    def _note(
        self,
        frame: FrameType,
        inner: FrameType | None,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        inputs: list[int],
        outputs: list[int],
        said: list[Any],
        *,
        changed: bool,
    ) -> None:
        """Record a torch call. Those that one call into other code makes (a layer, a part) are one event."""
        if inner is not None and self._open is not None and self._open[0] is inner:
            event = self._open[1]
            own = event[-1]
            event[6] += [one for one in inputs if one not in own and one not in event[6]][
                : 64 - len(event[6])
            ]
            event[1], event[8] = self._calls, said
            event[7] = [*outputs, *(one for one in event[7] if one not in outputs)][
                :64
            ]  # the last comes first
            own.update(outputs)
            return
        callers = self._callers(frame)
        event = [
            "call",
            self._calls,
            list(self._position(frame)),
            self._number(frame),
            callers,
            [name[:MOST_TEXT], _arguments(args, kwargs)],
            inputs,
            outputs,
            said,
            changed,
        ]
        self._events.append(event)
        self._close()
        if inner is not None:
            event.append({*outputs})
            self._open = inner, event

    def _close(self) -> None:
        if self._open is not None:
            self._open[1].pop()
            self._open = None

    def _patched(self, result: Any, changed: list[Tensor]) -> Any:
        value = self._patches[self._calls]
        target = changed[0] if changed else result
        if not isinstance(target, Tensor) or (changed and whole(target).shape != value.shape):
            return result
        value = batched(value.to(whole(target)), target)
        if changed:
            with torch.no_grad():
                target.copy_(value)
            return result
        return value

    def _caller(self) -> tuple[FrameType | None, FrameType | None]:
        """The submission's frame that makes a torch call, and the frame of other code that it does it through."""
        frame, inner = sys._getframe(2), None
        for _ in range(MOST_FRAMES):
            if frame.f_code.co_filename == self._filename:
                return frame, inner
            if frame.f_back is None:
                break
            frame, inner = frame.f_back, frame
        return None, None

    def _callers(self, frame: FrameType | None) -> list[int]:
        """Lines of the submission that called the frame, innermost first."""
        found: list[int] = []
        for _ in range(MOST_FRAMES):
            frame = None if frame is None else frame.f_back
            if frame is None or len(found) == MOST_CALLERS:
                break
            if frame.f_code.co_filename == self._filename:
                found.append(frame.f_lineno)
        return found

    def _position(self, frame: FrameType) -> _Position:
        code = frame.f_code
        if hasattr(code, "co_positions"):
            if code not in self._positions:
                self._positions[code] = [
                    (
                        line or 0,
                        end or 0,
                        -1 if column is None else column,
                        -1 if end_column is None else end_column,
                    )
                    for line, end, column, end_column in islice(code.co_positions(), 20_000)
                ]
            index = frame.f_lasti // 2
            if index < len(self._positions[code]):
                return self._positions[code][index]
        return frame.f_lineno, frame.f_lineno, -1, -1

    def _number(self, frame: FrameType) -> int:
        return self._frames.setdefault(frame, len(self._frames))

    def _moment(self, x: Tensor) -> _Moment:
        """Another one after each change in place."""
        return _version(x), self._writes[_storage(x)]

    def _value(self, x: Tensor) -> int:
        """The number of a tensor's value: a new one if it was not met, or was changed in place since."""
        moment = self._moment(x)
        known = self._known.get(id(x))
        if known is not None and known[1] == moment:
            return known[2]
        alias = _alias(x, moment)
        value = self._aliases.get(alias) if alias is not None else None
        if value is None:
            value = self._record(x)
            if alias is not None:
                self._aliases[alias] = value
        self._known[id(x)] = x, moment, value
        return value

    def _record(self, x: Tensor) -> int:
        if len(self._values) >= MOST_VALUES:
            return MOST_VALUES - 1
        x = whole(x)
        dtype = str(x.dtype).removeprefix("torch.")
        size, offset = x.numel(), -1
        storage = _storage(x)
        plain = type(x) in (Tensor, nn.Parameter) and storage is not None
        if plain and not x.is_complex() and size <= MOST_OF_ONE and self._size + size <= MOST_NUMBERS:
            offset, self._size = self._size, self._size + size
            numbers = x.detach().to("cpu", torch.float64, copy=True).reshape(-1)
            if storage in self._empty and self._empty[storage] == self._moment(x):
                numbers.fill_(math.nan)
            self._numbers.append(numbers)
        written = self._written.get(storage, -1) if plain else -1
        self._values.append([list(x.shape), dtype, offset, x.requires_grad, written])
        return len(self._values) - 1

    def _on_call(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if frame.f_code.co_filename != self._filename or self._full:
            return None
        self._number(frame)
        self._ran.add(frame.f_lineno)
        self._locals[frame] = frame.f_lineno, {}
        with _without_functions():
            self._changes(frame, "given", None)
        return self._on_line

    def _on_line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self._full:
            return None
        self._ran.add(frame.f_lineno)
        if event in ("line", "return", "exception"):
            with _without_functions():
                self._changes(frame, event, arg)
        return self._on_line

    def _changes(self, frame: FrameType, event: str, arg: Any) -> None:
        """Record which locals differ from those before the line that has run, and what is returned."""
        line, before = self._locals.get(frame, (frame.f_lineno, {}))
        now, found = dict(before), {}
        for name, item in islice(frame.f_locals.items(), MOST_LOCALS):
            value = _plain(item, self._value)
            if name not in before or before[name] != value:
                now[name] = found[name[:MOST_TEXT]] = value
        self._locals[frame] = frame.f_lineno, now
        said = [_plain(arg, self._value)] if event == "return" and arg is not None else []
        if found or said or event == "exception":
            function = frame.f_code.co_name[:MOST_TEXT]
            self._close()
            place = list(self._position(frame)) if event == "exception" else [line, line, -1, -1]
            self._events.append(
                ["line", event, place, self._number(frame), self._callers(frame), function, found, said]
            )
        if event == "return":
            self._locals.pop(frame, None)


def _version(x: Tensor) -> int:
    return -1 if x.is_inference() else x._version


def _storage(x: Tensor) -> int | None:
    """Where a tensor's numbers are; None for one that has none to show, as a sparse one."""
    x = whole(x)
    if x.layout != torch.strided or x.is_meta:
        return None
    try:
        return x.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):
        return None


def _alias(x: Tensor, moment: _Moment) -> tuple[Any, ...] | None:
    """Return where a tensor is in memory; None if it is nowhere."""
    x = whole(x)
    if type(x) not in (Tensor, nn.Parameter) or _storage(x) is None or not x.numel():
        return None
    return x.data_ptr(), tuple(x.shape), x.stride(), x.dtype, moment, x.requires_grad


def _tensors(values: Any, depth: int = 0) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            if not is_lazy(value):  # which has no numbers yet, and raises if it is asked for anything
                yield value
        elif isinstance(value, (tuple, list)) and depth < 4:
            yield from _tensors(value, depth + 1)
        elif isinstance(value, dict) and depth < 4:
            yield from _tensors(value.values(), depth + 1)


def _arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The plain arguments as they are written: "dim=-2"."""
    words = [_word(one) for one in islice(args, 8)]
    words += [f"{name}={_word(one)}" for name, one in islice(kwargs.items(), 8)]
    return ", ".join(words)[:MOST_TEXT]


def _word(value: Any) -> str:
    if isinstance(value, (bool, int, float, str, torch.dtype, slice)) or value is None or value is Ellipsis:
        return repr(value)[:40]
    if isinstance(value, (tuple, list)) and len(value) < 8:
        return f"({', '.join(_word(one) for one in value)})"
    return "_"


def _plain(value: Any, number: Callable[[Tensor], int]) -> Any:
    """A value as JSON: numbers, texts, None and lists as they are, {"v": value of a tensor}, {"o": type}."""
    left = MOST_ITEMS

    def reduce(item: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            return {"o": "..."}
        if isinstance(item, Tensor) and not is_lazy(item):
            return {"v": number(item)}
        if item is None or type(item) is bool or type(item) is float:
            return item
        if isinstance(item, float):  # as NumPy's
            return float(item)
        if type(item) is int and abs(item) < 2**53:
            return item
        if type(item) is str:
            return item[:MOST_TEXT]
        if isinstance(item, (tuple, list)) and depth < 6:
            return [reduce(one, depth + 1) for one in islice(item, MOST_ITEMS)]
        return {"o": type(item).__name__[:MOST_TEXT]}

    return reduce(value, 0)
