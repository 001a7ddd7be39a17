"""Many small cases in one test, since each test of its own takes milliseconds to set up."""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch

Test = Callable[..., None]


def together(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Test], Test]:
    """`pytest.mark.parametrize` within one test: a failure names its case, and random numbers start anew in each.

    A case may skip itself; the test is skipped where all do. Fixtures are those of the test, one for all cases.
    """
    several = (names,) if isinstance(names, str) else names
    cases = [
        dict(zip(several, [value] if isinstance(names, str) else value, strict=True)) for value in values
    ]

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def all_cases(**fixtures: Any) -> None:
            skipped: list[BaseException] = []
            for case in cases:
                random.seed(0)
                torch.manual_seed(0)
                try:
                    test(**fixtures, **case)
                except pytest.skip.Exception as skip:
                    skipped.append(skip)
                except Exception as error:
                    raise AssertionError(f"{case}: {error}") from error
            if len(skipped) == len(cases):
                raise skipped[0]

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in several]
        all_cases.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return all_cases

    return decorate
