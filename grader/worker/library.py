"""`--no-library-attention` while a submission runs: notes each use of torch's own attention, however it is reached.

What is called through torch's functions is seen by a function mode, what comes from elsewhere (compiled code, say) by
a dispatch mode, and torch's modules say so when they are made. It runs beside the submission, in the same process:
a policy, which code that means to can get around, and no boundary. Other threads are not seen.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .library_names import FORBIDDEN, MODULES

_MOST = 8
_Note = Callable[[str], None]


class LibraryUses:
    """While it is entered, uses of torch's own attention are noted.

    Args:
        filename: of the submission: lines of this file are told.
    """

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._found: dict[int, str] = {}  # by line, 0 where there is none; the outermost call comes first
        self._modes = _Functions(self._note), _Operators(self._note)
        self._entered = ExitStack()

    def __enter__(self) -> None:
        with ExitStack() as entered:
            for name in MODULES:
                entered.callback(_watch_making(getattr(nn, name), self._note))
            for mode in self._modes:
                entered.enter_context(mode)
            self._entered = entered.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.close()

    def uses(self) -> list[tuple[int, str]]:
        """All that was noted: line (0: none of the file's) and name."""
        return list(self._found.items())

    def _note(self, name: str) -> None:
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != self._filename:
            frame = frame.f_back  # type: ignore[assignment]
        if len(self._found) < _MOST:
            self._found.setdefault(0 if frame is None else frame.f_lineno, name)


class _Functions(TorchFunctionMode):
    """Sees what is called through torch's Python functions, `torch.ops` among them."""

    def __init__(self, note: _Note) -> None:
        super().__init__()
        self._note = note

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if (name := _plain_name(func)) in FORBIDDEN:
            self._note(name)
        return func(*args, **(kwargs or {}))


class _Operators(TorchDispatchMode):
    """Sees the operators that reach a kernel, whoever called them."""

    supports_higher_order_operators = True

    def __init__(self, note: _Note) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._note = note

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # what torch would do for that begins with an import of seconds

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if (name := _plain_name(func)) in FORBIDDEN:
            self._note(name)
        return func(*args, **(kwargs or {}))


def _plain_name(func: object) -> str:
    """Without the overload: "scaled_dot_product_attention.default" is one."""
    return str(getattr(func, "__name__", "")).partition(".")[0]


def _watch_making(kind: type[nn.Module], note: _Note) -> Callable[[], None]:
    """Note each instance of the class, and of those that are made of it; gives what ends that."""
    original = kind.__init__

    @functools.wraps(original)
    def init(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        note(kind.__name__)
        original(self, *args, **kwargs)

    kind.__init__ = init  # type: ignore[method-assign]
    return lambda: setattr(kind, "__init__", original)
