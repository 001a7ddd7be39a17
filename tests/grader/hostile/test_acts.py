"""Every act at every level of confinement that this machine has, and with nothing to hold it."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grader.hostile import ACTS
from tests.grader.hostile.bench import Bench
from zoo.core.errors import ZooError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the acts are Linux's")
CAP_SYS_PTRACE, CAP_SYS_RESOURCE = 19, 24
LEVELS = ("none", "process", "strict")
ALSO_ELSEWHERE = [pytest.mark.slow, pytest.mark.elsewhere]
CASES = [
    pytest.param(
        name,
        level,
        marks=[pytest.mark.slow] if one.slow else ALSO_ELSEWHERE if level == "none" else [],
        id=f"{name}-{level}",
    )
    for level in LEVELS
    for name, one in ACTS.items()
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    before = tempfile.tempdir
    with Bench(tmp_path_factory.mktemp("bench")) as bench:
        tempfile.tempdir = str(bench.temporary)
        yield bench
        tempfile.tempdir = before


def held(bench: Bench, level: str) -> str:
    """Why this machine has no such level, or ""."""
    try:
        if level != "none":
            bench.sandbox(level).level("cpu")
    except ZooError as error:
        return str(error)
    return ""


def may(rights: str) -> bool:
    """Whether the system gives these rights: where it does not, it is no merit of the confinement."""
    status = Path("/proc/self/status").read_text()
    capabilities = int(status.partition("CapEff:")[2].split()[0], 16)
    if rights == "limits":
        return bool(capabilities & 1 << CAP_SYS_RESOURCE)
    yama = Path("/proc/sys/kernel/yama/ptrace_scope")
    free = not yama.exists() or yama.read_text().strip() == "0"
    return not rights or free or bool(capabilities & 1 << CAP_SYS_PTRACE)


@pytest.mark.parametrize(("name", "level"), CASES)
@pytest.mark.sampled(7)
def test_it_comes_off_where_nothing_stops_it_and_nowhere_else(bench: Bench, name: str, level: str) -> None:
    one = ACTS[name]
    if reason := held(bench, level):
        pytest.skip(reason)
    before = descriptors(bench, level)
    tried = bench.attempt(one, level)
    stopped = level in one.stopped_by
    if not stopped and not tried.came_off and not may(one.rights):
        pytest.skip("what stops it here may be the system's own rule")
    assert tried.came_off is not stopped, tried.said
    if level == "none":
        return
    if stopped:
        assert bench.secret not in tried.said
    assert bench.honest(level)
    assert bench.left(level) == []
    assert descriptors(bench, level) == before


def descriptors(bench: Bench, level: str) -> list[int]:
    """How many the judge has open, and the fork server as far as it lets itself be looked at (by root)."""
    if level == "none":
        return []
    if bench.sandbox(level)._server.pid is None:
        bench.honest(level)
    found = []
    for pid in ("self", bench.sandbox(level)._server.pid):
        with contextlib.suppress(PermissionError):
            found.append(len(list(Path(f"/proc/{pid}/fd").iterdir())))
    return found
