"""Additional permissions of a worker on CUDA: the driver's devices, its libraries, facts about the machine.

Standard library only. Found from reports on the driver's system calls and files; which of them a driver needs depends
on its version, so the trial process of the grader (`grader.worker.canary`) decides whether the level holds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

DEVICES = Path("/dev")
GPUS = Path("/proc/driver/nvidia/gpus")  # a folder per card, named by its place on the PCI bus
_CONTROL = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
_LIBRARIES = ("libcuda*.so*", "libnvidia*.so*", "libcudadebugger*.so*")
_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/local/nvidia/lib64",  # containers
    "/usr/local/cuda/compat",
    "/usr/lib/wsl/lib",
)
_READABLE = (
    "/proc/driver/nvidia",
    "/proc/driver/nvidia-uvm",
    "/proc/devices",
    "/proc/meminfo",
    "/proc/modules",
    "/proc/self/maps",
    "/proc/self/status",
    "/proc/sys/vm/mmap_min_addr",
    "/sys/bus/pci/devices",
    "/sys/devices/system/node",
    "/sys/module/nvidia",
    "/sys/module/nvidia_uvm",
)
TASKS = "/proc/self/task"
"""The driver names its threads by their `comm` in here; without it cuInit fails with error 304. Only this process's
own threads are below."""


def devices(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the driver's device files: its control devices, and the cards of CUDA_VISIBLE_DEVICES.

    Cards may be chosen by number, in the order of PCI. Where they are chosen otherwise (by UUID, as MIG instances, by
    numbers in CUDA's own order), or not at all, all are returned: the driver hides the others.
    """
    caps = sorted(str(path) for path in DEVICES.glob("nvidia-caps/nvidia-cap*"))
    return [*_CONTROL, *_chosen(environment), *caps]


def other_cards(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the device files of the cards that `devices` leaves out."""
    chosen = _chosen(environment)
    return [card for card in _cards() if card not in chosen]


def _chosen(environment: Mapping[str, str]) -> list[str]:
    cards, numbers = _cards(), environment.get("CUDA_VISIBLE_DEVICES", "")
    if environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID" or not re.fullmatch(r"\d+(,\d+)*", numbers):
        return cards
    chosen = [int(number) for number in numbers.split(",")]
    return [cards[number] for number in chosen] if max(chosen) < len(cards) else cards


def _cards() -> list[str]:
    """The device files of all cards, in the order of PCI as far as the driver says what it is.

    The number of a file is not that of CUDA: in a container the only card may be nvidia3.
    """
    texts = [path.read_text(encoding="utf-8") for path in sorted(GPUS.glob("*/information"))]
    in_order = [f"nvidia{number}" for number in re.findall(r"Device Minor:\s*(\d+)", "\n".join(texts))]
    there = sorted((path.name for path in DEVICES.glob("nvidia[0-9]*")), key=lambda name: int(name[6:]))
    known = [name for name in in_order if name in there]
    return [str(DEVICES / name) for name in (known if set(known) == set(there) else there)]


def readable(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return what the driver reads: its libraries, one by one, and what the system says about the cards."""
    folders = [*environment.get("LD_LIBRARY_PATH", "").split(":"), *_FOLDERS]
    found = {
        path.resolve()
        for folder in folders
        if folder
        for pattern in _LIBRARIES
        for path in Path(folder).glob(pattern)
    }
    cards = {path.resolve() for path in Path("/sys/bus/pci/devices").glob("*") if _is_nvidia(path)}
    return [*map(str, sorted(found | cards)), *_READABLE]


def _is_nvidia(device: Path) -> bool:
    try:
        return (device / "vendor").read_text(encoding="ascii").strip() == "0x10de"
    except (OSError, ValueError):
        return False
