"""The device of a model, the machine that it is in, and errors for too little memory on it."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from zoo import __version__
from zoo.core.errors import ZooError

DEVICES = ("auto", "cpu", "cuda")
TOO_MUCH = (
    "can't allocate memory",
    "not enough memory",
    "Storage size calculation overflowed",
    "Overflow when unpacking",
    "integer multiplication overflow",
)
"""Texts of torch's errors, which have no class of their own, when a tensor does not fit into memory."""


class MemoryLimitError(ZooError):
    """A model or a batch that does not fit into memory."""


def resolve_device(name: str) -> torch.device:
    """The device meant by "auto" (CUDA where there is one), "cpu" or "cuda".

    Raises:
        ZooError: another name, or CUDA where torch sees none.
    """
    if name not in DEVICES:
        raise ZooError(f"There is no device '{name}'. Expected {', '.join(DEVICES[:-1])} or {DEVICES[-1]}.")
    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise ZooError("There is no CUDA device that torch can use here. Use --device=cpu, or auto.")
    return torch.device("cuda" if name == "cuda" or (name == "auto" and there) else "cpu")


@contextmanager
def memory_limit(advice: str) -> Iterator[None]:
    """Turn "out of memory" in the block into MemoryLimitError with `advice`, which begins with a capital."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise MemoryLimitError(f"That does not fit into memory. {advice}") from error
    except (RuntimeError, TypeError, OverflowError) as error:
        if not any(words in str(error) for words in TOO_MUCH):
            raise
        raise MemoryLimitError(f"That does not fit into memory. {advice}") from error


def machine(device: torch.device) -> dict[str, str]:
    """Return where the numbers come from: device, processor, versions."""
    return {
        "device": device.type,
        "processor": torch.cuda.get_device_name(device) if device.type == "cuda" else processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "zoo": __version__,
    }


def processor() -> str:
    """Return the name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
