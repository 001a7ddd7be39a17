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

    Cards may be chosen by number. Where they are chosen otherwise (by UUID, or MIG instances), or not at all, all are
    returned: the driver hides the others, and a number of CUDA's is that of its file only in the order of PCI.
    """
    cards = sorted(str(path) for path in DEVICES.glob("nvidia[0-9]*"))
    chosen = environment.get("CUDA_VISIBLE_DEVICES", "")
    if environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" and re.fullmatch(r"\d+(,\d+)*", chosen):
        cards = [card for card in cards if card.rpartition("nvidia")[2] in chosen.split(",")]
    return [*_CONTROL, *cards, *sorted(str(path) for path in DEVICES.glob("nvidia-caps/nvidia-cap*"))]


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
