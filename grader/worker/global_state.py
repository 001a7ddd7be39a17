"""Settings of all of torch: what a submission's code changes of them, it must restore."""

from __future__ import annotations

import contextlib
import linecache
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from .failures import FailureError

KIND = "global_state"


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes:
        read, write: get it and set it; bound before a submission runs that may replace them.
        words: what it is, with its value to be filled in.
        setters: functions of torch that change it.
        advice: what to do instead.
        on_import: whether a file must not change it on import either. A seed or a number of threads at the top of a
            file is common, and harmless.
    """

    read: Callable[[], Any]
    write: Callable[[Any], Any]
    words: str
    setters: tuple[str, ...]
    advice: str
    on_import: bool = False


def _device() -> torch.device:
    """As `torch.get_default_device`, in a hundredth of its time."""
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return torch.device("cpu") if context is None else context.device


def _set_device(device: torch.device) -> None:
    torch.set_default_device(None if device.type == "cpu" else device)


def _autocast(device: str) -> Setting:
    return Setting(
        lambda: torch.is_autocast_enabled(device),
        lambda on: torch.set_autocast_enabled(device, on),
        f'torch.is_autocast_enabled("{device}") is {{}}',
        ("set_autocast_enabled", "autocast"),
        "Use a block instead, which ends: with torch.autocast(...):",
        on_import=True,
    )


SETTINGS = (
    Setting(
        torch.is_grad_enabled,
        torch._C._set_grad_enabled,
        "torch.is_grad_enabled() is {}",
        ("set_grad_enabled", "no_grad", "enable_grad", "inference_mode"),
        "Use a block instead, which ends: with torch.no_grad():",
        on_import=True,
    ),
    Setting(
        torch.get_default_dtype,
        torch.set_default_dtype,
        "the default dtype is {}",
        ("set_default_dtype", "set_default_tensor_type"),
        "Give the dtype where a tensor is made: dtype=x.dtype.",
        on_import=True,
    ),
    Setting(
        _device,
        _set_device,
        "the default device is {}",
        ("set_default_device",),
        "Give the device where a tensor is made: device=x.device.",
    ),
    Setting(
        torch.default_generator.initial_seed,
        torch.default_generator.manual_seed,
        "the seed of torch's random numbers is {}",
        ("manual_seed", "seed"),
        "Seeding belongs at the top of a script, or use a torch.Generator of your own.",
    ),
    _autocast("cpu"),
    _autocast("cuda"),
    Setting(
        lambda: torch.get_num_threads(),  # `without_threads` has others
        lambda count: torch.set_num_threads(count),
        "the number of threads is {}",
        ("set_num_threads",),
        "Leave it to the program that uses your code.",
    ),
    Setting(
        torch.get_deterministic_debug_mode,
        torch.set_deterministic_debug_mode,
        "torch.get_deterministic_debug_mode() is {}",
        ("use_deterministic_algorithms", "set_deterministic_debug_mode"),
        "Leave it to the program that uses your code.",
    ),
    Setting(
        torch.is_anomaly_enabled,
        torch.autograd.set_detect_anomaly,
        "torch.is_anomaly_enabled() is {}",
        ("set_detect_anomaly", "detect_anomaly"),
        "Use a block instead, which ends: with torch.autograd.detect_anomaly():",
    ),
    Setting(
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
        "torch.get_float32_matmul_precision() is {!r}",
        ("set_float32_matmul_precision",),
        "Leave it to the program that uses your code.",
    ),
)


class StateChangedError(FailureError):
    """A submission's code has changed a setting of all of torch, and not restored it."""

    def __init__(self, message: str, setters: tuple[str, ...]) -> None:
        super().__init__(KIND, message)
        self.type_name = "a changed setting of torch"
        self._setters = setters

    def line_in(self, filename: str) -> int | None:
        """The line of the submission that changes it, if only one can."""
        called = re.compile(rf"[^#]*\b(?:{'|'.join(self._setters)})\b")
        lines = [n for n, text in enumerate(linecache.getlines(filename), start=1) if called.match(text)]
        return lines[0] if len(lines) == 1 else None


@contextlib.contextmanager
def restored(*, on_import: bool = False) -> Iterator[None]:
    """Restore all settings at the end of the block. Raises StateChangedError if one had to be.

    Args:
        on_import: the block imports a submission, which may change some of them.
    """
    watched = [one for one in SETTINGS if one.on_import or not on_import]
    before = [one.read() for one in watched]
    try:
        yield
    finally:
        after = [one.read() for one in watched]
        changed = [i for i, value in enumerate(after) if value != before[i]]
        for i in changed:
            watched[i].write(before[i])
    for i in changed:
        one = watched[i]
        raise StateChangedError(
            f"After your code ran, {one.words.format(after[i])}; before, it was {before[i]}. This is a setting of all "
            f"of torch, which persists after the call and changes what other code does. {one.advice}",
            one.setters,
        )
