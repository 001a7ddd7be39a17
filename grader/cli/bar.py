"""The progress bar of a grade, on standard error where that is a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from tqdm import tqdm


class ProgressBar:
    """A `grader.run.pytest_plugin.Progress` with one bar for whatever is reported last."""

    def __init__(self) -> None:
        self._bar: tqdm[NoReturn] | None = None
        self._what = ""
        self._shown = sys.stderr.isatty()

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what` are done."""
        if self._shown:
            bar = self._bar_for(what, total)
            bar.update(done - bar.n)

    def _bar_for(self, what: str, total: int) -> tqdm[NoReturn]:
        if self._bar is None or what != self._what:
            from tqdm import tqdm

            self.close()
            self._bar = tqdm(total=total, desc=what, leave=False, file=sys.stderr, ncols=80)
            self._what = what
        return self._bar

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None
