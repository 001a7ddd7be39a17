"""The exercises, one package each. Metadata only; imported at every start of `zoo`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from grader.api import Exercise

ORDER = (
    "masks",
    "attention",
    "positions",
    "feedforward",
    "norm",
    "encoder",
    "decoder",
    "transformer",
    "loss",
    "decoding",
    "training",
    "kv_cache",
)
"""The order in which a learner does them."""


def built_in() -> Sequence[Exercise]:
    """The exercises in that order, each with its next."""
    following = dict(pairwise(ORDER))
    return [
        replace(importlib.import_module(f"{__name__}.{name}").EXERCISE, next=following.get(name, ""))
        for name in ORDER
    ]
