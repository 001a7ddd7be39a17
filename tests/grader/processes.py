"""Processes that a test has started, and those that they have started."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

ZOO = [sys.executable, "-c", "from zoo.cli import main; main()"]


def stat(pid: int) -> list[str]:
    """Its state, its parent and so on, as Linux tells them; [] if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def gone(pid: int) -> bool:
    """Whether there is no such process, or only what its parent has not looked at."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return stat(pid)[:1] == ["Z"]


def below(pid: int) -> set[int]:
    """All processes that come from this one."""
    numbers = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]
    parents = {one: int(found[1]) for one in numbers if (found := stat(one))}
    found = {pid}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def wait_until(true: Callable[[], bool]) -> bool:
    """Whether it is true within a minute or so."""
    for _ in range(1_200):
        if true():
            return True
        time.sleep(0.05)
    return False
