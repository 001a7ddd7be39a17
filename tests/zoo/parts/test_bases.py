"""Bases of parts: one that leaves a method unwritten cannot be made, and every shipped class can."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import pytest

import zoo
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.models.external import missing_methods

MODULES = [
    importlib.import_module(info.name)
    for info in pkgutil.walk_packages(zoo.__path__, "zoo.")
    if not info.name.endswith("__main__")
]
CLASSES = sorted(
    {
        one
        for module in MODULES
        for one in vars(module).values()
        if inspect.isclass(one) and one.__module__.startswith("zoo.")
    },
    key=lambda one: f"{one.__module__}.{one.__name__}",
)
LEFT_OPEN = [
    (one, name)
    for one in CLASSES
    for name in dir(one)
    if getattr(inspect.getattr_static(one, name), "__isabstractmethod__", False)
]


def identity(value: Any) -> str:
    return value if isinstance(value, str) else str(value.__name__)


def test_there_are_bases_on_most_axes() -> None:
    axes = {one.__module__.split(".")[2] for one, _ in LEFT_OPEN if one.__module__.startswith("zoo.parts.")}
    assert axes >= {
        "attention", "embedding", "norm", "feedforward", "masking", "mask", "init", "loss", "schedule", "decoding",
    }  # fmt: skip


@pytest.mark.parametrize(("base", "method"), LEFT_OPEN, ids=identity)
def test_a_class_that_leaves_a_method_unwritten_cannot_be_made(base: type, method: str) -> None:
    others = {name: lambda *_: None for one, name in LEFT_OPEN if one is base and name != method}
    incomplete = type("Incomplete", (base,), others)
    with pytest.raises(TypeError, match=method):
        incomplete()
    sentence = missing_methods(incomplete)
    assert sentence.startswith(f"class Incomplete has no method '{method}', which its base zoo.")
    assert missing_methods(type("Complete", (base,), {**others, method: lambda *_: None})) == ""


@pytest.mark.parametrize("variant", get_registry().variants(), ids=lambda v: f"{v.axis}-{v.name}")
def test_no_variant_leaves_a_method_unwritten(variant: Variant) -> None:
    assert missing_methods(variant.load()) == ""
