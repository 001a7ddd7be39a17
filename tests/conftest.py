"""For all tests: one thread, fixed seeds, few examples, and GPU tests only where there is a GPU.

ZOO_TEST_ONEDNN=off: the tests' process does without oneDNN, as where torch has none.
ZOO_TEST_DRAW=2/5: of the slow tests those of draw 2 of 5, counted from 0; each is in one of them.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, settings

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # read when torch is imported, also by children

import torch

pytest.register_assert_rewrite("tests.browser")
from tests.browser import browser, open_page  # noqa: E402, F401  fixtures for all tests

torch.set_num_threads(1)
# what a shell runs in the background ignores Ctrl-C, and so would all that tests start
signal.signal(signal.SIGINT, signal.default_int_handler)
if os.environ.get("ZOO_TEST_ONEDNN") == "off":
    torch.backends.mkldnn.enabled = False
if not torch.cuda.is_available():  # `torch.manual_seed` notes down the stack for each kind of device, in 5 ms
    for kind in (torch.cuda, torch.xpu, torch.mtia):
        kind.manual_seed_all = lambda _seed: None
settings.register_profile(
    "zoo",
    deadline=None,  # no test judges wall-clock time
    derandomize=True,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("zoo")


TOGETHER = {"tests/zoo/draw"}
"""Folders whose files share what is dear: a trained model."""
LONG = {
    "tests/mutation/test_sample.py",
    "tests/grader/hostile/test_ordinary_user.py",
    "tests/grader/classroom/test_ray.py",
    "tests/grader/sandbox/test_killed_at_any_message.py",
    "tests/grader/training/test_live_rules.py",
    "tests/grader/learner/test_notebooks.py",
    "tests/zoo/pages/test_commands.py",
    "tests/grader/hostile/test_live.py",
    "tests/grader/hostile/test_files.py",
}
"""Files of few tests that take half a minute or more: begun first, or one core would wait for them at the end."""


DRAWN, OF = map(int, os.environ.get("ZOO_TEST_DRAW", "0/1").split("/"))


def pytest_report_header() -> str | None:
    """Say which slow tests are drawn."""
    return f"slow tests: one in {OF}, as ZOO_TEST_DRAW={DRAWN}/{OF} has it" if OF > 1 else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """A file's tests to one process, in order: workers, and right answers, are made once.

    (pytest-xdist's `--dist loadfile` forgets nothing: with each test all that are done would be counted again.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folder = file.rpartition("/")[0]
            return _page(nodeid) or (folder if folder in TOGETHER else file)

        def mark_test_complete(self, node: object, item_index: int, duration: float = 0) -> None:
            super().mark_test_complete(node, item_index, duration)
            work = self.assigned_work[node]
            scope = self._split_scope(self.registered_collections[node][item_index])
            if all(work[scope].values()):
                del work[scope]

    config.option.loadscopereorder = False  # see `pytest_collection_modifyitems`
    return Scheduling(config, log)


def pytest_collection_finish() -> None:
    """Ten thousand collected tests are no garbage: no collection looks through them again.

    And there are fewer collections: as often as Python has them by itself, they take a twentieth of all time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what opens a browser as slow, and most cases of tests marked `sampled`; skip tests marked `gpu` where torch
    sees no CUDA device.

    Where several processes share the tests, the longest files come first, then those with most tests.
    """
    if hasattr(config, "workerinput"):
        files = [item.nodeid.partition("::")[0] for item in items]
        count = Counter(files)
        order = sorted(range(len(items)), key=lambda i: (files[i] not in LONG, -count[files[i]]))
        items[:] = [items[i] for i in order]
    seen: Counter[str] = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None and item.get_closest_marker("slow") is None:
            test = item.nodeid.partition("[")[0]
            if seen[test] % sampled.args[0]:
                item.add_marker(pytest.mark.slow(**sampled.kwargs))
                item.add_marker(pytest.mark.elsewhere)
            seen[test] += 1
        if isinstance(item, pytest.Function) and "browser" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
    others = {item.nodeid for item in _not_drawn(items)}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in others])
    items[:] = [item for item in items if item.nodeid not in others]
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device, and torch sees none"))


def _not_drawn(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """The slow tests that are left out: in turn, so that each is drawn once in `OF` draws; a page is drawn whole."""
    turn: Counter[str] = Counter()
    for item in sorted(items, key=lambda one: one.nodeid):
        slow = item.get_closest_marker("slow")
        if slow is None or slow.kwargs.get("always"):
            continue
        test = _page(item.nodeid) or item.nodeid.partition("[")[0]
        if (zlib.crc32(test.encode()) + turn[test]) % OF != DRAWN:
            yield item
        turn[test] += not _page(item.nodeid)


def _page(test: str) -> str:
    """The page whose step a test runs: they are made one after the other, and have nothing to do with other pages."""
    file, _, name = test.partition("::")
    return name.partition("[")[2].partition(": ")[0] if file == "tests/docs/test_pages.py" else ""


@pytest.fixture(autouse=True)
def _seeded() -> None:
    random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> torch.device:
    """The CPU, and once more a CUDA device where there is one."""
    return torch.device(request.param)
